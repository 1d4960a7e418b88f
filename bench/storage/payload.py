"""Reports and runs as JSON values, and back."""

from __future__ import annotations

from collections.abc import Mapping
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
    return {
        "status": report.status.value,
        "lower": json_number(report.lower),
        "upper": json_number(report.upper),
        "proof": report.proof.value,
        "formulation": report.formulation,
        "backend": report.backend,
        "termination": report.termination.value,
        "time_limited": report.time_limited,
        "seconds": round(report.seconds, 6),
        "work": dict(report.work),
        "message": report.message,
        "solver": None if report.solver is None else report.solver.document(),
    }


def json_number(value: Exact) -> int | str:
    """An integer, or a fraction in a string."""
    return int(value) if value == int(value) else str(value)


def read_exact(value: int | str) -> Exact:
    return value if isinstance(value, int) else Fraction(value)


def restore_report(piece: StoredResult, solution: Any) -> SolveReport:
    values = dict(piece.payload)
    return SolveReport(
        **values
        | {
            "status": Status(values["status"]),
            "proof": Proof(values["proof"]),
            "termination": Termination(values["termination"]),
            "lower": read_exact(values["lower"]),
            "upper": read_exact(values["upper"]),
            "solution": solution,
            "solver": SolverAnswer.from_document(values["solver"]) if values.get("solver") else None,
        }
    )


def run_payload(run: OnlineRun, accounts: Mapping[str, Exact] | None = None) -> dict[str, Any]:
    """An online run without decisions and trace, with its accounts."""
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
