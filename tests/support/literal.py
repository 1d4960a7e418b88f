"""The main paper's algorithms written down literally, over enumerated schedules and in fractions: the slow twins."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import content_hash, document, parse
from ratiobench.instances.lora.model import Instance, Public, Task

Cells = tuple[tuple[int, int], ...]


def in_gigabytes(instance: Instance) -> Instance:
    """The instance with its numbers of GB as MB: what twins that count in the units of the file are compared on."""
    return scale_memory(instance, Fraction(1, 1000))


def scale_memory(instance: Instance, factor: Fraction | int) -> Instance:
    """The instance with all amounts of memory multiplied."""
    data = document(instance)
    data["base_memory_mb"] = int(factor * data["base_memory_mb"])
    for each in (*data["node_types"], *data["tasks"]):
        each["memory_mb"] = int(factor * each["memory_mb"])
    return parse(data)


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


Number = Fraction | float
Price = dict[tuple[int, int], Number]


def objective(task: Task, public: Public, option: int, cells: Cells, lam: Price, phi: Price) -> Number:
    """F(il), equation (10); with doubles in the order ((b - q - E) - lambda S) - phi (r n)."""
    work, n, net = figures(task, public, option, cells)
    zero = Fraction(0)
    return (
        net
        - max((lam.get(c, zero) for c in cells), default=zero) * work
        - max((phi.get(c, zero) for c in cells), default=zero) * (task.memory_mb * n)
    )


def best_by_enumeration(task: Task, public: Public, lam: Price, phi: Price) -> tuple[Number, int, Cells] | None:
    """(9) with the project's ties: first option, fewest cells, smallest list of (slot, node)."""
    graded = [
        (-objective(task, public, option, cells, lam, phi), option, len(cells), [(t, k) for k, t in cells])
        for option, cells in schedules(task, public)
    ]
    if not graded:
        return None
    value, option, _, listed = min(graded)
    return -value, option, tuple((k, t) for t, k in listed)


def best_by_printed_table(
    task: Task, public: Public, lam: Price, phi: Price, *, repriced: bool = True
) -> tuple[Number, int, Cells] | None:
    """Algorithm 2 with the table in units of one sample, loops as printed, overshoot clipped, first slot usable.

    Delta (line 11) is the increment of (12) by a cell; not `repriced`, the other reading: the cost of the cell alone at
    the largest prices of the path, what stands before it staying at what it cost.
    """
    types = public.type_of_node.tolist()
    zero = Fraction(0)
    best: tuple[Number, int, Cells] | None = None
    for n, option in enumerate(task.options):
        if option.first > task.deadline:
            continue
        layer: list[tuple[Number, Cells] | None] = [(zero, ())] + [None] * task.work
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
                    if not repriced:
                        top = max(lam.get(c, zero) for c in cells), max(phi.get(c, zero) for c in cells)
                        value = before[0] + (top[0] * s + top[1] * task.memory_mb + int(task.cost[g, t - 1]))
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


def _printed_objective(task: Task, types: list[int], cells: Cells, lam: Price, phi: Price) -> Number:
    zero = Fraction(0)
    work = sum(int(task.rate[types[k]]) for k, _ in cells)
    energy = sum(int(task.cost[types[k], t - 1]) for k, t in cells)
    top_lam = max(lam.get(c, zero) for c in cells)
    top_phi = max(phi.get(c, zero) for c in cells)
    return top_lam * work + top_phi * (task.memory_mb * len(cells)) + energy


def run_pdftsp(
    instance: Instance, search: str, *, critical: bool = False, floats: bool = False, ghosts: bool = True
) -> list[tuple[Number | None, bool, Cells, int | None]]:
    """Algorithm 1: per task F, admitted, schedule, charge; with `floats` in doubles, in the order of the formulas.

    Without `ghosts` a task that does not fit moves no price.
    """
    public = instance.public("")
    types = public.type_of_node.tolist()
    number: type[Number] = float if floats else Fraction
    bids = instance.bid.tolist()
    alpha = number(max((Fraction(b, m) for b, m in zip(bids, instance.work.tolist(), strict=True)), default=0))
    beta = number(max((Fraction(b, r) for b, r in zip(bids, instance.memory_mb.tolist(), strict=True)), default=0))
    zero = number(0)
    lam: Price = {}
    phi: Price = {}
    load: Load = {}
    out: list[tuple[Number | None, bool, Cells, int | None]] = []
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
            bbar = number(net) / number(work + task.memory_mb * n)
            admitted = all(_stands(load, task, public, k, t) for k, t in cells)
            for k, t in cells if ghosts or admitted else ():
                g = types[k]
                share = number(int(task.rate[g])) / number(int(public.compute[g]))
                lam[k, t] = lam.get((k, t), zero) * (1 + share) + alpha * (bbar * share)
                share = number(task.memory_mb) / number(int(public.memory_mb[g]))
                phi[k, t] = phi.get((k, t), zero) * (1 + share) + beta * (bbar * share)
            if admitted:
                place(load, task, public, cells)
                paid = task.bid - value
                if not critical:
                    paid -= task.bid - task.options[option].price - net
                payment = math.ceil(paid)
        out.append((value, admitted, cells, payment))
    return out


# ------------------------------------------------------------------------------------------------ the baselines

Load = dict[tuple[int, int], tuple[int, int, int]]  # What stands on a cell: samples, MB (base model left out), tasks


def _stands(load: Load, task: Task, public: Public, node: int, slot: int) -> bool:
    """Whether the task fits on the cell beside what stands there."""
    g = int(public.type_of_node[node])
    samples, memory, _ = load.get((node, slot), (0, 0, 0))
    return bool(
        task.rate[g] > 0
        and samples + task.rate[g] <= public.compute[g]
        and memory + task.memory_mb + public.base_memory_mb <= public.node_types[g].memory_mb
    )


def place(load: Load, task: Task, public: Public, cells: Cells) -> None:
    for k, t in cells:
        samples, memory, tasks = load.get((k, t), (0, 0, 0))
        rate = int(task.rate[public.type_of_node[k]])
        load[k, t] = (samples + rate, memory + task.memory_mb, tasks + 1)


Answer = tuple[int | None, Cells, int | None]  # Vendor, cells, charge


def run_earliest_finish(instance: Instance, *, alone: bool, profitable: bool) -> list[Answer | None]:
    """EFT; with `alone` NTM: a drawn vendor, and nodes that nobody else uses in the slot."""
    public = instance.public(content_hash(instance))
    load: Load = {}
    answers: list[Answer | None] = []
    for i in range(instance.tasks):
        task = instance.task(i)
        vendors = list(enumerate(task.vendors)) or [(None, None)]
        if alone:
            n, vendor = vendors[Stream("vendor", public.seed, i).integer(0, len(vendors) - 1)]
        else:
            n, vendor = min(vendors, key=lambda pair: (pair[1].delay, pair[1].price, pair[0]) if pair[1] else (0, 0, 0))
        first = task.arrival + (vendor.delay if vendor else 0)
        done, net, cells = 0, task.bid - (vendor.price if vendor else 0), ()
        for t in range(first, task.deadline + 1):
            if done >= task.work:
                break
            fastest = None
            for k in range(public.nodes):
                free = not alone or load.get((k, t), (0, 0, 0))[2] == 0
                if free and _stands(load, task, public, k, t):
                    rate = int(task.rate[public.type_of_node[k]])
                    if fastest is None or rate > fastest[0]:
                        fastest = (rate, k)
            if fastest is not None:
                done += fastest[0]
                net -= int(task.cost[public.type_of_node[fastest[1]], t - 1])
                cells = (*cells, (fastest[1], t))
        if done < task.work or (profitable and net <= 0):
            answers.append(None)
        else:
            place(load, task, public, cells)
            answers.append((n, cells, None))
    return answers


def _vendor(task: Task, option: int) -> int | None:
    return option if task.vendors else None


def run_greedy(instance: Instance) -> list[Answer | None]:
    """The cheapest schedule with room, by looking at all; ties as in `best_by_enumeration`."""
    public = instance.public("")
    load: Load = {}
    answers: list[Answer | None] = []
    for i in range(instance.tasks):
        task = instance.task(i)
        graded = []
        for option, cells in schedules(task, public):
            if all(_stands(load, task, public, k, t) for k, t in cells):
                cost = task.bid - figures(task, public, option, cells)[2]
                graded.append((cost, option, len(cells), [(t, k) for k, t in cells], cells))
        if graded and min(graded)[0] < task.bid:
            cost, option, _, _, cells = min(graded)
            place(load, task, public, cells)
            answers.append((_vendor(task, option), cells, cost))
        else:
            answers.append(None)
    return answers


def eris_bounds(instance: Instance) -> tuple[Fraction, Fraction]:
    """L, U = min, max of b_i / (M_i + slots needed * (r_i + r_b)) over the tasks that bid and can run somewhere."""
    public = instance.public("")
    density = []
    for i in range(instance.tasks):
        task = instance.task(i)
        rates = [
            int(task.rate[g])
            for g, node in enumerate(instance.node_types)
            if 0 < task.rate[g] <= node.compute and task.memory_mb + public.base_memory_mb <= node.memory_mb
        ]
        if rates and task.bid:
            slots = math.ceil(Fraction(task.work, max(rates)))
            density.append(Fraction(task.bid, task.work + slots * (task.memory_mb + public.base_memory_mb)))
    return (min(density), max(density)) if density else (Fraction(1), Fraction(1))


def eris_price(low: Fraction, high: Fraction, load: int, capacity: int) -> Fraction:
    """k(y) = L (U/L)^(y/C), to the nearest 2^-20."""
    with localcontext() as context:
        context.prec = 80
        ratio = Decimal(high.numerator) / high.denominator * low.denominator / low.numerator
        value = Decimal(low.numerator) / low.denominator * ratio ** (Decimal(load) / capacity)
        return Fraction(int((value * 2**20).to_integral_value()), 2**20)


def eris_exact(low: Fraction, high: Fraction, load: int, capacity: int) -> Fraction:
    """k(y) to 40 digits, and L itself at load 0: what the bid is compared with."""
    with localcontext() as context:
        context.prec = 40
        small = Decimal(low.numerator) / low.denominator
        growth = (Decimal(high.numerator) / high.denominator / small).ln()
        return low if load == 0 else Fraction(small * (growth * load / capacity).exp())


def run_eris(instance: Instance) -> list[Answer | None]:
    """Additive prices, every task with a base model of its own on each of its nodes."""
    public = instance.public("")
    low, high = eris_bounds(instance)
    load: Load = {}
    heavy: dict[tuple[int, int], int] = {}
    answers: list[Answer | None] = []
    for i in range(instance.tasks):
        task = instance.task(i)
        weight = task.memory_mb + public.base_memory_mb

        def price(k: int, t: int) -> Fraction:
            node = public.node_types[public.type_of_node[k]]
            samples, used = load.get((k, t), (0, 0, 0))[0], heavy.get((k, t), 0)
            rate = int(task.rate[public.type_of_node[k]])  # noqa: B023
            memory = eris_price(low, high, used, node.memory_mb) * weight  # noqa: B023
            return eris_price(low, high, samples, node.compute) * rate + memory

        def exact(k: int, t: int) -> Fraction:
            node = public.node_types[public.type_of_node[k]]
            samples, used = load.get((k, t), (0, 0, 0))[0], heavy.get((k, t), 0)
            rate = int(task.rate[public.type_of_node[k]])  # noqa: B023
            memory = eris_exact(low, high, used, node.memory_mb) * weight  # noqa: B023
            return eris_exact(low, high, samples, node.compute) * rate + memory

        def fits(k: int, t: int) -> bool:
            room = public.node_types[public.type_of_node[k]].memory_mb
            return _stands(load, task, public, k, t) and heavy.get((k, t), 0) + weight <= room  # noqa: B023

        graded = []
        for option, cells in schedules(task, public):
            if all(fits(k, t) for k, t in cells):
                cost = task.bid - figures(task, public, option, cells)[2] + sum(price(k, t) for k, t in cells)
                graded.append((cost, option, len(cells), [(t, k) for k, t in cells], cells))
        cost = Fraction(task.bid)
        if graded:
            _, option, _, _, cells = min(graded)
            cost = task.bid - figures(task, public, option, cells)[2] + sum(exact(k, t) for k, t in cells)
        if cost < task.bid:
            place(load, task, public, cells)
            for cell in cells:
                heavy[cell] = heavy.get(cell, 0) + weight
            answers.append((_vendor(task, option), cells, math.ceil(cost)))
        else:
            answers.append(None)
    return answers


def best_batch(tasks: list[Task], options: list[int], public: Public, load: Load) -> int:
    """Titan's MILP by looking at everything: the best welfare of a batch with its vendors fixed, beside what stands."""
    menus = []
    for task, option in zip(tasks, options, strict=True):
        menu = [(figures(task, public, n, cells)[2], cells) for n, cells in schedules(task, public) if n == option]
        menus.append([(0, ()), *((value, cells) for value, cells in menu if value > 0)])

    def best(j: int, here: Load) -> int:
        if j == len(tasks):
            return 0
        found = 0
        for value, cells in menus[j]:
            if all(_stands(here, tasks[j], public, k, t) for k, t in cells):
                after = dict(here)
                place(after, tasks[j], public, cells)
                found = max(found, value + best(j + 1, after))
        return found

    return best(0, load)
