"""Evolve a policy on published instances with OpenEvolve, then show it on unseen days beside its first version.

    python docs/examples/openevolve/unseen.py lora 200 OUTPUT --seed 2

evaluates 200 candidates on 30 instances (`tiny` and `parts`); a script that changes numbers stands in for the language
model. It writes OUTPUT/best.py, and evaluates both versions on the published days and on days that the seed draws.
"""

import argparse
import os
import time
from pathlib import Path

from openevolve import run_evolution

import ratiobench
from ratiobench.adapters.openevolve import scripted_config
from ratiobench.bench.evaluation.cases import PUBLISHED

HERE = Path(__file__).resolve().parent


def evolve(family: str, candidates: int, folder: Path, tiny: int, stages: str) -> Path:
    """The best of so many candidates, as a file."""
    os.environ |= {"FAMILY": family, "TINY": str(tiny), "STAGES": stages}
    config = scripted_config(max_iterations=candidates, random_seed=1, log_level="WARNING")
    config.evaluator.cascade_evaluation = False
    config.evaluator.parallel_evaluations = 2
    config.evaluator.timeout = 600
    began = time.monotonic()
    result = run_evolution(
        HERE.parent / "policies" / f"{family}.py",
        HERE / "evaluator.py",
        config,
        candidates,
        str(folder / "openevolve"),
        cleanup=False,
    )
    print(
        f"{candidates} candidates in {time.monotonic() - began:.0f} s, best score {result.best_score:.4f}", flush=True
    )
    best = folder / "best.py"
    best.write_text(result.best_code, encoding="utf-8")
    return best


def show(policies: list[Path], seed: int, **options: object) -> None:
    """The policies on the published instances, and on those that the seed draws."""
    for policy in policies:
        for each in (PUBLISHED, seed):
            found = ratiobench.evaluate(policy, seed=each, budget="600s", **options)
            print(f"{policy.name}, seed {each}: at least {100 * found.combined_score:.1f} % of OPT")
        print("\n".join(found.feedback), flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family")
    parser.add_argument("candidates", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tiny", type=int, default=20)
    parser.add_argument("--stages", default="tiny,parts")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--shown-stages", default="days")
    parser.add_argument("--no-isolate", dest="isolate", action="store_false", default=None)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    best = evolve(given.family, given.candidates, given.folder, given.tiny, given.stages)
    first = HERE.parent / "policies" / f"{given.family}.py"
    stages = tuple(given.shown_stages.split(","))
    show([first, best], given.seed, family=given.family, tiny=given.tiny, stage=stages, isolate=given.isolate)


if __name__ == "__main__":
    main()
