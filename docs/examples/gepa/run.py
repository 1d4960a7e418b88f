"""Evolve a policy with GEPA; a script that changes numbers stands in for the language model.

    python docs/examples/gepa/run.py lora 200

The number is that of runs on single instances. With a language model, give `reflection_lm` in place of
`custom_candidate_proposer`.
"""

import sys
from pathlib import Path

import gepa

from ratiobench.adapters.gepa import COMPONENT, PolicyAdapter, ScriptedProposer, instance_names

POLICIES = Path(__file__).resolve().parent.parent / "policies"


def main(family: str, runs: int) -> None:
    names = instance_names(family)
    result = gepa.optimize(
        {COMPONENT: (POLICIES / f"{family}.py").read_text(encoding="utf-8")},
        trainset=names,
        valset=names,
        adapter=PolicyAdapter(family=family),
        custom_candidate_proposer=ScriptedProposer(seed=1),
        max_metric_calls=runs,
        reflection_minibatch_size=5,
    )
    print(f"best score {max(result.val_aggregate_scores):.4f}")
    print(result.best_candidate[COMPONENT])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
