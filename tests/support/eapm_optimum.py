"""What tests of OPT of EAPM share: instances made by hand or by a stream, and OPT by looking at every user."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ratiobench.instances.eapm import Instance, Solution
from ratiobench.instances.eapm import parse as parse_instance
from ratiobench.instances.eapm.format import FORMAT
from ratiobench.instances.io.seeds import Stream

Document = dict[str, Any]


def made(seed: int, users: int, types: int = 30, machines: int = 9, gamma: int = 120) -> Instance:
    """Times that differ by a factor of up to 30, powers by one of 2, prices gamma percent of the least cost."""
    stream = Stream("test_eapm_opt", seed)
    kinds = [
        {
            "name": f"t{k}",
            "etc_ms": stream.integers(100, 3000, machines).tolist(),
            "apc_mw": stream.integers(80_000, 160_000, machines).tolist(),
        }
        for k in range(types)
    ]
    bags = []
    for i in range(users):
        k, tasks = i % types, stream.integer(200, 1000)
        least = min(t * w for t, w in zip(kinds[k]["etc_ms"], kinds[k]["apc_mw"], strict=True))
        bags.append({"type": k, "tasks": tasks, "price": gamma * tasks * least // 100})
    names = [f"m{j}" for j in range(machines)]
    return small(kinds, bags, names)


def small(kinds: list[Document], users: list[Document], machines: list[str], energy_price: int = 1) -> Instance:
    data = {"format": FORMAT, "name": "made", "energy_price": energy_price, "machines": machines}
    return parse_instance(data | {"task_types": kinds, "users": users})


def literal_rate(instance: Instance, solution: Solution) -> Fraction:
    """(4) term by term."""
    profit = sum(int(p) for p in instance.price)
    loads = [0] * len(instance.machines)
    for i, decision in enumerate(solution):
        assert decision is not None
        for j, share in enumerate(decision):
            etc, apc = int(instance.etc_ms[instance.kind[i], j]), int(instance.apc_mw[instance.kind[i], j])
            profit -= share * instance.energy_price * etc * apc
            loads[j] += share * etc
    return Fraction(profit, max(loads) * 1000)


def literal_solutions(instance: Instance) -> Iterator[Solution]:
    """Every solution, user by user: all m-tuples of 0..a_i that add up to a_i."""
    machines = len(instance.machines)
    menus = [[x for x in itertools.product(range(int(a) + 1), repeat=machines) if sum(x) == a] for a in instance.tasks]
    yield from itertools.product(*menus)


def literal_optimum(instance: Instance) -> Fraction:
    """OPT by looking at every solution."""
    return max(literal_rate(instance, solution) for solution in literal_solutions(instance))
