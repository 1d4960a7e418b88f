"""What a solve says (an interval on OPT, its solution, its proof), and what an exact check says against a solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from ratiobench.instances.io.display import format_number, make_html
from ratiobench.instances.io.errors import make_printable

Exact = int | Fraction  # A figure of a solution: an integer, or a fraction where the family's objective is one


class Status(StrEnum):
    """Whether OPT is known exactly; the end of the solver's own work is `Termination`."""

    OPTIMAL = "optimal"  # lower = upper
    INTERVAL = "interval"  # lower < upper, both proved


class Proof(StrEnum):
    """Where the upper end of the interval comes from."""

    # What nothing can exceed without a look at what is shared: each task alone on an empty cluster, in integers
    TRIVIAL = "trivial"
    # Dual prices of what is shared, and the exact best of every task at these prices: weak duality in integers
    LAGRANGIAN = "lagrangian"
    BRANCH_AND_BOUND = "branch-and-bound"  # The bound that a MIP solver reports, in its floating-point arithmetic
    CP_SAT = "cp-sat"  # The bound that CP-SAT reports, in integers
    ENUMERATION = "enumeration"  # Every combination of schedules was looked at
    DYNAMIC_PROGRAMMING = "dynamic-programming"  # The best of every set of arrivals, from those of smaller sets
    # A certificate that somebody has shipped; the independent checker has recomputed all of it here
    CERTIFICATE = "certificate, verified"
    THEOREM = "theorem"  # A rule that is proved to be best, in a paper that the family names


class Termination(StrEnum):
    """How a backend's solve ended, in the backend's own view; never taken for a proof by itself."""

    OPTIMAL = "optimal"
    LIMIT = "limit"  # A work, node or time limit was reached; an incumbent and a bound may exist
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIMEOUT = "timeout"  # The worker process did not answer in time and was killed
    MEMORY = "memory"  # The worker process reached its memory limit
    CRASH = "crash"  # The worker process died
    ERROR = "error"  # The backend raised an error; the message says which
    UNAVAILABLE = "unavailable"  # The solver is not installed
    NONE = "none"  # No backend was involved


_IN_DOCUMENTS = {"bound": "solver_bound", "value": "solver_value"}
_ANSWERS = (Termination.OPTIMAL, Termination.LIMIT, Termination.INFEASIBLE, Termination.UNBOUNDED)
NO_BACKEND = "none"  # The name that asks for no solver
UNLIMITED = 1_000_000  # An effort that nobody waits for: go on until the seconds end


class ConstraintViolation(NamedTuple):
    """One violated constraint, and the number of the task, job or user (`noun`) that breaks it; None for the whole."""

    rule: str
    task: int | None
    detail: str
    noun: str = "task"

    def __str__(self) -> str:
        where = "" if self.task is None else f"{self.noun} {self.task}: "
        return f"({self.rule}) {where}{self.detail}"


class Certificate(Protocol):
    """What proves an interval on OPT to an independent checker; the rest of it is the family's own."""

    @property
    def lower(self) -> Exact: ...  # of its solution, in the family's unit
    @property
    def upper(self) -> Exact: ...  # a bound on OPT


def solver_number(value: float) -> str:
    """A floating-point figure as a solver states it: thousands apart, at most six decimals."""
    value += 0.0  # no -0
    return f"{value:,.6f}".rstrip("0").rstrip(".") if abs(value) < 1e15 else f"{value:.6g}"


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """The answer of one solver for one formulation, as the solver states it, and the exact value of its solution."""

    formulation: str
    backend: str
    solver: str  # its version; empty where it is not known
    status: Termination
    bound: float | None = None  # its upper bound on the optimum; None where it states none
    value: float | None = None  # the objective of its solution; None where it states none
    verified: Exact | None = None  # value by the family's exact check; None where there is no valid solution
    columns: int = 0  # columns, rows: of the model that it was given; 0 where none was built
    rows: int = 0
    build_seconds: float = 0.0  # wall time, for information
    solve_seconds: float = 0.0
    message: str = ""  # one line: what went wrong, or why the bound is not believed
    objective: str = ""  # what bound and value are of, where that is not the family's objective

    @property
    def answered(self) -> bool:
        """The solver ended by itself and stated something that can be compared with other answers."""
        stated = any(figure is not None for figure in (self.bound, self.value, self.verified))
        return self.status in _ANSWERS and (stated or self.status is not Termination.LIMIT)

    def document(self) -> dict[str, Any]:
        values = {_IN_DOCUMENTS.get(name, name): value for name, value in asdict(self).items()}
        values |= {name: round(values[name], 6) for name in ("build_seconds", "solve_seconds")}
        values["status"] = self.status.value
        if not isinstance(self.verified, int | None):
            values["verified"] = str(self.verified)
        if not self.objective:
            del values["objective"]
        return values

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> SolverAnswer:
        known = dict(values)
        known["status"] = Termination(known["status"])
        known["bound"], known["value"] = known.pop("solver_bound"), known.pop("solver_value")
        if isinstance(known["verified"], str):
            known["verified"] = Fraction(known["verified"])
        return cls(**known)

    def text(self) -> str:
        words = [self.status.value]
        words += [] if self.bound is None else [f"bound {solver_number(self.bound)}"]
        words += [] if self.value is None else [f"value {solver_number(self.value)}"]
        words += [] if self.verified is None else [f"verified {format_number(self.verified)}"]
        words += ["no solution"] if self.value is None and self.verified is None else []
        words += [f"of {self.objective}"] if self.objective else []
        size = f" ({self.columns:,} columns, {self.rows:,} rows)" if self.columns else ""
        return f"{self.formulation} / {self.backend} {self.solver}".rstrip() + f": {', '.join(words)}{size}"


@dataclass(frozen=True, slots=True)
class SolveReport:
    """An interval on OPT with both proofs.

    Parameters
    ----------
    status : optimal when lower = upper.
    lower : value, in the family's unit, of `solution`, which the family's exact check has verified.
    upper : a proved upper bound on OPT, in the same unit.
    solution : the family's solution that attains `lower`.
    proof : source of `upper`.
    formulation, backend : as asked for or chosen by size; backend `none` where no solver was used.
    termination : how the backend ended.
    time_limited : a limit in seconds, not in work, may have decided the figures.
    seconds : wall time, for information.
    work : counts (solver nodes, iterations, passes, ...), the deterministic measure of effort.
    message : one line more, where something went wrong.
    certificate : proves `lower` and an upper bound, not always the least one known, without trust in this code; None
        where no part of the solve gives one.
    trail : (seconds since the start, lower, upper) whenever one of the ends moved, for information.
    solver : the answer of the solver itself, beside what was proved without it; None where no solver ran.
    """

    status: Status
    lower: Exact
    upper: Exact
    solution: Any
    proof: Proof
    formulation: str
    backend: str
    termination: Termination
    time_limited: bool
    seconds: float
    work: Mapping[str, int] = field(default_factory=dict)
    message: str = ""
    certificate: Certificate | None = field(default=None, repr=False)
    trail: Sequence[tuple[float, Exact, Exact]] = field(default=(), repr=False)
    solver: SolverAnswer | None = None

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise AssertionError(
                f"lower {self.lower} > upper {self.upper} ({self.formulation}, {self.backend}, {self.proof}): "
                "a bound or a verification is wrong"
            )
        if (self.lower == self.upper) != (self.status is Status.OPTIMAL):
            raise AssertionError(f"status {self.status} with lower {self.lower} and upper {self.upper}")

    def __repr__(self) -> str:
        formulation = make_printable(self.formulation, 40)
        return f"<SolveReport {self.interval}, proof {self.proof} ({formulation} / {self.backend})>"

    @property
    def interval(self) -> str:
        """The interval on OPT in words, rounded outward."""
        if self.lower == self.upper:
            more = "..." if (1000 * Fraction(self.lower)).denominator > 1 else ""
            return f"OPT = {format_number(self.lower)}{more}"
        width = self.upper - self.lower
        gap = f", gap {100 * float(Fraction(width) / abs(Fraction(self.upper))):.3g} %" if self.upper else ""
        return f"OPT in [{format_number(self.lower)}, {format_number(self.upper, up=True)}]{gap}"

    def _repr_html_(self) -> str:
        facts = {
            "proof": f"{self.proof}, {self.formulation} / {self.backend}",
            "at least": self.lower,
            "at most": self.upper,
            "time-limited": "yes" if self.time_limited else "no",
            "seconds": f"{self.seconds:.3f}",
            **({"solver": self.solver.text()} if self.solver else {}),
            **({"message": self.message} if self.message else {}),
        }
        return make_html(self.interval, facts)
