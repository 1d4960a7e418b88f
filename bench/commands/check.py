"""The command `check`: exact verification of a solution or a certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import InstanceOptions, require_certificates
from ratiobench.bench.commands.texts import (
    exact_document,
    format_missing,
    interval_text,
    require_writable,
    write_timeline,
)
from ratiobench.bench.options import File, InstanceOrFile, argument, option, switch
from ratiobench.bench.results import ratios
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import read_bytes, text_of

if TYPE_CHECKING:
    from ratiobench.bench.family.contract import Family

BREACHES = 20  # Violated constraints that the text shows; the document has all


@dataclass(frozen=True, kw_only=True)
class Check(InstanceOptions):
    """Options of `check`."""

    solution: Any = argument(
        "solution file; - for standard input", InstanceOrFile(), "SOLUTION", default=None, either="checked", needed=True
    )
    certificate: Any = option(
        "certificate file, in place of a solution; - for standard input", InstanceOrFile(), "CERT", either="checked"
    )
    no_migration: bool = switch("require also that every task stays on one node")
    explain: bool = switch("with --certificate: print the proved statement and the content of the certificate")
    timeline: Path | None = option(
        "write a page with the Gantt chart of a valid solution; FILE.svg: only the chart",
        File(),
        "HTML",
        flags=("--html",),
    )


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The verdict on a solution, or on a certificate, and what the certificate proves in full."""

    family: Family
    verdict: Mapping[str, Any]
    certificate: bool
    explained: str = ""
    drawn: tuple[Any, Any] | None = None  # the instance and the solution, where that is valid and is to be drawn


def run(options: Check) -> CheckOutcome:
    """Verify the document."""
    judged = options.solution if options.certificate is None else options.certificate
    if options.file == judged == "-":
        raise InputError("<stdin>", "", "only one of the two files can be standard input")
    require_writable(options.timeline)
    family, instance = options.read()
    if options.timeline and (family.gantt is None or options.certificate is not None):
        problem = "it draws a solution" if family.gantt is not None else f"the family {family.name} has no Gantt charts"
        raise InputError("--timeline", "", problem)
    if isinstance(judged, Mapping):
        document, source = dict(judged), "document"
    else:
        data, source = read_bytes(judged)
        document = None
    proof = options.certificate is not None
    if options.explain and (options.json or not proof):
        raise InputError("--explain", "", "it goes with --certificate, and not with --json")
    document = family.load_document(instance, data, source) if document is None else document
    _refuse_other(document, source, proof)
    if options.no_migration:
        instance = family.without_migration(instance)
    if not proof:
        verdict = family.check(instance, document, source)
        drawn = None
        if options.timeline and verdict["valid"]:
            drawn = instance, family.parse_solution(document, source)
        return CheckOutcome(family, verdict, False, drawn=drawn)
    certificates = require_certificates(family)
    sum_text, verdict = certificates.sum_text, certificates.check(instance, document, source)
    if not options.explain:
        return CheckOutcome(family, verdict, True)
    sums = f"{sum_text(instance, document)}\n" if sum_text is not None and verdict["valid"] else ""
    return CheckOutcome(
        family, verdict, True, f"the certificate proves: {certificates.proves}\n{sums}{text_of(document)}"
    )


def is_certificate(document: Any) -> bool:
    """Whether a document says that it is a certificate."""
    return isinstance(document, dict) and "certificate" in str(document.get("format"))


def _refuse_other(data: Any, source: str, certificate: bool) -> None:
    """Refuse a certificate in a solution's place, and the other way round."""
    if is_certificate(data) and not certificate:
        raise InputError(source, "", "it is a certificate of an interval on OPT, no solution: --certificate checks it")
    solution = isinstance(data, dict) and "decisions" in data and "sha256" not in data
    if certificate and not is_certificate(data) and solution:
        raise InputError(source, "", "it is a solution, no certificate: `check FILE SOLUTION` checks it")


def text(options: Check, found: CheckOutcome) -> Iterator[str]:
    """The verdict."""
    verdict, family = found.verdict, found.family
    yield "valid" if verdict["valid"] else "NOT VALID"
    if found.certificate:
        ends = (verdict["lower"], verdict["upper"], family.unit) if verdict["valid"] else None
        where = " without migration" * options.no_migration
        yield str(verdict["problem"]) if ends is None else interval_text(*ends, where)
        if found.explained:
            yield found.explained.removesuffix("\n")
        return
    for key, value in verdict.items():
        if key not in ("valid", "violations"):
            figure = ratios.format_truncated(value) if isinstance(value, int | Fraction) else format_missing(value)
            yield f"{family.objective if key == 'welfare' else key} {figure}"
    yield from map(str, verdict["violations"][:BREACHES])
    if len(verdict["violations"]) > BREACHES:
        yield f"{len(verdict['violations']) - BREACHES} more (--json shows all)"


def write(options: Check, found: CheckOutcome) -> Iterator[str]:
    """The Gantt chart of a valid solution."""
    if options.timeline and found.drawn is None:
        yield f"{options.timeline} was not written: the solution is not valid"
    elif options.timeline and found.drawn is not None:
        instance, solution = found.drawn
        welfare = found.verdict[found.family.objective]
        write_timeline(options.timeline, found.family, instance, options.file, [], (welfare, None, solution))
        yield f"time line: {options.timeline}"


def document(options: Check, found: CheckOutcome) -> dict[str, Any]:
    """The verdict in full."""
    return exact_document(found.verdict)


CHECK = Command(
    Check,
    run,
    text=text,
    document=document,
    write=write,
    busy="checking",
    status=lambda found: int(not found.verdict["valid"]),
)
