"""The evaluation program of a ShinkaEvolve task: `FAMILY` in the environment names the family of the policy.

python examples/shinka/evaluate.py --program_path examples/policies/lora.py --results_dir results/shinka
"""

import os

from ratiobench.adapters.shinka import main

if __name__ == "__main__":
    main(family=os.environ.get("FAMILY", "lora"))
