"""The evaluator that OpenEvolve loads; the environment says which instances.

FAMILY names the family of the policy, TINY how many tiny instances are drawn (10), STAGES the stages (all).
"""

import os

from ratiobench.adapters.openevolve import evaluators
from ratiobench.bench.evaluation.cases import STAGES

evaluate, evaluate_stage1, evaluate_stage2, evaluate_stage3 = evaluators(
    family=os.environ.get("FAMILY", "lora"),
    tiny=int(os.environ.get("TINY", "10")),
    stage=tuple(os.environ.get("STAGES", ",".join(STAGES)).split(",")),
    budget="120s",
)
