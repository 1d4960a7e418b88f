"""Decisions for the tasks of an instance, and their file form ``{"decisions": [null | {...}, ...]}``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import msgspec

from ratiobench.instances.io.documents import Part, Signed, convert
from ratiobench.instances.io.files import load_json, read_bytes

# No payment is larger, nor that much below 0: a task has one cell per slot (4b) of 10^4, of cost -2^40..2^40 each; its
# bid and its vendor's price are at most 2^40; so any sum that payment rules charge is within (10^4 + 2) 2^40 < 2^54.
PAYMENT_LIMIT = 2**54


class Decision(NamedTuple):
    """An admitted task's schedule and charge."""

    vendor: int | None  # 0-based index into the task's vendors; None exactly when it has none
    cells: tuple[tuple[int, int], ...]  # (node, slot) pairs in slot order; nodes from 0, slots from 1
    payment: int | None = None  # micro-dollars; None for an algorithm without a payment rule


Solution = tuple[Decision | None, ...]


class DecisionDocument(Part, frozen=True):
    vendor: Signed | None
    cells: tuple[Annotated[tuple[Signed, Signed], msgspec.Meta(title="[node, slot]")], ...]
    payment: Annotated[int, msgspec.Meta(ge=-PAYMENT_LIMIT, le=PAYMENT_LIMIT)] | None = None


class SolutionDocument(msgspec.Struct):  # further keys, as `opt --json` prints, are ignored
    decisions: list[DecisionDocument | None]


def solution_document(solution: Solution) -> dict[str, Any]:
    rows = (None if each is None else each._asdict() | {"cells": list(map(list, each.cells))} for each in solution)
    return {"decisions": list(rows)}


def read_solution(path: str | os.PathLike[str]) -> Solution:
    data, source = read_bytes(path)
    return parse_solution(load_json(data, source), source)


def parse_solution(data: Any, source: str) -> Solution:
    return make_solution(convert(data, SolutionDocument, source).decisions)


def make_solution(decisions: Iterable[DecisionDocument | None]) -> Solution:
    return tuple(None if each is None else Decision(each.vendor, each.cells, each.payment) for each in decisions)
