"""The answers of several solvers for one instance, contradicted by exact facts only: values of verified solutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiobench.formulations.report import SolverAnswer, Termination, solver_number
from ratiobench.instances.io.display import format_number

# Relative difference up to which a stated value counts as that of the solution: solvers add in floating point
VALUE_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class CrossCheckRow:
    """An answer with the bound that follows from it."""

    answer: SolverAnswer
    # upper bound on OPT that follows from what the solver states, believed or not, in the unit of the objective,
    # rounded safely; None where it states none.
    bound: int | None = None
    certified: bool = False  # the row is an interval that needs no solver's word, checked by the independent checker

    def document(self) -> dict[str, Any]:
        return self.answer.document() | {"bound": self.bound}

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> CrossCheckRow:
        answer = {name: value for name, value in values.items() if name != "bound"}
        return cls(SolverAnswer.from_document(answer), values["bound"])


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """The rows, and which of them differ."""

    rows: Sequence[CrossCheckRow]  # one for each formulation and solver, the certified interval last
    differs: Sequence[str]  # for each row why it is wrong, in a sentence; empty where it agrees or gave no answer
    # lower, upper: the best verified value, and the least bound of the rows that agree; None where there is none.
    lower: int | None
    upper: int | None

    @property
    def agree(self) -> bool:
        """Every row has an answer, and none is contradicted."""
        return not any(self.differs) and all(row.answer.answered for row in self.rows)

    @property
    def verdict(self) -> str:
        """``all agree``, or the rows that differ or, where none does, that gave no answer; `differs` says why."""
        names = [_name(row) for row, why in zip(self.rows, self.differs, strict=True) if why]
        if names:
            return f"{', '.join(names)} differ{'s' * (len(names) == 1)}"
        names = [_name(row) for row in self.rows if not row.answer.answered]
        if names:
            answered = f"{self.answered()} of {len(self.rows)} rows answer, and do not differ"
            return f"{answered}; no answer: {', '.join(names)}"
        return "all agree"

    def optimal(self) -> int:
        """Count the rows that end as optimal, with a verified solution, and are not contradicted."""
        return sum(
            row.answer.status is Termination.OPTIMAL and row.answer.verified is not None and not why
            for row, why in zip(self.rows, self.differs, strict=True)
        )

    def answered(self) -> int:
        return sum(row.answer.answered for row in self.rows)

    def documents(self) -> list[dict[str, Any]]:
        return [
            row.document()
            | {"certified": row.certified, "agrees": not why if row.answer.answered else None, "reason": why}
            for row, why in zip(self.rows, self.differs, strict=True)
        ]


def compare_answers(rows: Sequence[CrossCheckRow], lower: int | None = None, upper: int | None = None) -> CrossCheck:
    verified = [(row.answer.verified, _name(row)) for row in rows if row.answer.verified is not None]
    if lower is not None:
        verified.append((lower, "the certified interval"))
    best, owner = max(verified, key=lambda each: each[0]) if verified else (None, "")
    differs = [_contradiction(row, best, owner, upper) for row in rows]
    bounds = [row.bound for row, why in zip(rows, differs, strict=True) if row.bound is not None and not why]
    if upper is not None:
        bounds.append(upper)
    return CrossCheck(rows, differs, None if best is None else int(best), min(bounds, default=None))


def _name(row: CrossCheckRow) -> str:
    return f"{row.answer.formulation} / {row.answer.backend}"


def _contradiction(row: CrossCheckRow, best: Any, owner: str, upper: int | None) -> str:
    """Why the row is wrong; empty where nothing contradicts it."""
    answer, optimal = row.answer, row.answer.status is Termination.OPTIMAL
    if not answer.answered:
        return ""
    if answer.status in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        return f"says {answer.status}, and P is neither: it may reject every task, and tasks are finite"
    if answer.value is not None:
        says = f"says {solver_number(answer.value)}, but"
        if answer.verified is None:
            return f"{says} {answer.message or 'no valid solution has this value'}"
        if abs(answer.value - float(answer.verified)) > 0.5 + VALUE_SLACK * abs(answer.value):
            return f"{says} its solution is worth {format_number(answer.verified)} by the exact check"
    if best is not None:
        better = f"{owner} has a verified solution of {format_number(best)}"
        if optimal and row.bound is None and (answer.verified is None or answer.verified < best):
            return f"says optimal without a bound, but {better}"
        if optimal and answer.verified is not None and answer.verified < best <= (row.bound or best):
            return f"calls {format_number(answer.verified)} optimal, but {better}"
        if row.bound is not None and row.bound < best:
            bound = format_number(row.bound)
            return f"calls {bound} optimal, but {better}" if optimal else f"states the bound {bound}, but {better}"
    if upper is not None and answer.verified is not None and answer.verified > upper:
        proved = format_number(upper)
        return f"has a verified solution of {format_number(answer.verified)}, above the proved bound {proved}"
    return ""
