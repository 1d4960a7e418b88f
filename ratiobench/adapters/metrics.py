"""An evaluation as the flat numbers and texts that search programs keep."""

from __future__ import annotations

import json

from ratiobench.bench.evaluation.result import Evaluation, round_down

__all__ = ["artifacts_of", "metrics_of"]


def metrics_of(found: Evaluation) -> dict[str, float]:
    """Extract the numbers of an evaluation.

    Parameters
    ----------
    found : an evaluation (`ratiobench.evaluate`).

    Returns
    -------
    Numbers by name: combined_score, valid (0 or 1), headroom, headroom_of_best_shipped, ms_per_decision, and
    share_STAGE of each stage. Those without a value are left out.
    """
    metrics = {"combined_score": found.combined_score, "valid": float(found.valid)}
    if found.headroom is not None:
        metrics["headroom"] = found.headroom
    if found.shipped is not None:
        metrics["headroom_of_best_shipped"] = round_down(found.shipped.headroom)
    if found.seconds_per_decision is not None:
        metrics["ms_per_decision"] = 1000 * found.seconds_per_decision
    return metrics | {f"share_{stage.name}": round_down(stage.share) for stage in found.stages}


def artifacts_of(found: Evaluation) -> dict[str, str]:
    """Extract the texts of an evaluation.

    Parameters
    ----------
    found : an evaluation (`ratiobench.evaluate`).

    Returns
    -------
    Texts by name: feedback, shares (JSON by instance), invalid_reason and stopped where there is a reason.
    """
    artifacts = {"feedback": found.text, "shares": json.dumps(found.shares)}
    if found.reason:
        artifacts["invalid_reason"] = found.reason
    if found.stopped:
        artifacts["stopped"] = found.stopped
    return artifacts
