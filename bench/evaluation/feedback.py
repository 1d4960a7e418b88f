"""Feedback on a policy: where it loses against the best known solution, for whoever writes its next version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ratiobench.bench.evaluation.result import SHOWN, CaseResult, Evaluation, StageResult, round_down


def add_feedback(found: Evaluation) -> Evaluation:
    """The evaluation with its feedback."""
    worst = max(
        (each for each in found.results if each.state == "ok" and each.headroom),
        key=lambda each: each.headroom or 0,
        default=None,
    )
    loss = None if worst is None else worst.explain()
    found = replace(found, loss=loss, worst="" if worst is None else worst.name)
    return replace(found, feedback=tuple(_lines(found, worst)))


def percent(value: object) -> str:
    """A share as a percentage with one digit, rounded down."""
    return f"{int(1000 * round_down(value)) / 10:.1f} %"  # type: ignore[arg-type]


def _lines(found: Evaluation, worst: CaseResult | None) -> Iterator[str]:
    if not found.valid:
        yield f"The policy is not valid, so its score is 0. {found.reason}"
        ran = [each for each in found.results if each.state == "ok"]
        if ran:
            yield f"Before that it ran on {len(ran)} instance{'s' * (len(ran) != 1)} without breaking a rule."
    for stage in found.stages if found.valid else ():
        yield _stage_line(found, stage)
    if found.stopped and found.valid:
        missing = sum(each.state == "not run" for each in found.results)
        yield f"The evaluation {found.stopped}; {missing} instances were not run and count as 0 in the score."
    yield from _headroom_lines(found)
    if worst is not None:
        missed = percent(worst.headroom)
        yield f"It loses most on {worst.name}: {percent(worst.share)} of OPT reached, {missed} certainly missed."
    if found.loss is not None:
        yield from found.loss.summary
        for each in found.loss.losses[:SHOWN]:
            yield f"- {each.text}"
        rest = found.loss.losses[SHOWN:]
        if rest:
            amount = sum(each.amount for each in rest)
            yield f"- {len(rest)} more such arrivals cost {amount:,} together (unit: {found.family.unit})."


def _stage_line(found: Evaluation, stage: StageResult) -> str:
    ran = f"{stage.run} of {stage.instances} instances" if stage.run < stage.instances else f"{stage.run} instances"
    return f"Stage {stage.name}: {percent(stage.share)} of OPT on average, {ran}."


def _headroom_lines(found: Evaluation) -> Iterator[str]:
    """What OPT leaves above the policy, and above the best shipped algorithm."""
    if found.headroom is None or found.shipped is None:
        return
    yield (
        f"On the instances that were run the policy certainly misses {percent(found.headroom)} of OPT on average; the "
        f"best shipped algorithm, {found.shipped.name}, misses {percent(found.shipped.headroom)}."
    )
    behind = [
        (each.name, found.shipped.values[each.name], each.value)
        for each in found.results
        if each.state == "ok" and each.value is not None and each.name in found.shipped.values
    ]
    sign = 1 if found.family.sense.verified == "lower" else -1
    wins = sum(sign * (ours - theirs) > 0 for _, theirs, ours in behind)
    losses = [name for name, theirs, ours in behind if sign * (ours - theirs) < 0]
    if behind:
        named = f": {', '.join(losses[:4])}{', ...' * (len(losses) > 4)}" if losses else ""
        better = f"it is better on {wins} of {len(behind)} instances, worse on {len(losses)}"
        yield f"Against {found.shipped.name} {better}{named}."
