"""GEPA: an adapter whose examples are instances and whose candidate is the text of a policy.

    from ratiobench.adapters.gepa import PolicyAdapter, instance_names

    adapter = PolicyAdapter(family="lora")
    names = instance_names(family="lora")
    gepa.optimize({"policy": text}, trainset=names, valset=names, adapter=adapter, reflection_lm=..., ...)

A score is the share of OPT that the policy certainly reaches on the instance. GEPA's reflection gets, instance by
instance, where the policy loses against the best known solution.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.policies import evaluate
from ratiobench.bench.evaluation.cases import PARTS, TINY, find_cases, find_family
from ratiobench.bench.evaluation.result import SHOWN, CaseResult, Evaluation, round_down
from ratiobench.bench.family.standard import read_set, set_of

__all__ = ["PolicyAdapter", "instance_names"]


def instance_names(
    family: str = "lora", *, set: str = "", seed: int = 1, tiny: int = 10, stages: Sequence[str] = (TINY, PARTS)
) -> list[str]:
    """List the instances of some stages, for GEPA's trainset and valset.

    Parameters
    ----------
    family : name of the family (``list problems``).
    set : name of the standard set, or its manifest file; empty for the family's first one.
    seed : of the tiny instances; another one than 1 draws those of ``parts`` and ``days``, too.
    tiny : how many tiny instances are drawn.
    stages : names of the stages: ``tiny``, ``parts``, ``days``.

    Returns
    -------
    Names that `PolicyAdapter.evaluate` takes.

    Raises
    ------
    InputError : a family, set or stage that does not exist.

    Examples
    --------
    >>> from ratiobench.adapters.gepa import instance_names
    >>> len(instance_names("lora", tiny=3, stages=["tiny"]))
    3
    """
    chosen = read_set(set) if set else set_of(family)
    return [name for stage in stages for name in find_cases(find_family(family), chosen, stage, seed, tiny)]


class PolicyAdapter:
    """GEPA's adapter: `evaluate` and `make_reflective_dataset`.

    Parameters
    ----------
    options : as of `ratiobench.evaluate`; `stage` and `only` are set by the examples.
    """

    propose_new_texts = None

    def __init__(self, **options: Any) -> None:
        self._options = options

    def evaluate(self, batch: list[str], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        """Run the candidate's policy on these instances.

        Parameters
        ----------
        batch : names of instances, as `instance_names` returns them.
        candidate : texts by component; `policy` is the policy's text.
        capture_traces : whether to return the feedback on each instance.

        Returns
        -------
        GEPA's `EvaluationBatch`; outputs are rows of the evaluation's document, trajectories feedback by instance.

        Raises
        ------
        ModuleNotFoundError : the package `gepa` is not installed.
        """
        from gepa.core.adapter import EvaluationBatch

        if not batch:  # to `evaluate` no names mean all
            return EvaluationBatch(outputs=[], scores=[], trajectories=[] if capture_traces else None)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "policy.py"
            path.write_text(candidate["policy"], encoding="utf-8")
            found = evaluate(path, **{"threshold": 0, **self._options, "only": tuple(batch)})
        results = {each.name: each for each in found.results}
        scores = [round_down(results[name].share) if found.valid else 0.0 for name in batch]
        outputs = [
            {"instance": name, "state": results[name].state, "share": score}
            for name, score in zip(batch, scores, strict=True)
        ]
        traces = [_trace(found, results[name]) for name in batch] if capture_traces else None
        return EvaluationBatch(outputs=outputs, scores=scores, trajectories=traces)

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Collect the feedback by instance for GEPA's reflection.

        Parameters
        ----------
        candidate : texts by component; not used.
        eval_batch : result of `evaluate` with `capture_traces`.
        components_to_update : names of the components to which the feedback belongs.

        Returns
        -------
        For each component one record per instance, the worst instance first: ``Inputs``, ``Generated Outputs``,
        ``Feedback``.
        """
        pairs = sorted(zip(eval_batch.scores, eval_batch.trajectories or (), strict=True), key=lambda each: each[0])
        return {name: [trace for _, trace in pairs] for name in components_to_update}


def _trace(found: Evaluation, result: CaseResult) -> dict[str, str]:
    """What GEPA's reflection reads of one instance."""
    if not found.valid:
        text = f"The policy is not valid: {found.reason}"
    elif result.state != "ok":
        text = f"Not run: {result.reason or found.stopped}"
    else:
        loss = result.explain()
        lines = [] if loss is None else [*loss.summary, *(f"- {each.text}" for each in loss.losses[:SHOWN])]
        text = "\n".join([f"{100 * round_down(result.share):.1f} % of OPT is certainly reached.", *lines])
    value = f"value {result.run and result.run.welfare}"
    return {"Inputs": f"instance {result.name}", "Generated Outputs": value, "Feedback": text}
