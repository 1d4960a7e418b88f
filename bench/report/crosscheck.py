"""The rows of a cross-check of solvers as text."""

from __future__ import annotations

from collections.abc import Mapping

from ratiobench.bench.results import ratios
from ratiobench.formulations.crosscheck import CrossCheck
from ratiobench.formulations.report import solver_number
from ratiobench.instances.io.errors import make_printable

# Solvers as their authors write them
NAMES = {"highs": "HiGHS", "cbc": "CBC", "scip": "SCIP", "gurobi": "Gurobi", "cpsat": "CP-SAT"}
SENTENCE = 300  # Characters of a solver's sentence


def crosscheck_lines(crosscheck: CrossCheck) -> list[dict[str, str]]:
    lines = []
    for row, why in zip(crosscheck.rows, crosscheck.differs, strict=True):
        answer = row.answer
        lines.append(
            {
                "Formulation": answer.formulation,
                "Solver": f"{answer.backend} {answer.solver}".strip(),
                "columns": f"{answer.columns:,}" if answer.columns else "-",
                "rows": f"{answer.rows:,}" if answer.rows else "-",
                "build s": f"{answer.build_seconds:.2f}",
                "solve s": f"{answer.solve_seconds:.2f}",
                "Status": answer.status.value,
                "bound": "-" if answer.bound is None else solver_number(answer.bound),
                "value": "-" if answer.value is None else solver_number(answer.value),
                "verified": "-" if answer.verified is None else ratios.format_truncated(answer.verified),
                "Verdict": "differs" if why else "agrees" if answer.answered else "no answer",
            }
        )
    return lines


def answer_lines(crosscheck: CrossCheck, unit: str) -> list[str]:
    """One sentence for each solver's answer for the program as printed, beside the interval on OPT."""
    lines = []
    for row, why in zip(crosscheck.rows, crosscheck.differs, strict=True):
        verdict = f"differs: it {why}" if why else "agrees" if row.answer.answered else row.answer.message
        lines.append(make_printable(f"P as printed, {row.answer.text()} {unit}: {verdict}", SENTENCE))
    return lines


def agreement_text(solvers: Mapping[str, CrossCheck]) -> str:
    if not solvers:
        return ""
    agree = sum(result.agree for result in solvers.values())
    asked = dict.fromkeys(row.answer.backend for result in solvers.values() for row in result.rows)
    named = " and ".join(NAMES.get(name, name) for name in asked)
    proved = sum(result.optimal() == len(result.rows) for result in solvers.values())
    text = (
        f"P as printed, built with PuLP: {named} agree on {agree} of {len(solvers)} cases, and with the interval on OPT"
    )
    return f"{text}; on {proved} both end as optimal."


def interval_of(crosscheck: CrossCheck) -> str:
    """What all rows together say of OPT."""
    if crosscheck.lower is None or crosscheck.upper is None:
        return "no interval on OPT"
    if crosscheck.lower == crosscheck.upper:
        return f"OPT = {ratios.format_truncated(crosscheck.upper)}"
    return f"OPT in [{ratios.format_number(crosscheck.lower)}, {ratios.format_number(crosscheck.upper, up=True)}]"
