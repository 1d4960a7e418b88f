"""What an online algorithm is, what it sees, and what it answers.

An algorithm is any object with `start` and `decide` (or `decide_batch`). It never sees an instance: it gets the public
part, the constants that it declares, one arrival at a time and the room that is left. Optional attributes that the
referee reads after the run: `label` (str, what must be said beside the name), `arithmetic` (str), `counts` (mapping of
ints), `trace` (for audits).

Anyone's algorithm that is given options (``mine:Class:margin=3/2``) is built with a mapping of them, text to text; one
that neither its constructor nor `start` reads is refused as misspelt.

Anyone's algorithm may show its final prices by an attribute or method `prices`: (compute, memory), each K rows of T
numbers >= 0, in micro-dollars per sample and per MB (NumPy arrays, lists, Fractions). Any such prices prove a bound on
OPT, which audits compute: the check `dual_certificate`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ratiobench.instances.io.errors import make_printable
from ratiobench.instances.lora.model import IntArray, Public, Task
from ratiobench.instances.lora.solution import PAYMENT_LIMIT, Decision
from ratiobench.online.answers import InvalidAnswer, locate_error, read_part, shorten

__all__ = [
    "Algorithm", "BatchAlgorithm", "Decision", "Posted", "Public", "Task", "View", "excess", "exposed",
    "first_free_node", "plain", "posted",
]  # fmt: skip

NUMBER_LIMIT = 2**53  # No vendor, node or slot in an answer is larger, and no price that is shown


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The state of the cluster that the referee shows: read-only, for this decision.

    Parameters
    ----------
    slot : the present slot (the task's arrival).
    compute : (K, T) samples per slot still free on each node; column t-1 is slot t.
    memory_mb : (K, T) MB still free, the base model already taken off.
    tasks : (K, T) number of tasks on the node in the slot.
    """

    slot: int
    compute: IntArray
    memory_mb: IntArray
    tasks: IntArray

    def room(self, task: Task, public: Public) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """Find the cells that can take a task: rate > 0 and enough free compute and memory.

        Parameters
        ----------
        task : the task.
        public : the public part of the instance.

        Returns
        -------
        (K, T) booleans.
        """
        rate = task.rate[public.type_of_node][:, None]
        fits: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = self.compute >= rate
        fits &= rate > 0
        fits &= self.memory_mb >= task.memory_mb
        return fits

    def between(self, first: int, last: int) -> View:
        """Restrict the view to some slots: column j is slot first + j.

        Parameters
        ----------
        first, last : the slots, both included.

        Returns
        -------
        The restricted view.
        """
        span = slice(first - 1, last)
        return replace(
            self, compute=self.compute[:, span], memory_mb=self.memory_mb[:, span], tasks=self.tasks[:, span]
        )


def first_free_node(
    free: np.ndarray[Any, np.dtype[np.bool_]], first_node: IntArray
) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], IntArray]:
    """Find the first node of each type that can take a task.

    Parameters
    ----------
    free : (K, T) whether the node can take the task in the slot.
    first_node : (G+1,) nodes of type g are first_node[g] .. first_node[g+1]-1.

    Returns
    -------
    (G, T) whether there is such a node, and (G, T) its number.

    Examples
    --------
    >>> import numpy as np
    >>> from ratiobench.online.lora.protocol import first_free_node
    >>> usable, node = first_free_node(np.array([[False], [True]]), np.array([0, 2]))
    >>> usable.tolist(), node.tolist()
    ([[True]], [[1]])
    """
    types = len(first_node) - 1
    usable = np.empty((types, free.shape[1]), np.bool_)
    node = np.empty((types, free.shape[1]), np.int64)
    for g in range(types):
        block = free[first_node[g] : first_node[g + 1]]
        usable[g] = block.any(axis=0)
        node[g] = first_node[g] + block.argmax(axis=0)
    return usable, node


@runtime_checkable
class Algorithm(Protocol):
    """Decides task by task."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Begin a run: called once, before the first arrival.

        Parameters
        ----------
        public : the public part of the instance.
        constants : values of the constants that the algorithm declares.
        """
        ...

    def decide(self, task: Task, view: View) -> Decision | None:
        """Decide about the task that arrives.

        Parameters
        ----------
        task : the task.
        view : the state of the cluster, read-only.

        Returns
        -------
        The final decision: vendor, cells and payment; None to reject the task.
        """
        ...


@runtime_checkable
class BatchAlgorithm(Protocol):
    """Decides the arrivals of one slot together."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Begin a run: called once, before the first arrival.

        Parameters
        ----------
        public : the public part of the instance.
        constants : values of the constants that the algorithm declares.
        """
        ...

    def decide_batch(self, tasks: Sequence[Task], view: View) -> Sequence[Decision | None]:
        """Decide about all tasks that arrive in the view's slot.

        Parameters
        ----------
        tasks : the tasks, in order.
        view : the state of the cluster, read-only.

        Returns
        -------
        An answer per task, in their order, as of `Algorithm.decide`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Posted:
    """Final prices that an algorithm shows.

    Parameters
    ----------
    exact : they are fractions, not doubles.
    lam, phi : {(node, slot): price}, zeros left out.
    problem : why they are none; empty otherwise.
    """

    exact: bool
    lam: Mapping[tuple[int, int], Fraction | float]
    phi: Mapping[tuple[int, int], Fraction | float]
    problem: str = ""


_NUMBER = re.compile(r"-?\d{1,400}(/[1-9]\d{0,399})?")  # Every double, and every fraction of that length
_NO_PRICES = "prices are no two tables of numbers"
_LONGEST = 400  # Characters of the reason why prices are none: an error with its place
_SHORT = 2**32  # Prices whose common denominator is larger are taken as doubles


def exposed(algorithm: Any) -> Any:
    """Read the prices that an algorithm shows.

    Parameters
    ----------
    algorithm : the object that decides.

    Returns
    -------
    Two tables of fractions as texts; None without prices; a text that names the error where they are none.

    Source: Posted; every price p/q of a table is written as `Fraction` writes it. The error has the line of the
    algorithm's own code where there is one.
    """
    try:
        prices = getattr(algorithm, "prices", None)
        prices = prices() if callable(prices) else prices
        if prices is None:
            return None
        compute, memory = prices
        return [[[str(_fraction(value)) for value in row] for row in table] for table in (compute, memory)]
    except Exception as error:  # the algorithm's own types may raise anything
        return f"{_NO_PRICES} ({locate_error(error)})"


def _fraction(value: Any) -> Fraction:
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def posted(answer: Any, public: Public) -> Posted | None:
    """Check the prices that `exposed` read: K rows of T numbers in 0..2^53 for compute and for memory.

    Parameters
    ----------
    answer : of `exposed`.
    public : the public part of the instance.

    Returns
    -------
    The prices, with `problem` where they are none; None for None.
    """
    if answer is None:
        return None
    if isinstance(answer, str):
        return Posted(True, {}, {}, make_printable(answer, _LONGEST))
    try:
        lam, phi = _cells("compute", answer[0], public), _cells("memory", answer[1], public)
    except ValueError as error:
        return Posted(True, {}, {}, shorten(error))
    except (TypeError, LookupError):  # not what `exposed` writes
        return Posted(True, {}, {}, _NO_PRICES)
    unit = 1
    for price in (*lam.values(), *phi.values()):
        unit = math.lcm(unit, price.denominator)
        if unit > _SHORT:
            return Posted(
                False, {cell: float(p) for cell, p in lam.items()}, {cell: float(p) for cell, p in phi.items()}
            )
    return Posted(True, lam, phi)


def _cells(name: str, table: Any, public: Public) -> dict[tuple[int, int], Fraction]:
    """The prices of one table that are not zero; ValueError says what is wrong."""
    if [len(row) for row in table] != [public.slots] * public.nodes:
        raise ValueError(f"{name} prices are not {public.nodes} rows of {public.slots}")
    cells = {}
    for k, row in enumerate(table):
        for t, text in enumerate(row, 1):
            if not _NUMBER.fullmatch(text):
                raise TypeError(text)
            if text != "0":
                price = cells[k, t] = Fraction(text)
                if not 0 <= price <= NUMBER_LIMIT:
                    raise ValueError(f"{name} price {shorten(text)} of node {k} in slot {t} is not in 0..2^53")
    return cells


def plain(answer: Any) -> Decision | None:
    """Copy an answer in builtin types; an answer that nothing can alter is returned as it is.

    Parameters
    ----------
    answer : of an algorithm.

    Returns
    -------
    The decision, or None.

    Raises
    ------
    InvalidAnswer : it is neither None nor (vendor, cells, payment) in integers. Exceptions of the algorithm's own
        types, when they are unpacked, are passed on.

    Examples
    --------
    >>> from ratiobench.online.lora.protocol import plain
    >>> plain([None, [[0, 1]], 7])
    Decision(vendor=None, cells=((0, 1),), payment=7)
    """
    if answer is None:
        return None
    if _settled(answer):
        return answer  # type: ignore[no-any-return]
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        raise InvalidAnswer("not (vendor, cells, payment)")
    vendor, cells, payment = answer
    if not isinstance(cells, tuple | list | np.ndarray):
        raise InvalidAnswer(f"cells {shorten(cells)[:40]} are no list")
    return Decision(
        None if vendor is None else read_part("vendor", vendor, NUMBER_LIMIT),
        tuple(map(_cell, cells)),
        None if payment is None else read_part("payment", payment, PAYMENT_LIMIT),
    )


def excess(answer: Any, public: Public) -> str | None:
    """Check that an answer has no more cells than there are, so that it can be sent.

    Parameters
    ----------
    answer : of an algorithm.
    public : the public part of the instance.

    Returns
    -------
    What is wrong, in words; None for nothing.
    """
    cells = answer[1] if isinstance(answer, tuple | list) and len(answer) == 3 else None
    if isinstance(cells, tuple | list | np.ndarray) and len(cells) > public.slots * public.nodes:
        return f"{len(cells)} cells, there are {public.slots} slots of {public.nodes} nodes"
    return None


def _cell(cell: Any) -> tuple[int, int]:
    if type(cell) is list and len(cell) == 2:  # a long schedule has hundreds, as JSON has them
        node, slot = cell
        if type(node) is int and type(slot) is int and abs(node) <= NUMBER_LIMIT and abs(slot) <= NUMBER_LIMIT:
            return node, slot
    if not isinstance(cell, tuple | list | np.ndarray) or len(cell) != 2:
        raise InvalidAnswer(f"cell {shorten(cell)[:40]} is not (node, slot)")
    node, slot = cell
    return read_part("node", node, NUMBER_LIMIT), read_part("slot", slot, NUMBER_LIMIT)


def _settled(answer: Any) -> bool:
    """Whether the answer is a Decision of tuples and ints through and through: no copy of it could be safer."""
    if type(answer) is not Decision or type(answer.cells) is not tuple:
        return False
    for cell in answer.cells:
        if type(cell) is not tuple or len(cell) != 2:
            return False
        node, slot = cell
        if type(node) is not int or type(slot) is not int:
            return False
        if not (-NUMBER_LIMIT <= node <= NUMBER_LIMIT and -NUMBER_LIMIT <= slot <= NUMBER_LIMIT):
            return False
    return all(
        value is None or (type(value) is int and abs(value) <= limit)
        for value, limit in ((answer.vendor, NUMBER_LIMIT), (answer.payment, PAYMENT_LIMIT))
    )
