"""Reports and runs as JSON values, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ratiobench.formulations.report import Exact, Proof, SolverAnswer, SolveReport, Status, Termination
from ratiobench.instances.io.errors import make_printable

if TYPE_CHECKING:
    from ratiobench.bench.storage.store import StoredResult
    from ratiobench.online.outcome import OnlineRun


def format_error(error: BaseException | str, limit: int = 300) -> str:
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return make_printable(text, limit)


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


_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "status": Status, "proof": Proof, "termination": Termination, "lower": read_exact, "upper": read_exact,
}  # fmt: skip


def restore_report(piece: StoredResult, solution: Any) -> SolveReport:
    values: dict[str, Any] = {**piece.payload, "solution": solution}
    values |= {name: kind(values[name]) for name, kind in _KINDS.items()}
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
        "constants": [
            {"name": c.name, "value": str(c.value), "source": c.source.value, "detail": c.detail} for c in run.constants
        ],
        "arithmetic": run.arithmetic,
        "counts": dict(run.counts),
        "seconds": round(run.seconds, 6),
    }
