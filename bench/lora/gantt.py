"""The Gantt chart of a solution: which nodes each task runs on, and when."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence

from ratiobench.bench.family.capabilities import Gantt, GanttBlock, GanttTask
from ratiobench.bench.lora.timeline import clock_of
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Solution

ONE_RUN, PAUSES = "one run on one node", "with pauses or moves"
KINDS = {ONE_RUN: "slots in a row on one node", PAUSES: "not in a row, or not on one node"}
Stretch = tuple[int, int, int]  # A node and the first and last slot of a stretch of slots in a row on it
Part = tuple[int, int]  # An interval of a node's compute, in samples per slot


def gantt(instance: Instance, solution: Solution) -> Gantt:
    """A row per node; a stretch of slots in a row on a node keeps its part of the row, as high as its share."""
    kind = instance.public("").type_of_node.tolist()
    compute = [instance.node_types[g].compute for g in kind]
    stretches = {i: find_stretches(decision.cells) for i, decision in enumerate(solution) if decision is not None}
    starts = [
        (first, -int(instance.rate[i, kind[node]]), i, node, last)
        for i, each in stretches.items()
        for node, first, last in each
    ]
    places = _Places(compute)
    blocks: dict[int, list[GanttBlock]] = {i: [] for i in stretches}
    # In the order of their starts: what is free when a stretch begins stays free until whatever begins later.
    for first, size, i, node, last in sorted(starts):
        parts, whole = places.take(node, first, last, -size), compute[node]
        blocks[i] += [GanttBlock(node, first - 1, last, low / whole, high / whole) for low, high in parts]
    clock, clock_title = clock_of(instance)
    tasks = [
        GanttTask(_title(instance, i, each, kind, clock), ONE_RUN if len(each) <= 1 else PAUSES, sorted(blocks[i]))
        for i, each in stretches.items()
    ]
    return Gantt(
        unit="slot",
        times=range(1, instance.slots + 1),
        rows=[f"{node}" for node in range(instance.nodes)],
        groups=[(each.name, each.count) for each in instance.node_types if each.count],
        tasks=tasks,
        kinds=KINDS,
        clock=clock[:-1],
        clock_title=clock_title,
    )


def find_stretches(cells: Iterable[tuple[int, int]]) -> list[Stretch]:
    """The cells in slots in a row on one node, put together, in the order of nodes and slots."""
    found: list[Stretch] = []
    for node, slot in sorted(cells):
        if found and found[-1][0] == node and found[-1][2] == slot - 1:
            found[-1] = (node, found[-1][1], slot)
        else:
            found.append((node, slot, slot))
    return found


class _Places:
    """The free parts of each node's compute, while stretches come in the order of their starts."""

    def __init__(self, compute: Sequence[int]) -> None:
        self._free: list[list[Part]] = [[(0, each)] if each else [] for each in compute]
        self._held: list[list[tuple[int, Part]]] = [[] for _ in compute]

    def take(self, node: int, first: int, last: int, size: int) -> list[Part]:
        """Parts of the node for a stretch: the smallest gap that is large enough, else the lowest gaps."""
        free, held = self._free[node], self._held[node]
        while held and held[0][0] < first:
            _, part = held.pop(0)
            _give_back(free, part)
        fitting = [part for part in free if part[1] - part[0] >= size]
        taken = []
        for part in [min(fitting, key=lambda each: (each[1] - each[0], each))] if fitting else list(free):
            low, high = part
            here = min(size, high - low)
            free.remove(part)
            if high > low + here:
                insort(free, (low + here, high))
            taken.append((low, low + here))
            size -= here
            if not size:
                break
        for part in taken:
            insort(held, (last, part))
        return taken


def _give_back(free: list[Part], part: Part) -> None:
    low, high = part
    for each in [each for each in free if each[1] == low or each[0] == high]:
        free.remove(each)
        low, high = min(low, each[0]), max(high, each[1])
    insort(free, (low, high))


def _title(instance: Instance, i: int, stretches: Sequence[Stretch], kind: Sequence[int], clock: Sequence[str]) -> str:
    nodes = sorted({node for node, _, _ in stretches})
    names = ", ".join(f"{node}" for node in nodes[:8]) + ", ..." * (len(nodes) > 8)
    types = " and ".join(dict.fromkeys(instance.node_types[kind[node]].name for node in nodes))
    first, last = min(each[1] for each in stretches), max(each[2] for each in stretches)
    waited = first - int(instance.arrival[i])
    when = f"slot {first}" if first == last else f"slots {first} to {last}"
    when += f" ({clock[first - 1]} to {clock[last]})"
    words = [
        f"node{'s' * (len(nodes) > 1)} {names} ({types})",
        f"{when}, {waited} slot{'s' * (waited > 1)} after its arrival" if waited else f"{when}, at its arrival",
        f"bid {int(instance.bid[i]):,}",
    ]
    return f"task {i}: {', '.join(words)}"
