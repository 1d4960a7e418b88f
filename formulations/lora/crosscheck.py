"""P as the paper prints it, built twice and solved by several solvers, beside strong formulations and a certificate.

`printed` is built in PuLP and `printed-ortools` in OR-Tools; each goes, exactly as built and without a starting
solution, to HiGHS and to CBC, and to SCIP and Gurobi where they are installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ratiobench.formulations import backends
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow, compare_answers
from ratiobench.formulations.lora.certificate import Certificate, document
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.direct_solve import solve_direct
from ratiobench.formulations.lora.models.formulation import registry
from ratiobench.formulations.lora.solve import BUILD_COLUMNS, TINY_COLUMNS, require_any, solve
from ratiobench.formulations.lora.verify import verify
from ratiobench.formulations.report import SolverAnswer, Termination
from ratiobench.formulations.settings import NO_BACKEND, check_settings
from ratiobench.instances.lora.model import Instance, ScheduleKind
from ratiobench.instances.lora.solution import Solution

CERTIFIED = "certificate"  # Name of the row of the certified interval, in the place of a formulation
# The order of the rows; other formulations stand behind these
ORDER = ("printed", "printed-ortools", "tight", "cpsat")

# Units of work of a solver per unit of effort: about as long as the 100 nodes of CBC take (others: 1)
EFFORTS = {"highs": 20, "cpsat": 4}


class Pair(NamedTuple):
    """A formulation and a solver."""

    formulation: str
    backend: str


# P as printed, built with PuLP: the pairs that suites solve beside the reference
PRINTED = (Pair("printed", "highs"), Pair("printed", "cbc"))
PRINTED_COLUMNS = 1_000  # Up to this many columns of `printed` a suite solves P as printed
VERSION = "1"  # Version of everything that can change an answer; part of the key of stored results


def crosscheck(
    instance: Instance, *, effort: int = 1, seconds: float | None = None, tell: Callable[[str], None] = lambda _: None
) -> CrossCheck:
    """Solve P in every formulation with every solver that goes with it, and compare the answers.

    `effort`: units of work for each solver, >= 1; tiny instances are solved to the end, whatever it is.
    """
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
    """Solve one formulation with one solver, without a start, exactly as the model was built."""
    size = registry()[pair.formulation].columns(instance)
    if size > BUILD_COLUMNS:
        message = f"not built, {size} columns are more than {BUILD_COLUMNS}"
        return CrossCheckRow(SolverAnswer(*pair, "", Termination.MEMORY, message=message))
    work = effort * EFFORTS.get(pair.backend, 1) if seconds is None and size > TINY_COLUMNS else None
    limits = Limits(work=work, seconds=seconds)
    found = solve_direct(instance, registry()[pair.formulation], pair.backend, limits, _checked(instance))
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
    spent = report.seconds
    if certificate is None:
        message = report.message or "no certificate was found"
        return CrossCheckRow(
            SolverAnswer(CERTIFIED, NO_BACKEND, "", Termination.NONE, solve_seconds=spent, message=message)
        )
    verdict = verify(instance, document(certificate))
    status = Termination.OPTIMAL if certificate.lower == certificate.upper else Termination.LIMIT
    answer = SolverAnswer(
        CERTIFIED,
        NO_BACKEND,
        "checked in integers",
        status if verdict.valid else Termination.ERROR,
        bound=float(certificate.upper),
        value=float(certificate.lower),
        verified=certificate.lower if verdict.valid else None,
        solve_seconds=spent,
        message=verdict.problem,
    )
    return CrossCheckRow(answer, certificate.upper, verdict.valid)


def _checked(instance: Instance) -> Callable[[Solution], tuple[int | None, str]]:
    def verified(solution: Solution) -> tuple[int | None, str]:
        report = check(instance, solution)
        return (report.welfare, "") if report.valid else (None, str(report.violations[0]))

    return verified
