"""What a store holds of a piece of work, as JSON values: how it is written, and a type for each stage that reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct

from ratiobench.bench.family.checks import Verdict
from ratiobench.formulations.report import Exact, Proof, SolverAnswer, SolveReport, Status, Termination
from ratiobench.instances.io.documents import convert
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.online.outcome import Source
from ratiobench.online.remarks import Remarks

if TYPE_CHECKING:
    from ratiobench.bench.storage.store import StoredCase, StoredResult
    from ratiobench.online.outcome import OnlineRun

_LARGEST = 2**100  # No value of a solution is larger: far above what sums of any format's numbers can be
_FRACTION = r"^-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?$"


def format_error(error: BaseException | str) -> str:
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return make_printable(text, 300)


def report_payload(report: SolveReport) -> dict[str, Any]:
    names = ("status", "lower", "upper", "proof", "formulation", "backend", "termination", "time_limited", "seconds")
    values = {name: getattr(report, name) for name in (*names, "work", "message")}
    values |= {"lower": json_number(report.lower), "upper": json_number(report.upper)}
    values |= {"seconds": round(report.seconds, 6), "work": dict(report.work)}
    return values | {"solver": None if report.solver is None else report.solver.document()}


def json_number(value: Exact) -> int | str:
    return int(value) if value == int(value) else str(value)


def read_exact(value: int | str) -> Exact:
    return value if isinstance(value, int) else Fraction(value)


def restore_report(piece: StoredResult, solution: Any) -> SolveReport:
    values: dict[str, Any] = {**piece.payload, "solution": solution}
    kinds: dict[str, Callable[[Any], Any]] = {"status": Status, "proof": Proof, "termination": Termination}
    values |= {name: kind(values[name]) for name, kind in kinds.items()}
    values |= {end: read_exact(values[end]) for end in ("lower", "upper")}
    solver = values.get("solver")
    return SolveReport(**values | {"solver": SolverAnswer.from_document(solver) if solver else None})


def run_payload(run: OnlineRun, accounts: Mapping[str, Exact] | None = None) -> dict[str, Any]:
    extra = {} if accounts is None else {"accounts": {name: json_number(value) for name, value in accounts.items()}}
    return extra | {
        "algorithm": run.algorithm,
        "label": run.label,
        "remarks": run.remarks.document(),
        "version": run.version,
        "valid": run.valid,
        "violations": [str(violation) for violation in run.violations],
        "welfare": json_number(run.welfare),
        "true_welfare": json_number(run.true_welfare),
        "revenue": None if run.revenue is None else json_number(run.revenue),
        "admitted": run.admitted,
        "constants": msgspec.to_builtins(list(run.constants), enc_hook=str),
        "arithmetic": run.arithmetic,
        "counts": dict(run.counts),
        "seconds": round(run.seconds, 6),
    }


# What is read: a type for each stage, which validates the content before tables are made of it
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Signed = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Double = Annotated[float, Meta(ge=-1e308, le=1e308)]
Figure = int | Annotated[str, Meta(pattern=_FRACTION, title='a fraction "p/q"')]


class Failed(Struct):
    reason: str


class Made(Struct):
    pass


class Opt(Struct):
    lower: Fraction
    upper: Fraction
    proof: str
    formulation: str
    backend: str
    time_limited: bool
    solver: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise InputError("", "lower", f"{shorten(self.lower)} is above the upper end {shorten(self.upper)}")


class Answer(Struct, omit_defaults=True):  # `CrossCheckRow`
    formulation: str
    backend: str
    solver: str
    status: Termination
    solver_bound: Double | None
    solver_value: Double | None
    verified: Figure | None
    columns: Count
    rows: Count
    build_seconds: Seconds
    solve_seconds: Seconds
    message: str
    bound: int | None
    objective: str = ""


class Solvers(Struct):
    answers: list[Answer]


class Constant(Struct):
    name: str
    value: str
    source: Source
    detail: str


class Accounts(Struct):  # bids - vendors - energy is the value of the run's solution
    vendors: Fraction
    energy: Fraction
    bids: Fraction


class Online(Struct):
    algorithm: str
    label: str
    remarks: Remarks
    valid: bool
    violations: list[str]
    welfare: Fraction
    true_welfare: Fraction
    revenue: Fraction | None
    admitted: Count
    constants: list[Constant]
    counts: dict[str, Signed]
    arithmetic: str
    seconds: Seconds | None  # None of a run that is stored with a standard set
    accounts: Accounts | None = None

    def __post_init__(self) -> None:
        if self.valid == bool(self.violations):
            raise InputError("", "valid", f"{shorten(self.valid)} with {len(self.violations)} violations")
        spent = self.accounts
        if spent is not None and spent.bids - spent.vendors - spent.energy != self.welfare:
            raise InputError("", "accounts", "bids - vendors - energy is not the welfare")


class Check(Struct):
    name: str
    status: Verdict
    left: Figure | None
    right: Figure | None
    reason: str
    figures: dict[str, Any]
    failing: list[str] | None = None


class Audit(Struct):
    checks: list[Check]
    measures: dict[str, Figure | None] = {}


class Study(Struct):
    rows: list[dict[str, Any]]


Piece = Failed | Made | Opt | Solvers | Online | Audit | Study
_STAGES: Mapping[str, type[Piece]] = {
    "generate": Made, "opt": Opt, "solvers": Solvers, "online": Online, "audit": Audit, "study": Study,
}  # fmt: skip


def read_piece(piece: StoredResult, store: Path, case: StoredCase, *, whole: bool = False) -> Piece:
    """The content of a piece, as `run` writes it; `whole`: values must be integers."""

    def decode(_: Any, value: Any) -> Fraction:
        text = isinstance(value, str) and not whole and re.fullmatch(_FRACTION, value)
        if not (text or type(value) is int) or abs(number := Fraction(value)) > _LARGEST or str(number) != str(value):
            raise InputError("", "", f"{shorten(value)} is not {'an integer' if whole else 'a figure'} in its range")
        return number

    where = f"case {shorten(case.name)}, {piece.stage}"
    content = convert(piece.payload, _STAGES[piece.stage] if piece.ok else Failed, str(store), where, decode)
    if isinstance(content, Online):
        if not f"{piece.key} ".startswith(f"{content.algorithm} "):
            problem = f"{shorten(content.algorithm)} is not the one of its key {shorten(piece.key)}"
            raise InputError(str(store), f"{where}.algorithm", problem)
        tasks = case.describe.get("tasks")
        if type(tasks) is int and content.admitted > tasks:
            raise InputError(str(store), f"{where}.admitted", f"{content.admitted} of {tasks} tasks")
    return content
