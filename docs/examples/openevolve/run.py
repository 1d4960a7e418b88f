"""Evolve a policy with OpenEvolve; a script that changes numbers stands in for the language model.

    python docs/examples/openevolve/run.py lora 20 OUTPUT

With a language model, give OpenEvolve its own configuration in place of `scripted_config`:

    openevolve-run docs/examples/policies/lora.py docs/examples/openevolve/evaluator.py --config config.yaml
"""

import os
import sys
from pathlib import Path

from openevolve import run_evolution

from ratiobench.adapters.openevolve import scripted_config

HERE = Path(__file__).resolve().parent


def main(family: str, iterations: int, folder: str) -> None:
    os.environ["FAMILY"] = family
    config = scripted_config(max_iterations=iterations, random_seed=1)
    config.evaluator.cascade_evaluation = False
    config.evaluator.parallel_evaluations = 1
    config.evaluator.timeout = 600
    result = run_evolution(
        HERE.parent / "policies" / f"{family}.py", HERE / "evaluator.py", config, iterations, folder, cleanup=False
    )
    print(f"best score {result.best_score:.4f}")
    print(result.best_code)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
