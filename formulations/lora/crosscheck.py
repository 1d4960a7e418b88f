"""P as the paper prints it, built twice and solved by several solvers, beside strong formulations and a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ratiobench.formulations import backends
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow, compare_answers
from ratiobench.formulations.engine import check_settings, make_verify
from ratiobench.formulations.lora.certificate import Certificate, document
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.direct_solve import solve_direct
from ratiobench.formulations.lora.models.formulation import registry
from ratiobench.formulations.lora.solve import TINY_COLUMNS, require_any, solve
from ratiobench.formulations.lora.verify import verify
from ratiobench.formulations.report import NO_BACKEND, SolverAnswer, Termination
from ratiobench.instances.lora.model import Instance, ScheduleKind

CERTIFIED = "certificate"  # Name of the row of the certified interval, in the place of a formulation
# The order of the rows; other formulations stand behind these
ORDER = ("printed", "printed-ortools", "tight", "cpsat")

# Units of work of a solver per unit of effort: about as long as the 100 nodes of CBC take (others: 1)
EFFORTS = {"highs": 20, "cpsat": 4}


class Pair(NamedTuple):
    formulation: str
    backend: str


# P as printed, built with PuLP: the pairs that suites solve beside the reference
PRINTED = (Pair("printed", "highs"), Pair("printed", "cbc"))
PRINTED_COLUMNS = 1_000  # Up to this many columns of `printed` a suite solves P as printed
VERSION = "1"  # Version of everything that can change an answer; part of the key of stored results


def crosscheck(
    instance: Instance, *, effort: int = 1, seconds: float | None = None, tell: Callable[[str], None] = lambda _: None
) -> CrossCheck:
    """Solve P in every formulation with every solver that goes with it, without a start, and compare the answers."""
    require_any(instance, "solvers are compared")
    check_settings(effort, 0.0, seconds)
    rows = []
    chosen = pairs()
    for number, pair in enumerate(chosen):
        tell(f"{number} of {len(chosen) + 1} rows done, now {pair.formulation} with {pair.backend}")
        rows.append(solve_pair(instance, pair, effort, seconds))
    tell(f"{len(chosen)} of {len(chosen) + 1} rows done, now the certified interval")
    rows.append(_certified(instance, effort, seconds))
    return compare_answers(rows, upper=rows[-1].bound if rows[-1].certified else None)


def pairs() -> list[Pair]:
    """The exact formulations of P with their solvers, those of optional extras where they are installed."""
    known = [each for each in registry().values() if each.schedules is ScheduleKind.ANY]
    return [
        Pair(each.name, backend)
        for each in sorted(known, key=lambda each: ORDER.index(each.name) if each.name in ORDER else len(ORDER))
        for backend in each.backends
        if backend not in backends.EXTRAS or backends.installed_version(backend)
    ]


def solve_pair(instance: Instance, pair: Pair, effort: int = 1, seconds: float | None = None) -> CrossCheckRow:
    formulation = registry()[pair.formulation]
    limited = seconds is None and formulation.columns(instance) > TINY_COLUMNS
    limits = Limits(work=effort * EFFORTS.get(pair.backend, 1) if limited else None, seconds=seconds)
    found = solve_direct(instance, formulation, pair.backend, limits, make_verify(check, instance))
    return CrossCheckRow(found.answer, found.stated_bound)


def solve_printed(instance: Instance) -> list[CrossCheckRow]:
    """P as printed, built with PuLP, by HiGHS and CBC with a unit of effort; empty where it is too large or not P."""
    if instance.schedules is not ScheduleKind.ANY or registry()["printed"].columns(instance) > PRINTED_COLUMNS:
        return []
    return [solve_pair(instance, pair) for pair in PRINTED]


def printed_key() -> str:
    """Key of stored answers of `solve_printed`: version of this code, and versions of the solvers."""
    solvers = ", ".join(backends.installed_version(backend) for _, backend in PRINTED)
    return f"printed up to {PRINTED_COLUMNS} columns version {VERSION} | {solvers}"


def _certified(instance: Instance, effort: int, seconds: float | None) -> CrossCheckRow:
    report = solve(instance, effort=effort, seconds=seconds, certified=True)
    certificate: Certificate | None = report.certificate  # type: ignore[assignment]
    answer = SolverAnswer(CERTIFIED, NO_BACKEND, "", Termination.NONE, solve_seconds=report.seconds)
    if certificate is None:
        return CrossCheckRow(replace(answer, message=report.message or "no certificate was found"))
    verdict = verify(instance, document(certificate))
    status = Termination.OPTIMAL if certificate.lower == certificate.upper else Termination.LIMIT
    answer = replace(
        answer,
        solver="checked in integers",
        status=status if verdict.valid else Termination.ERROR,
        bound=float(certificate.upper),
        value=float(certificate.lower),
        verified=certificate.lower if verdict.valid else None,
        message=verdict.problem,
    )
    return CrossCheckRow(answer, certificate.upper, verdict.valid)
