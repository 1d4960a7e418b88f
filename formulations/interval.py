"""An interval on OPT while a solve closes it: the best verified solution, the bounds that stand, what was dropped."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeVar

from ratiobench.formulations.report import Exact, Proof

Value = TypeVar("Value", int, Fraction)


@dataclass(slots=True)
class Interval(Generic[Value]):
    """The best verified solution and the best proved bound so far, of an objective of which the most is best.

    A family whose least is best keeps the interval of its negated objective.
    """

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

    @property
    def upper(self) -> Value:
        """The least of the bounds that stand."""
        return min(upper for upper, _ in self.bounds)

    @property
    def proof(self) -> Proof:
        """Of the least bound; of equal ones, of the first."""
        return min(self.bounds, key=lambda bound: bound[0])[1]

    def offer(self, solution: Any, source: str) -> bool:
        """Take the solution if it is valid and better; say so, and return False, if it is not valid.

        A bound below it, which was taken when no such solution was known, is wrong: it is dropped and told, and the
        next one stands.
        """
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


def seconds_left(seconds: float | None, began: float) -> float | None:
    """Seconds left of a limit since a moment of `time.perf_counter`; None where there is no limit."""
    return None if seconds is None else max(0.0, seconds - (time.perf_counter() - began))
