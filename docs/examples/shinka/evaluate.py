"""The evaluation program of a ShinkaEvolve task: `FAMILY` in the environment names the family of the policy.

python docs/examples/shinka/evaluate.py --program_path docs/examples/policies/lora.py --results_dir results/shinka
"""

import os

from ratiobench.adapters.shinka import main

if __name__ == "__main__":
    main(family=os.environ.get("FAMILY", "lora"))
