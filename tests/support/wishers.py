"""Prices of one's own inside `guarded`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any


class Flat:
    """The same price for every cell; `base` micro-dollars, `as_` int, float or Fraction."""

    def __init__(self, options: Any = None) -> None:
        options = options or {}
        self._price = {"int": int, "float": float, "Fraction": Fraction}[options.get("as", "int")](
            options.get("base", "0")
        )

    def start(self, public: Any, constants: Any) -> None:
        self._types = len(public.node_types)

    def decide(self, task: Any, view: Any) -> Any:
        assert task.bid == 0
        return [[self._price] * (task.deadline - task.arrival + 1)] * self._types


class Rising(Flat):
    """Dearer with every cell sold, and with every bid that it heard of."""

    def at_sold(self, sale: Any, view: Any) -> None:
        task, cells, net = sale
        assert task.bid >= net
        self._price += len(cells)

    def at_heard(self, task: Any, view: Any) -> None:
        self._price += 1 if task.bid else 0


class Short(Flat):
    def decide(self, task: Any, view: Any) -> Any:
        return [[0]]


class Negative(Flat):
    def decide(self, task: Any, view: Any) -> Any:
        return [[-1] * (task.deadline - task.arrival + 1)] * self._types


class Raises(Flat):
    def decide(self, task: Any, view: Any) -> Any:
        raise KeyError("no price")


class Reads(Flat):
    """Reads another file while it decides."""

    def decide(self, task: Any, view: Any) -> Any:
        Path("prices.json").read_bytes()
        return super().decide(task, view)


class Declares(Flat):
    constants = ("alpha",)


class Counts(Flat):
    """Prices by how many of its kind the file of a counter says have run: another answer in the second run."""

    def __init__(self, options: Any) -> None:
        super().__init__()
        file = Path(options["file"])
        self._price = 10**9 if file.exists() else 0
        file.write_text("once")
