"""EFT and NTM, the main paper's two earliest-finish baselines.

From the first usable slot on, the fastest node with room in each slot (ties: lowest index) until M_i is covered. `eft`
takes the vendor of least delay and shares nodes; `ntm` draws the vendor and uses only nodes that no other task uses in
that slot. Neither has a payment rule. Option admit: `profitable` rejects when b_il <= 0 (the paper does not say that
they look at the bid), `all` takes whatever fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.model import Option as Preprocessing
from ratiobench.instances.lora.model import Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.one_node import NodeAnswer, with_one_node
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import Entry, Option, register
from ratiobench.online.remarks import Remarks
from ratiobench.online.spec import state_always


def draw_vendor(task: Task, public: Public) -> Preprocessing:
    """A vendor drawn uniformly from (the run's seed, the task's index); the only option if there is none to draw."""
    options = task.options
    return options[Stream("vendor", public.seed, task.index).integer(0, len(options) - 1)]


def find_fastest_vendor(task: Task, public: Public) -> Preprocessing:
    """The vendor of least delay; ties by price, then by index."""
    return min(task.options, key=lambda option: (option.first, option.price, option.vendor or 0))


def find_earliest_cells(
    task: Task, first: int, free: NDArray[np.bool_], rate: NDArray[np.int64]
) -> tuple[list[tuple[int, int]], int]:
    """In each slot from the first one on, the fastest node with room, until the work is covered; the work done."""
    speeds = np.where(free, rate[:, None], 0)[:, : max(0, task.deadline - first + 1)]
    node = speeds.argmax(axis=0)
    speed = speeds[node, np.arange(len(node))]
    done = speed.cumsum()
    until = int(np.searchsorted(done, task.work)) + 1
    used = np.flatnonzero(speed[:until])
    return list(zip(node[used].tolist(), (used + first).tolist(), strict=True)), int(done[:until].max(initial=0))


class EarliestFinish:
    """Both of them; `alone`: on nodes that no other task uses in the slot, with a drawn vendor."""

    def __init__(self, options: Mapping[str, str], *, name: str, alone: bool) -> None:
        self._profitable = options["admit"] == "profitable"
        self._alone = alone
        self.remarks = Remarks(name, (f"admit={options['admit']}",))

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._public = public
        self._type_of = public.type_of_node

    def decide(self, task: Task, view: View) -> Decision | None:
        return self.settle(task, view, self.find(task, view))

    def find(self, task: Task, view: View) -> NodeAnswer | None:
        option = draw_vendor(task, self._public) if self._alone else find_fastest_vendor(task, self._public)
        window = view.between(option.first, task.deadline)
        free = window.room(task, self._public)
        if self._alone:
            free &= window.tasks == 0
        rate = task.rate[self._type_of]
        cells, done = find_earliest_cells(task, option.first, free, rate)
        return None if done < task.work else NodeAnswer((cells[-1][1],), tuple(cells), option)

    def settle(self, task: Task, view: View, found: NodeAnswer | None) -> Decision | None:
        if found is None:
            return None
        option, cells = found.answer, found.cells
        net = task.bid - option.price - sum(int(task.cost[self._type_of[k], t - 1]) for k, t in cells)
        if self._profitable and net <= 0:
            return None
        return Decision(option.vendor, cells)


_ADMIT = {"admit": Option("profitable", ("profitable", "all"), "reject when b_il <= 0, or take whatever fits")}


def _register(name: str, summary: str, *, alone: bool) -> None:
    register(
        with_one_node(
            Entry(
                name,
                summary,
                "1",
                _ADMIT,
                lambda options: EarliestFinish(options, name=name, alone=alone),
                standing=state_always(guarantee="none", truthful="no payments"),
                randomised=alone,
            )
        )
    )


_register("eft", "earliest finish time on shared nodes, vendor of least delay", alone=False)
_register("ntm", "no task merging: earliest finish time on nodes of its own, vendor drawn", alone=True)
