"""Decisions for the tasks of an instance, and their file form ``{"decisions": [null | {...}, ...]}``."""

from __future__ import annotations

import os
from itertools import chain
from typing import Any, NamedTuple

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import LIMIT, are_integers, decisions_of, integer, items
from ratiobench.instances.io.files import load_json, read_bytes

# No payment is larger, nor that much below 0. A task has one cell per slot at most (4b), of cost -2^40..2^40 each, and
# the format has at most 10^4 slots: its operation costs less than 2^53.3 either way. Its bid and its vendor's price are
# at most 2^40 each. So what a task costs, its bid, and either with the operation taken off, which is what payment rules
# charge, are within (10^4 + 2) 2^40 < 2^54.
PAYMENT_LIMIT = 2**54


class Decision(NamedTuple):
    """An admitted task's schedule and charge.

    Parameters
    ----------
    vendor : 0-based index into the task's vendors; None exactly when it has none.
    cells : (node, slot) pairs in slot order; nodes from 0, slots from 1.
    payment : charge in micro-dollars, or None for an algorithm without a payment rule.
    """

    vendor: int | None
    cells: tuple[tuple[int, int], ...]
    payment: int | None = None


Solution = tuple[Decision | None, ...]


def solution_document(solution: Solution) -> dict[str, Any]:
    """The solution's JSON document."""
    return {
        "decisions": [
            None
            if decision is None
            else {
                "vendor": decision.vendor,
                "cells": [[node, slot] for node, slot in decision.cells],
                "payment": decision.payment,
            }
            for decision in solution
        ]
    }


def read_solution(path: str | os.PathLike[str]) -> Solution:
    """Read a solution file, of which only the form is checked; further keys, as `opt --json` prints, are ignored."""
    data, source = read_bytes(path)
    return parse_solution(load_json(data, source), source)


def parse_solution(data: Any, source: str) -> Solution:
    """Validate the shape of a decoded solution document."""
    return tuple(_decision(source, f"decisions[{i}]", raw) for i, raw in enumerate(decisions_of(source, data)))


def _decision(source: str, path: str, raw: Any) -> Decision | None:
    if raw is None:
        return None
    if not isinstance(raw, dict):
        raise InputError(source, path, f"{shorten(raw)} is neither null nor an object")
    for key in raw:
        if key not in {"vendor", "cells", "payment"}:
            raise InputError(source, f"{path}.{key}", "unknown field; allowed: cells, payment, vendor")
    for key in ("vendor", "cells"):
        if key not in raw:
            raise InputError(source, f"{path}.{key}", "the field is missing")
    vendor = raw["vendor"]
    if vendor is not None:
        vendor = integer(source, f"{path}.vendor", vendor, -LIMIT, LIMIT)
    cells = _cells(source, f"{path}.cells", items(source, f"{path}.cells", raw["cells"], None, ""))
    payment = raw.get("payment")
    if payment is not None:
        payment = integer(source, f"{path}.payment", payment, -PAYMENT_LIMIT, PAYMENT_LIMIT)
    return Decision(vendor, cells, payment)


def _cells(source: str, path: str, given: list[Any]) -> tuple[tuple[int, int], ...]:
    """The (node, slot) pairs of a schedule; a list that is right as a whole is not looked at number by number."""
    pairs = set(map(type, given)) == {list} and set(map(len, given)) == {2}
    if pairs and are_integers(list(chain.from_iterable(given)), -LIMIT, LIMIT):
        return tuple(map(tuple, given))
    cells = []
    for j, cell in enumerate(given):
        node, slot = items(source, f"{path}[{j}]", cell, 2, "[node, slot]")
        cells.append(
            (
                integer(source, f"{path}[{j}][0]", node, -LIMIT, LIMIT),
                integer(source, f"{path}[{j}][1]", slot, -LIMIT, LIMIT),
            )
        )
    return tuple(cells)
