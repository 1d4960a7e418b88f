"""The command `opt`: OPT, or a certified interval on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import InstanceOptions, SolveOptions, require_certificates
from ratiobench.bench.commands.texts import (
    interval_text,
    name_the_file,
    require_writable,
    write_solution,
    write_timeline,
)
from ratiobench.bench.family.contract import Family
from ratiobench.bench.options import File, option, switch
from ratiobench.bench.results import ratios
from ratiobench.bench.storage.payload import json_number, report_payload
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.errors import CommandError, InputError
from ratiobench.instances.io.files import write_atomically


@dataclass(frozen=True, kw_only=True)
class Opt(SolveOptions, InstanceOptions):
    """Options of `opt`."""

    no_migration: bool = switch("compute the optimum where every task stays on one node")
    solution: Path | None = option(
        "write the decisions of the best solution, for `check`; a schedule of jobs also as FILE.swf", File(), "FILE"
    )
    certificate: Path | None = option(
        "write the certificate of the interval, for `check --certificate`", File(), "CERT"
    )
    timeline: Path | None = option(
        "write a page with the Gantt chart of the best solution found; FILE.svg: only the chart",
        File(),
        "HTML",
        flags=("--html",),
    )
    log: Path | None = option("write the times at which each end of the interval moved", File(), "CSV")


@dataclass(frozen=True, slots=True)
class OptOutcome:
    """A solved instance, and its solution as a document."""

    family: Family
    instance: Any
    report: SolveReport
    document: Mapping[str, Any]


def run(options: Opt) -> OptOutcome:
    """Solve the instance."""
    require_writable(options.solution, options.certificate, options.log, options.timeline)
    family, instance = options.read()
    if options.timeline and family.gantt is None:
        raise InputError("--timeline", "", f"the family {family.name} has no Gantt charts")
    with name_the_file(options.file, instance):
        if options.no_migration:
            instance = family.without_migration(instance)
        if options.certificate:
            report = require_certificates(family).solve(instance, options.settings(family), None)
        else:
            report = family.solve(instance, options.settings(family))
    return OptOutcome(family, instance, report, family.solution_document(report.solution))


def text(options: Opt, found: OptOutcome) -> Iterator[str]:
    """The interval and its proof."""
    family, report = found.family, found.report
    yield interval_text(report.lower, report.upper, family.unit, " without migration" * options.no_migration)
    limited = ", time-limited" if report.time_limited else ""
    yield f"{family.sense.bound} bound proved by: {report.proof} ({report.formulation} / {report.backend}{limited})"
    if report.solver is not None:
        yield f"answer of the solver: {report.solver.text()}"
    if options.no_migration:
        yield f"{family.sense.verified} bound: a verified solution that keeps every task on one node"
    if report.message:
        yield report.message
    proof = report.certificate
    if options.certificate and proof and report.upper < proof.upper:
        end = ratios.format_number(proof.upper, up=True)
        yield f"the certificate proves no more than {end}: a bound by {report.proof} cannot be certified"
    yield f"{report.seconds:.3f} s"


def document(options: Opt, found: OptOutcome) -> dict[str, Any]:
    """The report, which is a solution, too."""
    report, proof = found.report, found.report.certificate
    about: dict[str, Any] = {
        "instance": found.family.identity(found.instance),
        "gap": ratios.gap(report.lower, report.upper),
    }
    if options.certificate:
        about["certified"] = None if proof is None else {e: json_number(getattr(proof, e)) for e in ("lower", "upper")}
    if options.no_migration:
        about["migration"] = False
    return {**report_payload(report), **about, **found.document}


def write(options: Opt, found: OptOutcome) -> None:
    """The solution, the log, the chart, the certificate."""
    write_solution(options.solution, found.family, found.instance, found.report.solution)
    if options.timeline:
        best = found.report.lower, found.report.upper, found.report.solution
        write_timeline(options.timeline, found.family, found.instance, options.file, [], best)
    if options.log:
        lines = [f"{seconds:.3f},{lower},{upper}\n" for seconds, lower, upper in found.report.trail]
        write_atomically(options.log, "".join(["seconds,lower,upper\n", *lines]).encode())
    if options.certificate:
        if found.report.certificate is None:
            raise NoCertificateError(f"{options.certificate}: not written, no certificate was found")
        require_certificates(found.family).write(found.report.certificate, options.certificate)


class NoCertificateError(CommandError):
    """A certificate was asked for, and none was found."""


OPT = Command(Opt, run, text=text, document=document, write=write, busy="looking for OPT")
