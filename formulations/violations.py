"""What the exact checks of all families report."""

from __future__ import annotations

from typing import NamedTuple


class ConstraintViolation(NamedTuple):
    """One violated constraint, and the number of the task, job or user (`noun`) that breaks it; None for the whole."""

    rule: str
    task: int | None
    detail: str
    noun: str = "task"

    def __str__(self) -> str:
        where = "" if self.task is None else f"{self.noun} {self.task}: "
        return f"({self.rule}) {where}{self.detail}"
