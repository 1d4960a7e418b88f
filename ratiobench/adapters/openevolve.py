"""OpenEvolve: evaluators for its `evaluator.py`, one for each stage of its cascade.

    # evaluator.py
    from ratiobench.adapters.openevolve import evaluators

    evaluate, evaluate_stage1, evaluate_stage2, evaluate_stage3 = evaluators(family="lora")

In the configuration set `cascade_evaluation: true` to have OpenEvolve decide after each stage; then its thresholds are
in units of `combined_score`, where instances that were not run count as 0. With `cascade_evaluation: false` the
cascade of `ratiobench.evaluate` and its option `threshold` decide.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from ratiobench.bench.commands.policies import evaluate as evaluate_policy
from ratiobench.bench.evaluation.cases import STAGES
from ratiobench.bench.evaluation.result import round_down

__all__ = ["evaluate", "evaluators"]


def evaluate(program_path: str, **options: Any) -> Any:
    """Evaluate a program of OpenEvolve.

    Parameters
    ----------
    program_path : the policy's file.
    options : as of `ratiobench.evaluate`.

    Returns
    -------
    OpenEvolve's `EvaluationResult`. Its metrics are combined_score, valid (0 or 1), headroom, headroom_of_best_shipped,
    ms_per_decision, and share_STAGE of each stage; those without a value are left out. Its artifacts are feedback,
    shares (JSON by instance), and invalid_reason and stopped if there is a reason.

    Raises
    ------
    ModuleNotFoundError : the package `openevolve` is not installed.
    """
    from openevolve.evaluation_result import EvaluationResult

    result = evaluate_policy(program_path, **options)
    metrics = {"combined_score": result.combined_score, "valid": float(result.valid)}
    if result.headroom is not None:
        metrics["headroom"] = result.headroom
    if result.shipped is not None:
        metrics["headroom_of_best_shipped"] = round_down(result.shipped.headroom)
    if result.seconds_per_decision is not None:
        metrics["ms_per_decision"] = 1000 * result.seconds_per_decision
    metrics |= {f"share_{stage.name}": round_down(stage.share) for stage in result.stages}
    artifacts = {"feedback": result.text, "shares": json.dumps(result.shares)}
    reasons = {"invalid_reason": result.reason, "stopped": result.stopped}
    artifacts |= {name: text for name, text in reasons.items() if text}
    return EvaluationResult(metrics=metrics, artifacts=artifacts)


def _evaluate_until(program_path: str, *, count: int, **options: Any) -> Any:
    """The evaluation as after so many stages: all instances of later ones count as 0."""
    stages = [each for each in STAGES if each in (options.get("stage") or STAGES)]
    settings = {"threshold": 0, **options, "stage": stages, "last": stages[min(count, len(stages)) - 1]}
    return evaluate(program_path, **settings)


def evaluators(**options: Any) -> tuple[Callable[..., Any], ...]:
    """Make OpenEvolve's evaluation functions with these options.

    Parameters
    ----------
    options : as of `ratiobench.evaluate`, such as family, seed, set, budget.

    Returns
    -------
    The functions `evaluate`, `evaluate_stage1`, `evaluate_stage2` and `evaluate_stage3`.
    """
    stages = (partial(_evaluate_until, count=count, **options) for count in (1, 2, 3))
    return partial(evaluate, **options), *stages
