"""What an evaluation found: records, the table, the feedback for whoever writes the next policy, JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from ratiobench.bench.evaluation.cases import EvaluationCase, require_support
from ratiobench.bench.family.capabilities import LossReport
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.show import format_number
from ratiobench.bench.storage.payload import json_number
from ratiobench.formulations.report import Exact
from ratiobench.instances.io.errors import make_printable
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.remarks import NO_ISOLATION

FORMAT = "ratiobench/evaluation/1"
SHOWN = 6  # Most arrivals that the feedback lists one by one
LOSSES = 50  # Arrivals of the worst instance that a document has


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    seed: int  # of the tiny instances; another one than 1 draws those of `parts` and `days`, too
    count: int  # how many tiny instances are drawn
    stages: tuple[str, ...]  # those that may be run, in this order
    threshold: float  # a stage is followed by the next one only if the mean share on it is at least this
    budget: float  # seconds that the policy's runs may take in all; what does not fit counts as a share of 0
    isolate: bool | None  # in a sandbox; None: where there can be one
    only: tuple[str, ...]  # patterns of names (* ? [...]) of the instances that are run; empty for all
    last: str  # the stage after which the evaluation ends; instances of later ones count as 0. Empty for none


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A policy's run on one instance, or why there is none."""

    name: str  # name, stage: of the instance
    stage: str
    state: str  # `ok`, `invalid`, `not run`
    case: EvaluationCase | None = None  # the instance; None where it was not run
    run: OnlineRun | None = None  # if it is valid
    share: Fraction = Fraction(0)  # the share of OPT that is certainly reached, in [0, 1]
    headroom: Fraction | None = None  # the share of OPT that is certainly missed, in [0, 1]
    reason: str = ""  # why there is no valid run

    def explain(self) -> LossReport | None:
        """Where the run loses against the best known solution; None without a valid run, or where it is unknown."""
        if self.case is None or self.run is None:
            return None
        explain = require_support(self.case.family).explain_loss
        return None if explain is None else explain(self.case.instance, self.run.decisions, self.case.solution())


@dataclass(frozen=True, slots=True)
class StageResult:
    """One stage: the mean share on its instances, and whether the next one may follow."""

    name: str
    instances: int
    run: int
    share: Fraction
    passed: bool


@dataclass(frozen=True, slots=True)
class Shipped:
    """A shipped algorithm on the instances that the policy was run on."""

    name: str
    values: Mapping[str, Exact]  # by the instances' names
    share: Fraction  # share, headroom: means over these instances
    headroom: Fraction


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation found."""

    policy: str  # its name, as people write it
    family: Family
    set_name: str
    settings: EvaluationSettings
    valid: bool  # no rule was broken; the score of a policy that broke one is 0
    reason: str  # the rule that was broken, at which arrival of which instance; empty for none
    combined_score: float  # mean share of OPT that is certainly reached, over all instances; 0 for those not run
    headroom: float | None  # mean share of OPT that is certainly missed, over the instances that were run
    stages: Sequence[StageResult]
    results: Sequence[CaseResult]
    shipped: Shipped | None  # the best shipped algorithm on the same instances; None where nothing was run
    stopped: str  # why not all instances were run; empty where they were
    time_limited: bool  # the budget ended it, so that the score depends on the machine
    isolation: str | None  # how the policy was isolated (`ratiobench.online.remarks`); None for a shipped algorithm
    seconds: float
    seconds_per_decision: float | None  # mean over all runs, with the way to the policy's process and back
    feedback: Sequence[str] = ()  # sentences for whoever writes the next version of the policy
    loss: LossReport | None = None
    worst: str = ""
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        verdict = "valid" if self.valid else f"INVALID ({make_printable(self.reason, 80)})"
        return f"<Evaluation {make_printable(self.policy, 60)}: score {self.combined_score:.4f}, {verdict}>"

    @property
    def isolated(self) -> bool | None:
        """Whether the policy ran in a sandbox; None for a shipped algorithm, which needs none."""
        return None if self.isolation is None else self.isolation != NO_ISOLATION

    @property
    def shares(self) -> dict[str, float]:
        """The share of OPT that is certainly reached, by the names of the instances that were run."""
        return {each.name: round_down(each.share) for each in self.results if each.state != "not run"}

    @property
    def text(self) -> str:
        """The feedback as one text."""
        return "\n".join(self.feedback)

    def document(self) -> dict[str, Any]:
        """The evaluation as JSON values (`docs/reference/json.md`)."""
        settings, best = self.settings, self.shipped
        shares = {} if best is None else {"share": round_down(best.share), "headroom": round_down(best.headroom)}
        return {
            "format": FORMAT,
            "policy": make_printable(self.policy, 300),
            "family": self.family.name,
            "objective": {"name": self.family.objective, "unit": self.family.unit, "best": self.family.sense.value},
            "set": self.set_name,
            "seed": settings.seed,
            "valid": self.valid,
            "reason": self.reason or None,
            "combined_score": self.combined_score,
            "headroom": self.headroom,
            "best_shipped": best and {"algorithm": best.name, **shares},
            "stages": [asdict(stage) | {"share": round_down(stage.share)} for stage in self.stages],
            "threshold": settings.threshold,
            "stopped": self.stopped or None,
            "time_limited": self.time_limited,
            "budget_seconds": settings.budget,
            "isolated": self.isolated,
            "isolation": self.isolation,
            "seconds": round(self.seconds, 6),
            "seconds_per_decision": None if self.seconds_per_decision is None else round(self.seconds_per_decision, 9),
            "instances": [_instance(self, result) for result in self.results],
            "worst": None if not self.worst else {"instance": self.worst, "losses": self._losses()},
            "notes": list(self.notes),
            "feedback": list(self.feedback),
        }

    def _losses(self) -> list[dict[str, Any]]:
        losses = [] if self.loss is None else self.loss.losses[:LOSSES]
        return [
            {**loss.figures, "arrival": loss.arrival, "loss": json_number(loss.amount)}
            | ({"text": loss.text} if place < SHOWN else {})
            for place, loss in enumerate(losses)
        ]


def round_down(value: Fraction | float) -> float:
    """A share as a number with six decimals, rounded down."""
    return math.floor(Fraction(value) * 10**6) / 10**6


def grade(sense: Sense, value: Exact, lower: Exact, upper: Exact) -> tuple[Fraction, Fraction]:
    """The share of OPT that is certainly reached, and the share that is certainly missed; both in [0, 1]."""
    if sense is Sense.MOST:
        return _quotient(value, upper), 1 - _quotient(value, lower)
    return _quotient(lower, value), 1 - _quotient(upper, value)  # of a cost OPT / cost is the share


def _quotient(part: Exact, whole: Exact) -> Fraction:
    """The quotient cut to [0, 1]; 1 for nothing of nothing."""
    if whole <= 0:
        return Fraction(1)
    return min(max(Fraction(part) / Fraction(whole), Fraction(0)), Fraction(1))


def _instance(found: Evaluation, result: CaseResult) -> dict[str, Any]:
    about: dict[str, Any] = {"name": result.name, "stage": result.stage, "state": result.state}
    if result.reason:
        about["reason"] = result.reason
    if result.case is not None:
        about |= {"lower": json_number(result.case.lower), "upper": json_number(result.case.upper)}
        about |= {"arrivals": result.case.arrivals, "sha256": result.case.identity}
    if result.run is not None and result.headroom is not None:
        about |= {"value": json_number(result.run.welfare), "share": round_down(result.share)}
        about |= {"headroom": round_down(result.headroom), "admitted": result.run.admitted}
        about["seconds"] = round(result.run.seconds, 6)
        best: Exact | None = None if found.shipped is None else found.shipped.values.get(result.name)
        about["best_shipped_value"] = None if best is None else json_number(best)
    return about


def percent(value: object) -> str:
    """A share as a percentage with one digit, rounded down."""
    return f"{int(1000 * round_down(value)) / 10:.1f} %"  # type: ignore[arg-type]


def table_rows(found: Evaluation) -> list[dict[str, str]]:
    """The table's cells by heading, a row per instance; those that were not run are left out."""
    rows = []
    for result in found.results:
        if (case := result.case) is None:
            continue
        opt = format_number(case.lower)
        if case.lower != case.upper:
            opt = f"[{opt}, {format_number(case.upper, up=True)}]"
        value, share, missed, best = "invalid", "-", "-", "-"
        if result.run is not None:
            value, share, missed = format_number(result.run.welfare), percent(result.share), percent(result.headroom)
            best = format_number(None if found.shipped is None else found.shipped.values.get(result.name))
        row = {"stage": result.stage, "instance": result.name, "arrivals": str(case.arrivals), "OPT": opt}
        rows.append(row | {"value": value, "share": share, "missed": missed, "best shipped": best})
    return rows


def feedback_lines(found: Evaluation, worst: CaseResult | None) -> Iterator[str]:
    """Where the policy loses against the best known solution; `worst`: the instance on which it loses most."""
    if not found.valid:
        yield f"The policy is not valid, so its score is 0. {found.reason}"
        if ran := sum(each.state == "ok" for each in found.results):
            yield f"Before that it ran on {ran} instance{'s' * (ran != 1)} without breaking a rule."
    for stage in found.stages if found.valid else ():
        count = f"{stage.run} of {stage.instances}" if stage.run < stage.instances else str(stage.run)
        yield f"Stage {stage.name}: {percent(stage.share)} of OPT on average, {count} instances."
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
        if rest := found.loss.losses[SHOWN:]:
            amount = sum(each.amount for each in rest)
            yield f"- {len(rest)} more such arrivals cost {amount:,} together (unit: {found.family.unit})."


def _headroom_lines(found: Evaluation) -> Iterator[str]:
    """What OPT leaves above the policy, and above the best shipped algorithm."""
    if found.headroom is None or found.shipped is None:
        return
    yield (
        f"On the instances that were run the policy certainly misses {percent(found.headroom)} of OPT on average; the "
        f"best shipped algorithm, {found.shipped.name}, misses {percent(found.shipped.headroom)}."
    )
    sign = 1 if found.family.sense.verified == "lower" else -1
    leads = {
        each.name: sign * (each.run.welfare - found.shipped.values[each.name])
        for each in found.results
        if each.run is not None and each.name in found.shipped.values
    }
    losses = [name for name, lead in leads.items() if lead < 0]
    if leads:
        named = f": {', '.join(losses[:4])}{', ...' * (len(losses) > 4)}" if losses else ""
        wins = sum(lead > 0 for lead in leads.values())
        better = f"it is better on {wins} of {len(leads)} instances, worse on {len(losses)}"
        yield f"Against {found.shipped.name} {better}{named}."
