"""The main paper's algorithms written down literally, over enumerated schedules and in fractions: the slow twins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from instances.lora.model import Instance, Public, Task

Cells = tuple[tuple[int, int], ...]


def schedules(task: Task, public: Public) -> Iterator[tuple[int, Cells]]:
    """Every schedule of a task: (option, (node, slot) cells in slot order), wasteful covers included."""
    types = public.type_of_node.tolist()
    nodes = [
        k
        for k, g in enumerate(types)
        if 0 < task.rate[g] <= public.compute[g] and task.memory_mb <= public.memory_mb[g]
    ]
    for n, option in enumerate(task.options):
        slots = range(option.first, task.deadline + 1)
        for picks in itertools.product([None, *nodes], repeat=len(slots)):
            cells = tuple((k, t) for k, t in zip(picks, slots, strict=True) if k is not None)
            if sum(int(task.rate[types[k]]) for k, _ in cells) >= task.work:
                yield n, cells


def figures(task: Task, public: Public, option: int, cells: Cells) -> tuple[int, int, int]:
    """(S, n, b_il) of a schedule."""
    types = public.type_of_node.tolist()
    work = sum(int(task.rate[types[k]]) for k, _ in cells)
    energy = sum(int(task.cost[types[k], t - 1]) for k, t in cells)
    return work, len(cells), task.bid - task.options[option].price - energy


Price = dict[tuple[int, int], Fraction]


def objective(task: Task, public: Public, option: int, cells: Cells, lam: Price, phi: Price) -> Fraction:
    """F(il), equation (10)."""
    work, n, net = figures(task, public, option, cells)
    zero = Fraction(0)
    return (
        net
        - max((lam.get(c, zero) for c in cells), default=zero) * work
        - max((phi.get(c, zero) for c in cells), default=zero) * task.memory_mb * n
    )


def best_by_enumeration(task: Task, public: Public, lam: Price, phi: Price) -> tuple[Fraction, int, Cells] | None:
    """(9) with the project's ties: first option, fewest cells, smallest list of (slot, node)."""
    graded = [
        (-objective(task, public, option, cells, lam, phi), option, len(cells), [(t, k) for k, t in cells])
        for option, cells in schedules(task, public)
    ]
    if not graded:
        return None
    value, option, _, listed = min(graded)
    return -value, option, tuple((k, t) for t, k in listed)


def best_by_printed_table(task: Task, public: Public, lam: Price, phi: Price) -> tuple[Fraction, int, Cells] | None:
    """Algorithm 2 with the table in units of one sample, loops as printed, overshoot clipped, first slot usable."""
    types = public.type_of_node.tolist()
    zero = Fraction(0)
    best: tuple[Fraction, int, Cells] | None = None
    for n, option in enumerate(task.options):
        if option.first > task.deadline:
            continue
        layer: list[tuple[Fraction, Cells] | None] = [(zero, ())] + [None] * task.work
        for t in range(option.first, task.deadline + 1):
            new = list(layer)
            for w in range(1, task.work + 1):
                for k, g in enumerate(types):
                    s = int(task.rate[g])
                    if not (0 < s <= public.compute[g] and task.memory_mb <= public.memory_mb[g]):
                        continue
                    before = layer[max(0, w - s)]
                    if before is None:
                        continue
                    cells = (*before[1], (k, t))
                    value = _printed_objective(task, types, cells, lam, phi)
                    old = new[w]
                    if old is None or value < old[0]:
                        new[w] = (value, cells)
            layer = new
        end = layer[task.work]
        if end is not None:
            value = objective(task, public, n, end[1], lam, phi)
            if best is None or value > best[0]:
                best = (value, n, end[1])
    return best


def _printed_objective(task: Task, types: list[int], cells: Cells, lam: Price, phi: Price) -> Fraction:
    zero = Fraction(0)
    work = sum(int(task.rate[types[k]]) for k, _ in cells)
    energy = sum(int(task.cost[types[k], t - 1]) for k, t in cells)
    top_lam = max(lam.get(c, zero) for c in cells)
    top_phi = max(phi.get(c, zero) for c in cells)
    return top_lam * work + top_phi * task.memory_mb * len(cells) + energy


def run_pdftsp(
    instance: Instance, search: str, *, critical: bool = False
) -> list[tuple[Fraction | None, bool, Cells, int | None]]:
    """Algorithm 1: per task F, admitted, schedule, charge."""
    public = instance.public("")
    types = public.type_of_node.tolist()
    alpha = max(
        (Fraction(int(b), int(m)) for b, m in zip(instance.bid, instance.work, strict=True)), default=Fraction(0)
    )
    beta = max(
        (Fraction(int(b), int(r)) for b, r in zip(instance.bid, instance.memory_mb, strict=True)), default=Fraction(0)
    )
    lam: Price = {}
    phi: Price = {}
    load: dict[tuple[int, int], tuple[int, int]] = {}
    out: list[tuple[Fraction | None, bool, Cells, int | None]] = []
    find = best_by_enumeration if search == "exact" else best_by_printed_table
    for i in range(instance.tasks):
        task = instance.task(i)
        found = find(task, public, lam, phi)
        if found is None:
            out.append((None, False, (), None))
            continue
        value, option, cells = found
        admitted, payment = False, None
        if value > 0:
            work, n, net = figures(task, public, option, cells)
            lift = Fraction(net, work + task.memory_mb * n)
            for k, t in cells:
                g = types[k]
                share = Fraction(int(task.rate[g]), int(public.compute[g]))
                lam[k, t] = lam.get((k, t), Fraction(0)) * (1 + share) + alpha * lift * share
                share = Fraction(task.memory_mb, int(public.memory_mb[g]))
                phi[k, t] = phi.get((k, t), Fraction(0)) * (1 + share) + beta * lift * share
            after = {
                (k, t): (
                    load.get((k, t), (0, 0))[0] + int(task.rate[types[k]]),
                    load.get((k, t), (0, 0))[1] + task.memory_mb,
                )
                for k, t in cells
            }
            admitted = all(
                c <= public.compute[types[k]] and m <= public.memory_mb[types[k]] for (k, _), (c, m) in after.items()
            )
            if admitted:
                load.update(after)
                exact = task.bid - value if critical else net - value + task.options[option].price
                payment = math.ceil(exact)
        out.append((value, admitted, cells, payment))
    return out
