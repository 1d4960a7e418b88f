"""What branch and bound leaves; it travels from the process of a solver, whose modules nobody else imports."""

from __future__ import annotations

from typing import NamedTuple

from ratiobench.formulations.lora.bound.lagrangian import Prices
from ratiobench.instances.lora.model import IntArray


class Tree(NamedTuple):
    """The tree in preorder with tasks, types and slots as in the instance, and (C, T) rents of its tables.

    Parameters
    ----------
    kind, rate, memory : (C,) of the classes.
    upper : the largest bound of a leaf, in doubles.
    solved : nodes whose bounds were computed.
    """

    nodes: tuple[int | tuple[int, ...], ...]
    tables: tuple[Prices, ...]
    kind: IntArray
    rate: IntArray
    memory: IntArray
    upper: float
    solved: int
