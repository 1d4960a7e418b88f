"""The command `crosscheck`: several solvers for the program as printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import InstanceOptions
from ratiobench.bench.commands.texts import name_the_file
from ratiobench.bench.family.contract import Family
from ratiobench.bench.options import EFFORT, SECONDS, option
from ratiobench.bench.report.crosscheck import crosscheck_lines, interval_of
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.formulations.crosscheck import CrossCheck
from ratiobench.instances.io.errors import make_printable

WIDEST = 600  # Characters of a reason


@dataclass(frozen=True, kw_only=True)
class Crosscheck(InstanceOptions):
    """Options of `crosscheck`."""

    effort: int = option("units of work for each row", EFFORT, "N", default=1)
    seconds: float | None = option("time limit of each row in seconds, in place of the effort", SECONDS, "S")


@dataclass(frozen=True, slots=True)
class CrosscheckOutcome:
    """The answers for one instance."""

    family: Family
    instance: Any
    answers: CrossCheck


def run(options: Crosscheck) -> CrosscheckOutcome:
    """Solve with every formulation and solver."""
    family, instance = options.read()
    with name_the_file(options.file, instance):
        answers = family.crosscheck(instance, effort=options.effort, seconds=options.seconds, tell=set_current)
    return CrosscheckOutcome(family, instance, answers)


def text(options: Crosscheck, found: CrosscheckOutcome) -> Iterator[str]:
    """A table, reasons and the verdict."""
    from ratiobench.bench.show import align_columns  # with pandas, which no other command should wait for

    answers = found.answers
    yield align_columns(crosscheck_lines(answers)).removesuffix("\n")
    for row, why in zip(answers.rows, answers.differs, strict=True):
        message = why or ("" if row.answer.answered and not row.answer.message else row.answer.message)
        if message:
            yield make_printable(f"{row.answer.formulation} / {row.answer.backend}: {message}", WIDEST)
    ended = f"{answers.optimal()} of {len(answers.rows)} rows end as optimal"
    yield f"{answers.verdict}: {interval_of(answers)} {found.family.unit} ({ended})"


def document(options: Crosscheck, found: CrosscheckOutcome) -> dict[str, Any]:
    """All answers."""
    answers = found.answers
    about = {"instance": found.family.identity(found.instance), "verdict": answers.verdict}
    ends = {"lower": answers.lower, "upper": answers.upper}
    counts = {"optimal": answers.optimal(), "answered": answers.answered()}
    return {**about, **ends, **counts, "rows": answers.documents()}


CROSSCHECK = Command(Crosscheck, run, text=text, document=document, busy="cross-checking")
