"""The evaluator that OpenEvolve loads: `FAMILY` in the environment names the family of the policy."""

import os

from ratiobench.adapters.openevolve import evaluators

evaluate, evaluate_stage1, evaluate_stage2, evaluate_stage3 = evaluators(
    family=os.environ.get("FAMILY", "lora"), budget="120s"
)
