"""Schedules of tasks as flat arrays: sums over their cells, and which of them the decisions of a tree allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.bound.pricing import Pool
from ratiobench.formulations.lora.bound.task_prices import ALWAYS, NEVER, Floats, Ranges, Slots
from ratiobench.instances.lora.model import IntArray


def slot_of_cells(s: Slots) -> IntArray:
    """(places,) the slot of each cell."""
    return np.repeat(s.slot, np.diff(s.start))


class ColumnArrays:
    """Schedules as arrays that grow: their tasks, begins, numbers of cells, and places one schedule after the other.

    `s`: their cells by pairs of type and slot.
    """

    def __init__(self, p: Pool, s: Slots) -> None:
        self._pool, self._slots, self._slot = p, s, slot_of_cells(s)
        types = int(np.diff(p.type_start).max(initial=1))
        self.count = self._cells = 0
        self._task, self._begin = np.zeros(64, np.int64), np.zeros(64, np.int64)
        self._counts = np.zeros((64, types), np.int64)
        self._start, self._place = np.zeros(65, np.int64), np.zeros(512, np.int64)

    def add(self, task: int, begin: int, counts: Sequence[int], place: IntArray) -> None:
        """Another schedule.

        `begin`: first slot of its option's window; `counts`: cells of each local type; `place`: (cells,) places in
        `Slots.entry`; at least one.
        """
        if self.count == len(self._task):
            self._task, self._begin = (np.concatenate([each, each]) for each in (self._task, self._begin))
            self._counts = np.concatenate([self._counts, self._counts])
            self._start = np.concatenate([self._start, self._start])
        end = self._cells + len(place)
        while end > len(self._place):
            self._place = np.concatenate([self._place, self._place])
        n = self.count
        self._task[n], self._begin[n] = task, begin
        self._counts[n] = 0
        self._counts[n, : len(counts)] = counts
        self._place[self._cells : end] = place
        self.count, self._cells = n + 1, end
        self._start[n + 1] = end

    def sums(self, weight: NDArray[Any]) -> NDArray[Any]:
        """(columns,) sum of the weights of each schedule's cells.

        `weight`: (places,) of each cell.
        """
        if not self.count:
            return np.zeros(0, weight.dtype)
        return np.add.reduceat(weight[self._place[: self._cells]], self._start[: self.count])

    def spread(self, value: Floats) -> Floats:
        """(places,) sum of the values of the schedules that have a cell, of the first schedules, one value each."""
        length = np.diff(self._start[: len(value) + 1])
        here = self._place[: int(self._start[len(value)])]
        return np.bincount(here, np.repeat(value, length), len(self._slot)).astype(np.float64)

    def allowed(self, d: Ranges) -> NDArray[np.bool_]:
        """(columns,) which schedules the decisions allow."""
        p, n = self._pool, self.count
        if not n:
            return np.zeros(0, bool)
        task, begin = self._task[:n], self._begin[:n]
        found = (d.out[task] == 0) & (d.early[task] <= begin) & (begin <= d.late[task])
        types = np.diff(p.type_start)[task]
        for g in range(self._counts.shape[1]):
            entry = np.minimum(p.type_start[task] + g, len(p.kind) - 1)
            cells = self._counts[:n, g]
            found &= ((d.low[entry] <= cells) & (cells <= d.high[entry])) | (g >= types)
        fixed = d.fixed[self._slots.entry, self._slot]
        if fixed.any():
            found &= self.sums((fixed == NEVER).astype(np.int64)) == 0
            always = fixed == ALWAYS
            needed = np.bincount(self._slots.owner[self._slots.entry[always]], minlength=p.tasks)
            found &= self.sums(always.astype(np.int64)) == needed[task]
        return np.asarray(found)
