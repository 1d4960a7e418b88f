"""Evolve a policy on published instances with OpenEvolve, then show it on hidden days beside its first version.

    python docs/examples/openevolve/hidden.py lora 200 OUTPUT

evaluates 200 candidates on 30 instances (`tiny` and `parts`); a script that changes numbers stands in for the language
model. It writes OUTPUT/best.py, commits to hidden days in OUTPUT/hidden.json, and evaluates both versions on them.

    python -m ratiobench standard reveal OUTPUT/hidden.json

publishes the seed, and verifies instances, certificates and rows.
"""

import argparse
import os
import time
from pathlib import Path

from openevolve import run_evolution

import ratiobench
from ratiobench.adapters.openevolve import scripted_config

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


def show(family: str, policies: list[Path], folder: Path, **options: object) -> None:
    """The policies on the same hidden instances and on their published counterparts."""
    for policy in policies:
        found = ratiobench.evaluate(policy, family=family, set="hidden", commit=folder / "hidden.json", **options)
        assert found.hidden is not None
        print(f"{policy.name}: commitment {found.hidden.commitment}")
        for each in (*found.hidden.stages, found.hidden.total):
            low, high = each.gap
            print(
                f"  {each.name}: at least {100 * float(each.published_low):.1f} % of OPT on published instances, "
                f"{100 * float(each.hidden_low):.1f} % on hidden ones, gap {100 * float(low):+.1f} to "
                f"{100 * float(high):+.1f} points"
            )
        print("\n".join(found.feedback), flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family")
    parser.add_argument("candidates", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tiny", type=int, default=20)
    parser.add_argument("--stages", default="tiny,parts")
    parser.add_argument("--hidden-stages", default="days")
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--law", type=Path)
    parser.add_argument("--no-isolate", dest="isolate", action="store_false", default=None)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    best = evolve(given.family, given.candidates, given.folder, given.tiny, given.stages)
    first = HERE.parent / "policies" / f"{given.family}.py"
    options = {"isolate": given.isolate, "stage": tuple(given.hidden_stages.split(",")), "budget": "600s"}
    options |= {"count": given.count, "law": given.law}
    show(given.family, [first, best], given.folder, **options)


if __name__ == "__main__":
    main()
