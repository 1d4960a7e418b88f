"""What a job of a log is on a cluster: on how many nodes it runs, and its rate, work, memory and energy there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.cluster import DAY, Cluster, Node
from ratiobench.instances.lora.format import PARTS_LIMIT
from ratiobench.instances.lora.logs import Job, LogFormat
from ratiobench.instances.lora.schedules import ScheduleKind

WIDE, WIDE_NODE = "wider than any node type has nodes", "wider than a node"
LOOSE = "of several pods that no PodGroup makes a gang, wider than a node (--run gang: they are)"
HUGE = "with too much work for the format"


@dataclass(frozen=True, slots=True)
class Laws:
    """What stands in for what a log does not say, and how time is cut."""

    slot_seconds: int = 600  # length of a slot
    days: int = 1  # days of submissions in an instance
    # seconds behind the last day in which nothing is submitted, so that late jobs can end; None for as many as no
    # window needs more, so that none is cut.
    tail: int | None = 21_600
    # a job without a deadline may take this many times the fewest slots that it needs, or that its time limit does;
    # with `ANY`, as long as its time limit where it has one.
    slack: Fraction = Fraction(3)
    # range from which a job without a price of its own draws its bid, micro-dollars per GPU-hour.
    per_gpu_hour: tuple[int, int] = (1_000_000, 3_000_000)
    list_price: int | None = None  # of a GPU-hour, micro-dollars; None where it is not known
    seed: str = "0"  # names the draws
    first: date | None = None  # first, last: days of submissions that count; None for all
    last: date | None = None
    # which schedules the jobs may have; None for what the log and its format say. With `ANY` and `ONE_NODE` a job that
    # is wider than a node is left out, with `RIGID` and `GANG` it is a gang; `GANG` makes gangs of pods, too, that need
    # not have run at the same time. `ANY` writes instances as before there was a choice: without limits and labels.
    run: ScheduleKind | None = None
    # jobs that run when an instance begins hold their nodes until they end; else nodes are empty then.
    full: bool = False

    @property
    def listed(self) -> int | None:
        """Micro-dollars per GPU-hour of the price list: as stated, else what every job without a price bids."""
        low, high = self.per_gpu_hour
        return low if self.list_price is None and low == high else self.list_price

    @property
    def slots(self) -> int:
        """Slots of an instance."""
        return -(-(self.days * DAY + (self.tail or 0)) // self.slot_seconds)


class Split(NamedTuple):
    """How a job lies on nodes."""

    run: ScheduleKind
    parts: int  # nodes at once
    gpus: int  # of one part, thousandths
    rule: str = ""  # why it is left out; empty where it is not


class Shape(NamedTuple):
    """What the parts of jobs of one split are on every node type."""

    # units per slot, 0 where a part does not fit; energy_wh: per slot; memory_mb: the share of a node's.
    rate: list[int]
    energy_wh: list[int]
    memory_mb: int
    best: int  # units per slot of all parts on the fastest type that has room for them


class Sizes(NamedTuple):
    """What a job is on a cluster."""

    split: Split  # split, shape: on how many nodes, and what a part is there
    shape: Shape
    seconds: int  # how long it runs on the log's GPUs
    work: int  # work, limit: units; the limit is 0 where there is none
    limit: int
    memory_mb: int  # of a part
    needed: int  # fewest slots; planned: fewest slots of what its user claims
    planned: int


class Converter:
    """Jobs to tasks, on one cluster, in one unit of work for all."""

    def __init__(self, cluster: Cluster, laws: Laws, form: LogFormat, jobs: Iterable[Job]) -> None:
        self.cluster, self.laws, self.form = cluster, laws, form
        self.run = form.run if laws.run is None else laws.run
        self.widest = 1000 * max(node.gpus for node in cluster.nodes)
        self._splits: dict[tuple[int, str, int, int, bool, ScheduleKind | None], Split] = {}
        self._shapes: dict[tuple[Split, str], Shape] = {}
        amounts = {amount for job in jobs for amount in (job.gpus, self.split(job).gpus)}
        parts = math.lcm(*(1000 // math.gcd(1000, amount) for amount in amounts))
        # One unit: so small a part of a GPU-second that all rates and works are whole.
        self.per_second = parts * math.lcm(*(node.speed.denominator for node in cluster.nodes))

    def compute(self, node: Node) -> int:
        """Units per slot of a node."""
        return int(node.gpus * node.speed * self.laws.slot_seconds * self.per_second)

    def split(self, job: Job) -> Split:
        """On how many nodes the job runs, and how many GPUs it has on each."""
        key = job.gpus, job.kind, job.nodes, job.pods, job.gang, job.run
        if key not in self._splits:
            self._splits[key] = self._find_split(job)
        return self._splits[key]

    def _find_split(self, job: Job) -> Split:
        gpus, types = job.gpus, self._types(job.kind)
        run = job.run if self.laws.run is None and job.run is not None else self.run
        if run in (ScheduleKind.ANY, ScheduleKind.ONE_NODE):
            fits = any(gpus <= 1000 * node.gpus for node in types)
            return Split(run, 1, gpus, "" if fits else WIDE_NODE)
        # Parts are of whole pods, else of whole GPUs, else, of a job that has half a GPU somewhere, of thousandths.
        unit = gpus // job.pods if job.pods else 1000 if gpus % 1000 == 0 else 1
        units = gpus // unit
        if job.nodes > 1 and not job.pods:
            parts = min(job.nodes, max(1, gpus // 1000))  # a node without a GPU does not count
            part = -(-units // parts) * unit
            if parts > 1 and any(part <= 1000 * node.gpus and parts <= node.count for node in types):
                return Split(ScheduleKind.GANG, parts, part)
        if any(gpus <= 1000 * node.gpus for node in types):
            return Split(ScheduleKind.RIGID, 1, gpus)
        if not job.gang and run is not ScheduleKind.GANG:
            return Split(ScheduleKind.RIGID, 1, gpus, LOOSE)
        for node in sorted(types, key=lambda node: -node.gpus):
            most = 1000 * node.gpus // unit
            parts = -(-units // most) if most else 0
            if 1 < parts <= min(node.count, PARTS_LIMIT):
                return Split(ScheduleKind.GANG, parts, -(-units // parts) * unit)
        return Split(ScheduleKind.RIGID, 1, gpus, WIDE)

    def _types(self, kind: str) -> list[Node]:
        """The node types on which a job may run: the one that it names, all where it names none of them."""
        named = [node for node in self.cluster.nodes if node.name.casefold() == kind.casefold()]
        return named or list(self.cluster.nodes)

    def sizes(self, job: Job) -> Sizes | str:
        """The job's sizes, or the rule by which it is left out."""
        split = self.split(job)
        if split.rule:
            return split.rule
        shape = self._shapes.get((split, job.kind))
        if shape is None:
            shape = self._shapes[split, job.kind] = self._shape(split, job.kind)
        seconds, claimed = job.seconds, 0
        if self.run is not ScheduleKind.ANY and job.limit is not None:
            seconds = job.limit if job.killed else job.seconds
            claimed = max(seconds, job.limit)
        gpus = split.parts * split.gpus
        work, limit = (-(-each * gpus * self.per_second // 1000) for each in (seconds, claimed))
        if max(work, limit, split.parts * max(shape.rate)) > LIMIT:
            return HUGE
        memory = shape.memory_mb if job.memory_mb is None else max(1, -(-job.memory_mb // split.parts))
        return Sizes(split, shape, seconds, work, limit, memory, -(-work // shape.best), -(-limit // shape.best))

    def _shape(self, split: Split, kind: str) -> Shape:
        types = self._types(kind)
        rate, energy, share, best = [], [], [], []
        for node in self.cluster.nodes:
            fits = split.gpus <= 1000 * node.gpus and node in types
            number = Fraction(split.gpus, 1000)
            rate.append(int(number * node.speed * self.laws.slot_seconds * self.per_second) if fits else 0)
            energy.append(round(number * node.watts * self.laws.slot_seconds / 3600) if fits else 0)
            share += [int(number * node.memory_mb)] * fits
            best.append(split.parts * rate[-1] * (split.parts <= node.count))
        return Shape(rate, energy, max(1, min(share)), max(best))
