"""Titan, adapted online as in the main paper: the best answer to each slot's arrivals, vendor drawn at random.

All tasks that arrive in a slot are decided together, for good, with the capacity that earlier decisions left: the
answer of most welfare, without regard to later arrivals. The paper solves a MILP for it; here it is the optimum of that
MILP, however it is found (`ratiobench.formulations.lora.batch`), on single nodes at any size. A task whose drawn vendor
is of no use is rejected. There is no payment rule.

Limits are counts of work with one thread, never seconds. Where the work ends before an answer is proved to be the best
one the remarks say so, and the answer is never worse than serving the batch task by task as `greedy` or `eft` would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.backends import installed_version
from ratiobench.formulations.lora import batch
from ratiobench.formulations.lora.batch import solve_batch
from ratiobench.formulations.lora.covering.schedules import StateSpaceTooLarge
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance, Public, Task, freeze
from ratiobench.instances.lora.model import Option as Preprocessing
from ratiobench.instances.lora.solution import Decision, Solution
from ratiobench.online.lora.algorithms.earliest import draw_vendor, find_earliest_cells
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import Entry, Option, fraction, register
from ratiobench.online.remarks import PARTS_PER_MILLION, Part, Remarks
from ratiobench.online.spec import state_always

# Up to this many cells (task, node with room, slot) a batch is answered best only if that is proved without a gap
EXACT_CELLS = 5_000


class Titan:
    """max sum (b_i - q_i) u_i - sum e x over the slot's tasks, under P with the residual capacities."""

    def __init__(self, options: Mapping[str, str]) -> None:
        if not options["effort"].isdecimal() or int(options["effort"]) < 1:
            raise InputError("algorithm", "titan:effort", f"{options['effort']!r} is not a positive integer")
        self._effort = int(options["effort"])
        self._gap = fraction("titan:gap", options["gap"])
        if not 0 <= self._gap < 1:
            raise InputError("algorithm", "titan:gap", f"{options['gap']} is not at least 0 and below 1")
        # At limit: not proved to be answered best to within the gap. Worst gap: (bound - value) / bound, rounded up.
        self.counts = {"batches": 0, "at_limit": 0, "worst_gap_ppm": 0, "programs": 0}

    @property
    def remarks(self) -> Remarks:
        at_limit = self.counts["at_limit"]
        return Remarks(
            "titan",
            limit=Part(at_limit, self.counts["batches"]) if at_limit else None,
            gap_ppm=self.counts["worst_gap_ppm"] if at_limit else None,
            solvers=(f"HiGHS {installed_version('highs')}",) if self.counts["programs"] else (),
        )

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._public = public
        self._type_of = public.type_of_node
        self._heads = public.first_node[:-1]

    def decide_batch(self, tasks: Sequence[Task], view: View) -> list[Decision | None]:
        """The best answer to the slot's arrivals, as far as the work goes."""
        self.counts["batches"] += 1
        vendors = [draw_vendor(task, self._public) for task in tasks]
        first = min(option.first for option in vendors)
        last = max(first, *(task.deadline for task in tasks))
        span = slice(first - 1, min(last, self._public.slots))
        free_cells = [view.room(task, self._public)[:, span] for task in tasks]
        gap = self._gap if sum(map(np.count_nonzero, free_cells)) > EXACT_CELLS else Fraction(0)
        batch = self._batch(tasks, vendors, free_cells, span)
        earliest = self._earliest(tasks, vendors, view, span)
        free, free_mb = view.compute[:, span], view.memory_mb[:, span]
        try:
            answer = solve_batch(batch, free, free_mb, self._effort, gap, (earliest,))
        except StateSpaceTooLarge as error:  # it counts the tasks of the batch
            raise StateSpaceTooLarge(error.problem, None if error.task is None else tasks[error.task].index) from None
        self.counts["programs"] += answer.programs
        if answer.lower < answer.upper:
            self.counts["at_limit"] += answer.upper - answer.lower > gap * answer.upper
            parts = -(-(answer.upper - answer.lower) * PARTS_PER_MILLION // answer.upper)
            self.counts["worst_gap_ppm"] = max(self.counts["worst_gap_ppm"], parts)
        return [
            None if d is None else Decision(option.vendor, tuple((node, slot + span.start) for node, slot in d.cells))
            for option, d in zip(vendors, answer.solution, strict=True)
        ]

    def _batch(
        self,
        tasks: Sequence[Task],
        vendors: Sequence[Preprocessing],
        free_cells: Sequence[NDArray[np.bool_]],
        span: slice,
    ) -> Instance:
        """The batch as an instance of the span's slots, vendors paid out of the bids."""
        count = len(tasks)
        costs = {}
        for j, (task, nodes) in enumerate(zip(tasks, free_cells, strict=True)):
            free = np.logical_or.reduceat(nodes, self._heads, axis=0)
            cost = task.cost[:, span]
            # A cell of a type of which no node has room costs more than the task can be worth.
            never = abs(task.bid) + int(np.maximum(0, -cost.min(axis=0, initial=0)).sum()) + 1
            costs[j] = freeze(np.where(free, cost, never))

        nothing = freeze(np.zeros(count))
        return Instance(
            name="batch",
            origin={},
            slots=span.stop - span.start,
            slot_seconds=self._public.slot_seconds,
            base_memory_mb=self._public.base_memory_mb,
            node_types=tuple(replace(node, tariff=node.tariff[span]) for node in self._public.node_types),
            arrival=freeze([option.first - span.start for option in vendors]),
            deadline=freeze([task.deadline - span.start for task in tasks]),
            memory_mb=freeze([task.memory_mb for task in tasks]),
            work=freeze([task.work for task in tasks]),
            bid=freeze([task.bid - option.price for task, option in zip(tasks, vendors, strict=True)]),
            valuation=nothing,
            rate=freeze(np.stack([task.rate for task in tasks])),
            energy_wh=freeze(np.zeros((count, len(self._public.node_types)))),
            explicit_cost=costs,
            vendor_start=freeze(np.zeros(count + 1)),
            vendor_price=freeze([]),
            vendor_delay=freeze([]),
        )

    def _earliest(self, tasks: Sequence[Task], vendors: Sequence[Preprocessing], view: View, span: slice) -> Solution:
        """The batch served task by task as EFT would, slots counted from the span's first."""
        compute, memory = view.compute.copy(), view.memory_mb.copy()
        decisions: list[Decision | None] = []
        for task, option in zip(tasks, vendors, strict=True):
            rate = task.rate[self._type_of]
            window = View(view.slot, compute, memory, view.tasks).between(option.first, task.deadline)
            free = window.room(task, self._public)
            cells, done = find_earliest_cells(task, option.first, free, rate)
            net = task.bid - option.price - sum(int(task.cost[self._type_of[k], t - 1]) for k, t in cells)
            if done < task.work or net <= 0:
                decisions.append(None)
                continue
            for k, t in cells:
                compute[k, t - 1] -= rate[k]
                memory[k, t - 1] -= task.memory_mb
            decisions.append(Decision(None, tuple((k, t - span.start) for k, t in cells)))
        return tuple(decisions)


register(
    Entry(
        "titan",
        "the best answer to each slot's arrivals, proved or at a stated limit, vendor drawn",
        "4",
        {
            "effort": Option("1", None, "multiple of the limits on a batch's column generation and programs"),
            "gap": Option("1/1000", None, "share of its best value at which a large batch counts as answered"),
        },
        Titan,
        warm=batch.warm,  # on the small instance it needs hardly anything
        standing=state_always(guarantee="none", truthful="no payments"),
        randomised=True,
        slow=True,
        solver="highs",
    )
)
