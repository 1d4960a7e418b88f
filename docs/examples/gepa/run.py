"""Evolve a policy with GEPA and a language model.

    python docs/examples/gepa/run.py lora 200 MODEL

The number is that of runs on single instances; MODEL is the name of a language model for GEPA's `reflection_lm`.
"""

import sys
from pathlib import Path

import gepa

from ratiobench.adapters.gepa import COMPONENT, PolicyAdapter, instance_names

POLICIES = Path(__file__).resolve().parent.parent / "policies"


def main(family: str, runs: int, model: str) -> None:
    names = instance_names(family)
    result = gepa.optimize(
        {COMPONENT: (POLICIES / f"{family}.py").read_text(encoding="utf-8")},
        trainset=names,
        valset=names,
        adapter=PolicyAdapter(family=family),
        reflection_lm=model,
        max_metric_calls=runs,
        reflection_minibatch_size=5,
    )
    print(f"best score {max(result.val_aggregate_scores):.4f}")
    print(result.best_candidate[COMPONENT])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
