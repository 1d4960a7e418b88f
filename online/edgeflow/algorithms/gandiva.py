"""Gandiva: jobs of one size share sets of nodes in turns; not deadline-aware, always the requested share.

A set is for one size n and has ceil(n / g) nodes of g GPUs; floor(g nodes / n) of its jobs run at once, its capacity. A
job joins the set of its size that has the fewest jobs, if that is below capacity; else it opens a set on free nodes;
else it joins the least used one anyway; else it waits. A set that is empty frees its nodes. Every 60 s each set lets
the next ones run, in a ring; but not while a job stands still in a stall that takes as long as a turn, for then nobody
would ever get on.

Left out are packing several jobs onto one GPU, growing and shrinking, and what the artifact's function
`gandiva_node_set_adjust` does: it gives free nodes to the sizes of jobs whose sets are crowded, and takes nodes from
others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ratiobench.instances.edgeflow.model import CLOUD, Job, Public
from ratiobench.online.edgeflow.policy import COMMON, Sharing
from ratiobench.online.edgeflow.protocol import Answer, View
from ratiobench.online.edgeflow.registry import Entry, register

TURN_S = 60  # Seconds after which a set lets the next jobs run


class _Set:
    """Nodes for jobs of one size; those at the head of the ring run."""

    __slots__ = ("capacity", "nodes", "ring")

    def __init__(self, nodes: int, capacity: int) -> None:
        self.nodes, self.capacity = nodes, capacity
        self.ring: list[int] = []

    def turn(self) -> None:
        if len(self.ring) > self.capacity:
            self.ring = self.ring[self.capacity :] + self.ring[: self.capacity]


class Gandiva(Sharing):
    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        self._node = min(public.node_gpus, public.gpus)
        self._free = public.gpus // self._node
        self._sets: dict[int, list[_Set]] = {}
        self._waiting: list[int] = []
        self._turn: int | None = None

    def share(self, view: View, new: Sequence[Job]) -> Answer:
        here = set(view.index.tolist())
        self._leave(here)
        if self._turn is not None and view.second >= self._turn:
            still = self._still(view)
            for each in self._all():
                if still.isdisjoint(each.ring[: each.capacity]):
                    each.turn()
            self._turn = None
        waiting = [i for i in self._waiting if i in here] + [job.index for job in new]
        self._waiting = [i for i in waiting if not self._join(self.jobs[i])]
        crowded = any(len(each.ring) > each.capacity for each in self._all())
        if not crowded:
            self._turn = None
        elif self._turn is None:
            self._turn = view.second + TURN_S
        named = {i: (CLOUD, self.jobs[i].gpus) for each in self._all() for i in each.ring[: each.capacity]}
        return Answer(named, self._turn)

    def _still(self, view: View) -> set[int]:
        """Who has not progressed yet, because its stall is no shorter than a turn."""
        pairs = zip(view.index.tolist(), view.ready.tolist(), strict=True)
        late = [self.jobs[i] for i, ready in pairs if ready >= view.second]
        return {job.index for job in late if self.public.models[job.model].overhead_s >= TURN_S}

    def _all(self) -> list[_Set]:
        return [each for sets in self._sets.values() for each in sets]

    def _leave(self, here: set[int]) -> None:
        for sets in self._sets.values():
            for each in sets:
                each.ring = [i for i in each.ring if i in here]
                self._free += 0 if each.ring else each.nodes
            sets[:] = [each for each in sets if each.ring]

    def _join(self, job: Job) -> bool:
        if not self.requested(job):
            return False
        sets = self._sets.setdefault(job.gpus, [])
        least = min(sets, key=lambda each: len(each.ring), default=None)
        if least is None or len(least.ring) >= least.capacity:
            nodes = -(-job.gpus // self._node)
            if nodes <= self._free:
                self._free -= nodes
                least = _Set(nodes, nodes * self._node // job.gpus)
                sets.append(least)
        if least is None:
            return False
        least.ring.append(job.index)
        return True


register(
    Entry(
        "gandiva",
        "jobs of one size take turns on sets of nodes, at the requested share; not deadline-aware",
        "2",
        COMMON,
        lambda options: Gandiva(),
    )
)
