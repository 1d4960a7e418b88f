"""The data of EAPM (eq. 4-7), in integers: milliseconds, milliwatts, microjoules, micro-units of money.

One joule costs `energy_price` units of money, so a microjoule (a millisecond at a milliwatt) costs as many micro-units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ratiobench.instances.arrays import IntArray as IntArray
from ratiobench.instances.arrays import freeze as freeze
from ratiobench.instances.io.documents import Signed
from ratiobench.instances.io.errors import make_printable


@dataclass(frozen=True, slots=True, eq=False)
class User:
    """User i as known on arrival: a bag of identical tasks, to be placed whole and at once.

    Parameters
    ----------
    index : position in the order of arrival, from 0.
    tasks : a_i, tasks in the bag.
    price : p_i, micro-units, for the whole bag; it is paid whatever is decided.
    etc_ms : (m,) ETC_ij, milliseconds that one task takes on machine j.
    cost : (m,) c * ETC_ij * APC_ij, micro-units that one task costs on machine j.
    energy_uj : (m,) ETC_ij * APC_ij, microjoules; machines stand in its order even where energy costs nothing.
    """

    index: int
    tasks: int
    price: int
    etc_ms: IntArray
    cost: IntArray
    energy_uj: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Public:
    """The public part, known before the first arrival, without the number of users and their task types.

    Parameters
    ----------
    machines : m names.
    energy_price : c, micro-units per microjoule.
    """

    machines: tuple[str, ...]
    energy_price: int


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """n users in order of arrival, each with a bag of tasks of one of K types, m machines."""

    name: str  # name, origin, cache: not part of the identity (hash)
    origin: Mapping[str, Any]
    energy_price: int  # c, micro-units of money per microjoule
    machines: tuple[str, ...]  # m names
    task_types: tuple[str, ...]  # K names
    etc_ms: IntArray  # etc_ms, apc_mw: (K, m) of a task of the type on the machine
    apc_mw: IntArray
    kind: IntArray  # (n,) the type of each user's tasks
    tasks: IntArray  # (n,) a_i
    price: IntArray  # (n,) p_i, micro-units for the whole bag
    cache: dict[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        size = f"{self.users} users, {len(self.machines)} machines, {len(self.task_types)} types of task"
        return f"<Instance {make_printable(self.name, 80)}: {size}>"

    def _repr_html_(self) -> str:
        from ratiobench.instances.io.display import format_number, make_html

        facts = {
            "users": self.users,
            "tasks": format_number(sum(map(int, self.tasks))),
            "sum of prices, micro-units": format_number(sum(map(int, self.price))),
            "energy price, micro-units per microjoule": self.energy_price,
        }
        bags = np.bincount(self.kind, minlength=len(self.task_types))
        kinds = [
            (name, int(count), f"{int(etc.min())} to {int(etc.max())}", f"{int(power.min())} to {int(power.max())}")
            for name, count, etc, power in zip(self.task_types, bags, self.etc_ms, self.apc_mw, strict=True)
        ]
        return make_html(self.name, facts, ("type of task", "users", "milliseconds", "milliwatts"), kinds[:50])

    @property
    def users(self) -> int:
        return len(self.tasks)

    @property
    def cost(self) -> IntArray:
        """(K, m) c * ETC * APC: micro-units that one task of the type costs on the machine."""
        return freeze(self.energy_price * self.etc_ms * self.apc_mw)

    def public(self) -> Public:
        return Public(self.machines, self.energy_price)

    def user(self, i: int) -> User:
        """User i, from 0, as an online algorithm sees it on arrival, with arrays of its own."""
        etc, apc = self.etc_ms[self.kind[i]], self.apc_mw[self.kind[i]]
        energy = etc * apc
        bag = int(self.tasks[i]), int(self.price[i])
        return User(i, *bag, freeze(etc), freeze(self.energy_price * energy), freeze(energy))


def profit_rate(profit: int, makespan_ms: int) -> Fraction:
    """The objective (4), exactly, in units of money per second."""
    return Fraction(profit, 1000 * makespan_ms)


Decision = tuple[Signed, ...]  # x_i: how many of a user's tasks each machine gets
# One decision per user in order of arrival; None where there is none, which no valid solution has
Solution = tuple[Decision | None, ...]


Rows = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Anchors:
    """Costs and finish times of the two placements that look at no price."""

    least_cost: int  # E_min, micro-units: every task on its cheapest machine
    # E_avg, micro-units: every bag split evenly over the machines, in fractions of tasks where need be.
    average_cost: Fraction
    greedy_ms: int  # the makespan of the cheapest placement; of machines equally cheap, the first
    average_ms: Fraction  # the makespan of the even one

    @property
    def energy(self) -> Fraction | None:
        """E_avg / E_min; None if the cheapest placement costs nothing."""
        return self.average_cost / self.least_cost if self.least_cost else None

    @property
    def span(self) -> Fraction:
        """MS_greedy / MS_avg."""
        return self.greedy_ms / self.average_ms

    @property
    def rate(self) -> Fraction:
        """E_min / MS_greedy, units of money per second."""
        return profit_rate(self.least_cost, self.greedy_ms)


def anchors_of(etc_ms: Rows, cost: Rows, tasks: Sequence[int]) -> Anchors:
    """The figures of rows (K, m) of times and costs, with (K,) tasks of each row."""
    machines = len(etc_ms[0])
    least = average = 0
    greedy, even = [0] * machines, [0] * machines
    for times, costs, count in zip(etc_ms, cost, tasks, strict=True):
        cheapest = min(costs)
        least += count * cheapest
        average += count * sum(costs)
        place = costs.index(cheapest)
        greedy[place] += count * times[place]
        for j, time in enumerate(times):
            even[j] += count * time
    return Anchors(least, Fraction(average, machines), max(greedy), Fraction(max(even), machines))


def find_anchors(instance: Instance, cost: IntArray) -> Anchors:
    """The figures of an instance with these (K, m) costs of a task."""
    count = [0] * len(instance.task_types)
    for kind, tasks in zip(instance.kind.tolist(), instance.tasks.tolist(), strict=True):
        count[kind] += tasks
    return anchors_of(instance.etc_ms.tolist(), cost.tolist(), count)


def describe(instance: Instance) -> Mapping[str, Any]:
    """Figures to show, rounded; ``price`` is the sum of prices over E_min, None if E_min is 0."""
    known = find_anchors(instance, instance.cost)
    paid = int(instance.price.sum())
    return {
        "users": instance.users,
        "tasks": int(instance.tasks.sum()),
        "types": len(np.unique(instance.kind)),
        "machines": len(instance.machines),
        "price": round(paid / known.least_cost, 3) if known.least_cost else None,
        "greedy_s": round(known.greedy_ms / 1000),
        "average_s": round(float(known.average_ms / 1000)),
    }
