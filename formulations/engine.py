"""The frame of every family's `solve`: names and settings, the interval while it is narrowed, the report."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeVar

from ratiobench.formulations import backends
from ratiobench.formulations.backends import BackendResult, Limits
from ratiobench.formulations.report import (
    NO_BACKEND,
    Certificate,
    Exact,
    Proof,
    SolverAnswer,
    SolveReport,
    Status,
    Termination,
)
from ratiobench.instances.io.errors import InputError, require_known, shorten

Value = TypeVar("Value", int, Fraction)


def check_settings(effort: int, gap: float, seconds: float | None) -> None:
    if isinstance(effort, bool) or not isinstance(effort, int) or effort < 1:
        raise InputError("", "effort", f"{shorten(effort)} is not a positive integer")
    if not 0.0 <= gap < 1.0:
        raise InputError("", "gap", f"{shorten(gap)} is not in [0, 1)")
    if seconds is not None and not 0.0 < seconds < math.inf:
        raise InputError("", "seconds", f"{shorten(seconds)} is not a positive number")


def choose(
    allowed: Mapping[str, Sequence[str]], formulation: str, backend: str, automatic: Callable[[str], str | None]
) -> tuple[str, str]:
    """Check the names of a formulation and a backend; `automatic`: what ``auto`` stands for, None for bounds alone."""
    require_known(formulation, ("auto", *allowed), "", "formulation")
    require_known(backend, ("auto", NO_BACKEND, *backends.backends()), "", "backend")
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


def require_columns(name: str, columns: int, most: int, smaller: Sequence[str] = ()) -> None:
    """Refuse to write a model with too many columns; `smaller`: formulations with fewer."""
    if columns > most:
        other = f"with --formulation {' or '.join(smaller)}, or " if smaller else ""
        problem = (
            f"{name} would have {columns:,} columns; at most {most:,} are written: export {other}a part of the load; "
            "`opt` encloses OPT of all of it without such a model"
        )
        raise InputError("", "formulation", problem)


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
    """The seconds of a solve, without those that are needed once per process."""

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
class SolveInterval(Generic[Value]):
    """An interval on OPT while a solve narrows it; where the least is best, of the negated objective (see `report`)."""

    # a solution's value, or the first constraint that it breaks; the family's exact check.
    verify: Callable[[Any], tuple[Value | None, str]]
    objective: str  # what the value is called in notes
    began: float  # when the clock of the trail started
    lower: Value  # its value, or what is taken for it before there is a solution
    solution: Any = None  # the best one; None before the first, unless `lower` is its value
    bounds: list[tuple[Value, Proof]] = field(default_factory=list)  # (upper bound, proof), those that stand
    work: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    trail: list[tuple[float, Exact, Exact]] = field(default_factory=list)
    gap: float = 0.0  # gap, seconds: as for a family's `solve`
    seconds: float | None = None
    termination: Termination = Termination.NONE  # how the last call of a solver ended
    answer: SolverAnswer | None = None  # of the solver, as it states it
    used: str = NO_BACKEND  # the solver that was called last

    @property
    def upper(self) -> Value:
        """The least of the bounds that stand."""
        return min(upper for upper, _ in self.bounds)

    @property
    def proof(self) -> Proof:
        """Of the least bound; of equal ones, of the first."""
        return min(self.bounds, key=lambda bound: bound[0])[1]

    def offer(self, solution: Any, source: str) -> bool:
        """Take the solution if it is valid and better; a bound below it is wrong: it is dropped and told."""
        value, problem = self.verify(solution)
        if value is None:
            self.notes.append(f"{source}: dropped, it breaks {problem}")
            return False
        if self.solution is None or value > self.lower:
            self.solution, self.lower = solution, value
            for bound in [bound for bound in self.bounds if bound[0] < self.lower]:
                self.bounds.remove(bound)
                self._refuted(*bound)
            self._mark()
        return True

    def bound(self, upper: Value, proof: Proof) -> None:
        """Take the bound if it is less; one below a verified solution is wrong, and is dropped and told."""
        if self.solution is not None and upper < self.lower:
            self._refuted(upper, proof)
            return
        less = not self.bounds or upper < self.upper
        self.bounds.append((upper, proof))
        if less:
            self._mark()

    def within(self, gap: float) -> bool:
        """Is (upper - lower) / |upper| <= gap?"""
        return self.upper - self.lower <= Fraction(gap) * abs(self.upper)

    def _refuted(self, upper: Value, proof: Proof) -> None:
        bound, value = (figure if isinstance(figure, int) else float(figure) for figure in (upper, self.lower))
        self.notes.append(f"{proof}: bound {bound} dropped, it is below the verified {self.objective} {value}")

    def _mark(self) -> None:
        if self.solution is not None and self.bounds:
            self.trail.append((time.perf_counter() - self.began, self.lower, self.upper))

    def left(self) -> float | None:
        return None if self.seconds is None else max(0.0, self.seconds - (time.perf_counter() - self.began))

    def over(self) -> bool:
        return self.left() == 0.0

    def done(self) -> bool:
        return self.within(self.gap) or self.over()

    def count(self, what: str, amount: int) -> None:
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
