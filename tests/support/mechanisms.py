"""What tests of mechanisms share: names, instances, prices, and the definition over enumerated schedules."""

import math
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Instance, parse
from ratiobench.instances.lora.model import Public, Task
from ratiobench.online.lora.traces import Rule
from tests.support.literal import schedules
from tests.support.lora_documents import make_instance, make_node
from tests.support.strategies.lora import tiny_documents, tiny_instances

MECHANISMS = ("posted", "minimal-edit", "capped", "bbar-rule")
CANONICAL = "minimal-edit:units=canonical"
Prices = dict[tuple[int, int], Fraction]


@st.composite
def roomy_instances(draw: st.DrawFn, max_tasks: int = 5, scale: int = 1) -> Instance:
    """Tiny instances on nodes that no task can fill (eps < 1); bids times `scale`."""
    data = draw(tiny_documents(max_tasks))
    for node in data["node_types"]:
        node["compute"] = draw(st.integers(6, 12))
        node["memory_mb"] = data["base_memory_mb"] + draw(st.integers(8, 14))
    for task in data["tasks"]:
        task["bid"] *= scale
        task.pop("valuation", None)
    return parse(data, "<hypothesis>")


@st.composite
def priced_instances(draw: st.DrawFn) -> tuple[Instance, Prices, Prices]:
    """A tiny instance with prices in eighths on some cells: doubles hold all their sums exactly."""
    instance = draw(tiny_instances())
    cells = [(k, t) for k in range(instance.nodes) for t in range(1, instance.slots + 1)]
    table = st.dictionaries(st.sampled_from(cells), st.integers(1, 24).map(lambda n: Fraction(n, 8)))
    return instance, draw(table), draw(table)


def crowded(draw: Stream) -> Instance:
    """Tasks that all find the same cells cheapest, on one or two nodes that hold two or three of them: many drops."""

    def numbers(low: int, high: int, size: int) -> list[int]:
        return [int(value) for value in draw.integers(low, high, size)]

    slots, types = draw.integer(1, 3), draw.integer(1, 2)
    low = -6 if draw.integer(1, 3) == 1 else 0
    shared = [numbers(low, 9, slots) for _ in range(types)]
    tasks = []
    for arrival in sorted((1, 1, slots)[place] for place in draw.integers(0, 2, draw.integer(3, 7))):
        bid = draw.integer(10, 60)
        tasks.append(
            {
                "arrival": arrival,
                "deadline": arrival if draw.integer(1, 5) == 1 else slots,
                "memory_mb": draw.integer(1, 5),
                "work": draw.integer(1, 6),
                "bid": bid,
                "valuation": bid if draw.integer(0, 1) else draw.integer(5, 60),
                "rate": numbers(1, 6, types),
                "cost": [[e + draw.integer(0, 1) for e in row] for row in shared],
                "vendors": [
                    {"price": draw.integer(0, 12), "delay": draw.integer(0, 1)} for _ in range(draw.integer(-1, 2))
                ],
            }
        )
    return make_instance(
        slots,
        [
            make_node(count=draw.integer(1, 3 - types), compute=draw.integer(6, 9), memory_mb=draw.integer(5, 10))
            for _ in range(types)
        ],
        tasks,
    )


def _cost(task: Task, public: Public, option: int, cells: Any, lam: Prices, phi: Prices) -> Fraction:
    """c = q + sum (lambda s + phi r + e), term by term."""
    kind = public.type_of_node.tolist()
    total = Fraction(task.options[option].price)
    for k, t in cells:
        total += lam.get((k, t), Fraction(0)) * int(task.rate[kind[k]]) + int(task.cost[kind[k], t - 1])
        total += phi.get((k, t), Fraction(0)) * task.memory_mb
    return total


def cheapest_by_enumeration(
    task: Task, public: Public, lam: Prices, phi: Prices, fits: Any = None
) -> tuple[Fraction, int, tuple[tuple[int, int], ...]] | None:
    """The cheapest schedule with the project's ties: first option, fewest cells, smallest list of (slot, node)."""
    graded = [
        (_cost(task, public, option, cells, lam, phi), option, len(cells), [(t, k) for k, t in cells])
        for option, cells in schedules(task, public)
        if fits is None or all(fits(k, t) for k, t in cells)
    ]
    if not graded:
        return None
    cost, option, _, listed = min(graded)
    return cost, option, tuple((k, t) for t, k in listed)


def decide_by_definition(
    instance: Instance, rule: Rule, book: tuple[Prices, Prices] | None = None
) -> list[tuple[Fraction | None, tuple[int | None, Any, int] | None]]:
    """The mechanism written down over enumerated schedules: (c, answer) per task; final prices into `book`."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    lam, phi = book or ({}, {})
    load: dict[tuple[int, int], list[int]] = {}
    out: list[tuple[Fraction | None, tuple[int | None, Any, int] | None]] = []
    for i in range(instance.tasks):
        task = instance.task(i)

        def fits(k: int, t: int) -> bool:
            used = load.get((k, t), [0, 0])
            g = kind[k]
            return bool(
                used[0] + task.rate[g] <= public.compute[g]  # noqa: B023
                and used[1] + task.memory_mb <= public.memory_mb[g]  # noqa: B023
            )

        found = cheapest_by_enumeration(task, public, lam, phi, fits if rule.tested else None)
        if found is None or task.bid <= found[0]:
            out.append((None if found is None else found[0], None))
            continue
        cost, option, cells = found
        work = sum(int(task.rate[kind[k]]) for k, _ in cells)
        net = task.bid - task.options[option].price - sum(int(task.cost[kind[k], t - 1]) for k, t in cells)
        use = task.memory_mb * len(cells)
        v = net / (rule.weights[0] * work + rule.weights[1] * use) if rule.by_bbar else Fraction(1)
        for k, t in cells:
            d = Fraction(int(task.rate[kind[k]]), int(public.compute[kind[k]]))
            lam[k, t] = lam.get((k, t), Fraction(0)) * (1 + rule.growth * d) + rule.eta_c * v * d
            d = Fraction(task.memory_mb, int(public.memory_mb[kind[k]]))
            phi[k, t] = phi.get((k, t), Fraction(0)) * (1 + rule.growth * d) + rule.eta_m * v * d
            here = load.setdefault((k, t), [0, 0])
            here[0] += int(task.rate[kind[k]])
            here[1] += task.memory_mb
        out.append((cost, (option if task.vendors else None, cells, math.ceil(cost))))
    return out
