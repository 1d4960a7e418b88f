"""Which schedules imported jobs may have, and what whole slots add to them, in sentences for the report."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.lora.cluster import DAY
from ratiobench.instances.lora.format import SLOT_LIMIT
from ratiobench.instances.lora.job_sizes import Laws
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.schedules import KINDS, ScheduleKind

SLOTS = (3600, 1800, 900, 600, 300, 120, 60, 30, 10, 5, 2, 1)  # Lengths of slots that a report may suggest, seconds
# Times behind the last day that a report may suggest, seconds
TAILS = (43_200, 86_400, 172_800, 259_200, 604_800, 1_209_600)
FEW = 5  # Per cent of the GPU time that may belong to jobs without a schedule before the report suggests a longer tail
ENOUGH = 10  # Per cent that whole slots may add to the GPU time before the report suggests shorter ones


@dataclass(slots=True)
class Facts:
    """What the tasks of an instance do not say of their jobs, task by task."""

    best: array[int] = field(default_factory=lambda: array("q"))  # units per slot of all parts on the fastest type
    short: bytearray = field(default_factory=bytearray)  # whether it ran for less than a slot
    wide: bytearray = field(default_factory=bytearray)  # whether it is wider than a node
    # the first slot by whose end it can be done, on an empty cluster; it may be behind the last one.
    last: array[int] = field(default_factory=lambda: array("q"))


class Schedules:
    """Counts over the tasks of all instances that some schedule can finish."""

    def __init__(self, laws: Laws) -> None:
        self.laws = laws
        self.kinds = Counter[ScheduleKind]()
        self.short = self.wide = 0
        self.widths: set[int] = set()
        self.work = self.of_gangs = 0.0
        shorter = (each for each in SLOTS if each < laws.slot_seconds)
        self.whole = dict.fromkeys((laws.slot_seconds, *shorter), 0.0)

    def add(self, instance: Instance, can: NDArray[np.bool_], facts: Facts) -> None:
        """Count the tasks of an instance that can be finished."""
        self.kinds.update(KINDS[each] for each in instance.run[can].tolist())
        self.short += int(np.frombuffer(facts.short, bool)[can].sum())
        self.wide += int(np.frombuffer(facts.wide, bool)[can].sum())
        parts, work = instance.parts[can], instance.work[can].astype(float)
        best = np.frombuffer(facts.best, np.int64)[can].astype(float)
        self.widths.update(np.unique(parts[parts > 1]).tolist())
        self.work += float(work.sum())
        self.of_gangs += float(work[parts > 1].sum())
        for seconds in self.whole:
            each = best * (seconds / self.laws.slot_seconds)
            self.whole[seconds] += float((np.ceil(work / each - 1e-9) * each).sum())

    def surcharge(self, seconds: int) -> float:
        """Per cent that whole slots of this length add to the work."""
        return 100 * self.whole[seconds] / max(1.0, self.work) - 100

    def find_shorter(self) -> int | None:
        """The longest slots that add less than `ENOUGH` per cent and that an instance can have; None for none."""
        for seconds in self.whole:
            if self.surcharge(seconds) < ENOUGH and replace(self.laws, slot_seconds=seconds).slots <= SLOT_LIMIT:
                return seconds
        return None

    def sentences(self, counts: Counter[str]) -> Iterator[str]:
        """What the jobs may do, how wide and how long they claim to be, and what whole slots add."""
        total = self.kinds.total()
        if not total:
            return
        gangs = self.kinds[ScheduleKind.GANG]
        if rigid := self.kinds[ScheduleKind.RIGID] + gangs:
            told = ""
            if gangs:
                ends = sorted({min(self.widths), max(self.widths)})
                told = f", {gangs:,} of them gangs on {'-'.join(map(str, ends))} nodes"
                told += f" ({100 * self.of_gangs / max(1.0, self.work):.0f} % of GPU time"
                told += f"; --run any leaves {self.wide:,} out)" if self.wide else ")"
            yield f"{rigid:,} jobs are rigid{told}; none may pause or move."
        if stay := self.kinds[ScheduleKind.ONE_NODE]:
            yield f"{stay:,} jobs may pause between slots, at no cost, and stay on their node."
        if free := self.kinds[ScheduleKind.ANY]:
            yield f"{free:,} jobs may pause, move to another node and go on, at no cost, between slots."
        if rounded := counts["gangs of rounded parts"]:
            yield f"Parts of a gang are alike: those of {rounded:,} gangs were rounded up."
        if other := counts["gangs on other nodes than in the log"]:
            yield (
                f"{other:,} gangs are on fewer or more nodes than in the log, where some had no GPU or more GPUs than "
                "a node has here."
            )
        if claims := counts["limits"]:
            killed, longer = counts["killed at their limit"], counts["longer than their limit"]
            told = f"; {killed:,} were killed at it, so it is their work" if killed else ""
            told += f"; {longer:,} ran longer, so they claim what they ran" if longer else ""
            yield f"{claims:,} jobs claim their time limit as work{told}."
        more, shorter = self.surcharge(self.laws.slot_seconds), self.find_shorter()
        told = ""
        if more >= ENOUGH and shorter:
            told = f": --slot {_slot(shorter)} makes that {_per_cent(self.surcharge(shorter))}"
        yield (
            f"{self.short:,} ({100 * self.short / total:.0f} %) are shorter than a slot of {self.laws.slot_seconds} s; "
            f"whole slots add {_per_cent(more)} to the GPU time{told}."
        )


class Tails:
    """Tasks of all instances that no schedule can finish, for the end of their instance comes too early for some."""

    def __init__(self, laws: Laws) -> None:
        self._laws = laws
        self._work = self._lost = 0.0
        self._late: list[tuple[int, float]] = []

    def add(self, instance: Instance, can: NDArray[np.bool_], facts: Facts) -> None:
        """Count the tasks of an instance."""
        self._work += float(instance.work.sum())
        self._lost += float(instance.work[~can].sum())
        last = np.frombuffer(facts.last, np.int64)
        for i in np.flatnonzero(~can & (last > instance.slots)).tolist():
            self._late.append((int(last[i]), float(instance.work[i])))

    def sentence(self) -> str:
        """Their share of the GPU time, and the tail that leaves few of them; empty where they are few."""
        share = 100 * self._lost / max(1.0, self._work)
        if share < FEW:
            return ""
        never = self._lost - sum(work for _, work in self._late)
        for tail in TAILS:
            slots = replace(self._laws, tail=tail).slots
            left = 100 * (never + sum(work for last, work in self._late if last > slots)) / max(1.0, self._work)
            if tail > (self._laws.tail or 0) and slots <= SLOT_LIMIT and left < FEW:
                return (
                    f" They are {_per_cent(share)} of the GPU time: --tail {_slot(tail)} makes that {_per_cent(left)}."
                )
        return f" They are {_per_cent(share)} of the GPU time."


def tell_waits(waits: array[int]) -> str:
    """How long jobs waited in the log, in a sentence."""
    mean, most = np.mean(waits), np.percentile(waits, 95)
    return f"In the log jobs waited {_time(mean)} on average before they started, 95 % of them at most {_time(most)}."


def _per_cent(value: float) -> str:
    return f"{value:.0f} %" if value >= ENOUGH else f"{value:.1f} %"


def _slot(seconds: int) -> str:
    """As the options `--slot` and `--tail` have it."""
    for unit, name in ((DAY, "d"), (3600, "h"), (60, "m")):
        if seconds % unit == 0:
            return f"{seconds // unit}{name}"
    return f"{seconds}s"


def _time(seconds: Any) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
