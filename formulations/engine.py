"""The frame of every family's `solve`: names and settings, the interval while it is narrowed, the report.

A family's `solve` chooses a formulation (`choose`), makes a `SolveInterval` of the instance, calls its own steps as
long as the interval is not closed, and gives the `report`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ratiobench.formulations import backends
from ratiobench.formulations.backends import BackendResult, Limits
from ratiobench.formulations.interval import Interval, Value, seconds_left
from ratiobench.formulations.report import Certificate, Proof, SolverAnswer, SolveReport, Status, Termination
from ratiobench.formulations.settings import NO_BACKEND, check_backend, too_many_columns
from ratiobench.instances.io.errors import InputError, require_known, shorten


def choose(
    allowed: Mapping[str, Sequence[str]], formulation: str, backend: str, automatic: Callable[[str], str | None]
) -> tuple[str, str]:
    """Check the names of a formulation and a backend, and choose what was left to choose.

    `automatic`: (backend): the formulation that ``auto`` stands for; None: bounds and heuristics alone.
    """
    require_known(formulation, ("auto", *allowed), "", "formulation")
    check_backend(backend)
    if formulation == "auto":
        chosen = automatic(backend)
        if chosen is None:
            return "auto", NO_BACKEND
        formulation = chosen
    able = backends.with_plugins(allowed[formulation])
    if backend == "auto":
        backend = able[0]
    if backend not in able:
        raise InputError("", "backend", f"{formulation} goes with {' or '.join(able)}, not {backend}")
    return formulation, backend


def list_formulations(
    allowed: Mapping[str, Sequence[str]], summaries: Mapping[str, str], automatic: str
) -> list[tuple[str, str]]:
    """Name and summary of every formulation, with the backends that it goes with; then what ``auto`` chooses."""
    listed = [(name, f"{summary} [{', '.join(allowed[name])}]") for name, summary in summaries.items()]
    return [*listed, ("auto", automatic)]


def choose_export(kind: str, formulation: str, default: str, names: Sequence[str]) -> str:
    """Check the format and the formulation of a model that is to be written; ``auto`` stands for the default."""
    if kind not in ("mps", "lp"):
        raise InputError("", "format", f"{shorten(kind)} is not one of mps, lp")
    require_known(formulation, ("auto", *names), "", "formulation")
    return default if formulation == "auto" else formulation


def require_columns(name: str, columns: int, most: int) -> None:
    """Refuse to write a model with too many columns."""
    if columns > most:
        raise InputError("", "formulation", too_many_columns(name, columns, most))


def make_verify(
    check: Callable[[Any, Any], Any], instance: Any, *, negated: bool = False
) -> Callable[[Any], tuple[Any, str]]:
    """What an interval asks of a solution: its value by the family's exact check, or the first rule that it breaks."""

    def verify(solution: Any) -> tuple[Any, str]:
        report = check(instance, solution)
        if report.value is None:
            return None, str(report.violations[0])
        return -report.value if negated else report.value, ""

    return verify


class Clock:
    """The seconds of a solve, without those that are needed once per process.

    `began`: the moment of `time.perf_counter` from which they count.
    """

    def __init__(self) -> None:
        self.began = time.perf_counter()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Excludes what is done inside: compilation, starting a solver."""
        before = time.perf_counter()
        yield
        self.began += time.perf_counter() - before

    def start_solvers(self, names: Iterable[str]) -> None:
        """Start the processes of solvers, outside the solve's seconds; `NO_BACKEND` is none."""
        with self.stopped():
            for name in set(names) - {NO_BACKEND}:
                backends.start_worker(name)


@dataclass
class SolveInterval(Interval[Value]):
    """An interval on OPT while a solve narrows it; a family adds the steps.

    A family whose least is best keeps the interval of its negated objective (`report` turns it round).
    """

    gap: float = 0.0  # gap, seconds: as for a family's `solve`
    seconds: float | None = None
    termination: Termination = Termination.NONE  # how the last call of a solver ended
    answer: SolverAnswer | None = None  # of the solver, as it states it
    used: str = NO_BACKEND  # the solver that was called last

    def left(self) -> float | None:
        """Seconds left; None where there is no limit."""
        return seconds_left(self.seconds, self.began)

    def over(self) -> bool:
        """Is the time over?"""
        return self.left() == 0.0

    def done(self) -> bool:
        """Is the gap reached, or the time over?"""
        return self.within(self.gap) or self.over()

    def count(self, what: str, amount: int) -> None:
        """Add work to the report's."""
        self.work[what] = self.work.get(what, 0) + amount

    def close(self, name: str, proof: Proof, optimum: Callable[[], tuple[Value, Any]]) -> None:
        """Close the interval by an exact method; a note says why where the instance is too large for it."""
        try:
            value, solution = optimum()
        except ValueError as error:
            self.notes.append(f"{name}: {error}")
            return
        if solution is not None:
            self.offer(solution, name)
        self.bound(value, proof)

    def build(self, solver: str, function: str, *arguments: Any) -> Any:
        """The model that a function makes in the solver's process; None, with a note why, where it could not."""
        reply = backends.call(solver, function, *arguments)
        if reply.termination is None:
            return reply.value
        self.used, self.termination = solver, reply.termination
        self.notes.append(reply.message)
        return None

    def call_solver(
        self,
        solver: str,
        model: Any,
        name: str,
        work: int | None,
        *,
        gap: float = 0.0,
        start: Any = None,
        sign: int = 1,
        objective: str = "",
    ) -> BackendResult:
        """Have a model solved in the time that is left; note how that ended, what was answered, and the work."""
        left = self.left()
        limits = Limits(work=work, gap=gap, seconds=None if left is None else max(0.1, left))
        result = backends.solve(solver, model, limits, start)
        self.used, self.termination = solver, result.termination
        self.answer = backends.make_answer(name, solver, result, model, sign=sign, objective=objective)
        self.count("nodes", result.nodes)
        self.count("iterations", result.iterations)
        if result.message:
            self.notes.append(result.message)
        return result

    def certificate(self) -> Certificate | None:
        """What proves the interval; None where nothing does, or where its bound was dropped as wrong."""
        return None

    def report(self, formulation: str, *, negated: bool = False) -> SolveReport:
        """The report of a finished solve."""
        lower, upper = self.lower, self.upper
        trail = tuple(self.trail)
        if negated:
            lower, upper = -upper, -lower
            trail = tuple((second, -high, -low) for second, low, high in trail)
        called = self.termination not in (Termination.NONE, Termination.UNAVAILABLE)
        return SolveReport(
            status=Status.OPTIMAL if lower == upper else Status.INTERVAL,
            lower=lower,
            upper=upper,
            solution=self.solution,
            proof=self.proof,
            formulation=formulation,
            backend=self.used if called else NO_BACKEND,
            termination=self.termination,
            time_limited=self.seconds is not None or self.termination is Termination.TIMEOUT,
            seconds=time.perf_counter() - self.began,
            work=self.work,
            message="; ".join(self.notes),
            certificate=self.certificate(),
            trail=trail,
            solver=self.answer,
        )
