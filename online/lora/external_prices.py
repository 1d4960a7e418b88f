"""Anyone's own prices inside a guard: ``guarded:inner=package.module:Class``.

The class answers no decisions but prices, in a process of its own (`ratiobench.online.referee.isolation`), and never
sees the bid of the task that it prices; the guard, the schedules and the charges are ours, so Theorems T and H hold for
any class.

- ``start(public, constants)``, once; there are no constants;
- ``decide(task, view)``: what a cell should cost: a row per node type, a price for every slot of the window (column j
  is slot `task.arrival` + j), micro-dollars at least 0; the bid that it sees is 0. A cell is on the first node with
  room;
- ``at_sold(sale, view)`` and ``at_heard(task, view)``, where it has them: (task, cells, net value) of what was sold,
  and the task with its bid when it has its answer; there is no view then.

Options stand behind the class: ``inner=package.module:Class;key=value;key=value``.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance, Public, Task
from ratiobench.online.answers import InvalidAnswer, shorten
from ratiobench.online.lora.posted_prices import ProposedPrices, find_free_cells
from ratiobench.online.lora.protocol import NUMBER_LIMIT, View, first_free_node
from ratiobench.online.lora.traces import Cell
from ratiobench.online.referee.simulator import ARRIVAL, Question, RefusedAnswer, RuleViolation
from ratiobench.online.spec import Spec

PROTOCOL = __name__
Price = int | float | str
"""A whole number, a double, or a fraction as text."""


def plain(answer: Any) -> list[list[Price]] | None:
    """The rows of prices in JSON values; None, which prices nothing, as it is.

    Raises
    ------
    InvalidAnswer : naming what is no price.
    """
    if answer is None:
        return None
    if not isinstance(answer, list | tuple | np.ndarray):
        raise InvalidAnswer("not a row of prices per node type")
    return [[_price(g, j, value) for j, value in enumerate(row)] for g, row in enumerate(answer)]


def _price(g: int, j: int, value: Any) -> Price:
    if isinstance(value, np.generic):
        value = value.item()
    good = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    if not good or not (math.isfinite(value) and 0 <= value <= NUMBER_LIMIT):
        raise InvalidAnswer(f"price [{g}][{j}] = {shorten(value)[:40]} is no number in 0..2^53")
    return str(value) if isinstance(value, Fraction) else value


def excess(answer: Any, public: Public) -> str | None:
    """What is wrong with a table of more rows than types or more columns than slots; else None."""
    sized = isinstance(answer, list | tuple | np.ndarray)
    if sized and len(answer) > len(public.node_types):
        return f"{len(answer)} rows of prices, there are {len(public.node_types)} node types"
    for row in answer if sized else ():
        if isinstance(row, list | tuple | np.ndarray) and len(row) > public.slots:
            return f"{len(row)} prices in a row, there are {public.slots} slots"
    return None


class ExternalPrices:
    """A poster in a process of its own, ended when this object goes.

    Attributes
    ----------
    isolation : how its process is isolated (`ratiobench.online.remarks`); empty before it starts.
    """

    arithmetic = "unknown"
    isolation = ""

    def __init__(self, text: str) -> None:
        path, *parts = text.split(";")
        pairs = [part.partition("=") for part in parts if part]
        for key, equals, value in pairs:
            if not key or not equals or not value:
                raise InputError("algorithm", "guarded:inner", f"{shorten(text)}: options are written ;key=value")
        self.spec = Spec(None, path, {key: value for key, _, value in pairs})
        self._betrays: Callable[[str], bool] = lambda path: False

    def hide_instance(self, tested: Instance) -> None:
        """The instance under test, which its process may not read."""
        from ratiobench.online.lora.registry import REGISTRY
        from ratiobench.online.referee.bounds import shows_the_future

        self._betrays = partial(shows_the_future, registry=REGISTRY, instance=tested)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Its process begins.

        Raises
        ------
        InputError : what cannot be built, and a class that declares constants.
        Foul : what it breaks.
        """
        from ratiobench.online.referee.isolation import Runner

        self._public = public
        self._player = runner = Runner(self.spec, PROTOCOL, self._betrays)
        self.isolation = runner.isolation
        weakref.finalize(self, runner.close)
        if runner.constants:
            problem = (
                f"{self.spec.path} declares constants ({shorten(runner.constants[0])}): prices in a guard have none"
            )
            raise InputError("algorithm", "guarded:inner", problem)
        runner.start(public, {})

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        """Its prices on the first node with room; not asked where no schedule can do the work."""
        found = find_free_cells(task, view, self._public)
        if found is None:
            return None
        types, first, free = found
        rows = self._ask(ARRIVAL, task.index, replace(task, bid=0), view)
        width = task.deadline - task.arrival + 1
        if not isinstance(rows, list) or [len(row) for row in rows] != [width] * len(self._public.node_types):
            detail = f"answered {shorten(rows)!r}, which is not {len(self._public.node_types)} rows of {width} prices"
            raise RuleViolation("protocol", task.index, detail)
        numbers = [
            [Fraction(x) if isinstance(x, str) else x for x in rows[g][first + 1 - task.arrival :]] for g in types
        ]
        whole = all(isinstance(x, int | float) for row in numbers for x in row)
        usable, node = first_free_node(free, self._public.first_node)
        return ProposedPrices(
            types, first, np.where(usable, node, -1)[types], np.array(numbers, float if whole else object)
        )

    def sold(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        """Told to `at_sold`."""
        self._ask("sold", task.index, (task, cells, net), None)

    def heard(self, task: Task) -> None:
        """Told to `at_heard`."""
        self._ask("heard", task.index, task, None)

    def _ask(self, event: str, index: int, shown_to_it: Any, view: View | None) -> Any:
        (answer,) = self._player.ask(Question([index], [shown_to_it], view, event))
        if isinstance(answer, RefusedAnswer):
            raise RuleViolation("protocol", index, answer)
        return answer
