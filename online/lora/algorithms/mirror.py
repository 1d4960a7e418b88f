r"""`mirror`: a price for each node type and slot, moved after every arrival by what is used against what may be.

Online mirror descent on the dual (Balseiro, Lu, Mirrokni, The Best of Many Worlds, 2011.10124) and the fast first-order
algorithm (Li, Sun, Ye, Simple and Fast Algorithm for Binary Integer and Online Linear Programming, 2003.02513), each
with a price per unit of weight w = max(s / C, r / D) for every type and slot. n_t is the number of tasks whose window
has slot t, of an earlier day. After each arrival, admitted or not, for every slot of its window, u being what it takes
of the type in that slot:

    mirror        mu <- mu exp(step (u sqrt(n_t) / K - 1 / sqrt(n_t)))
    first-order   mu <- max(0, mu + p step (u sqrt(n_t) / K - 1 / sqrt(n_t)))

K is the number of nodes, and p the price that all begin with: the median value per unit of weight of that day. A task
goes to the fullest node with free capacity.

No guarantee: here windows make resources expire, and what both papers prove is not proved. Truthful in the bid where
n_t and p come from another day (Theorem T).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.lora.history import split
from ratiobench.instances.lora.model import Instance, Public, Task
from ratiobench.online.lora.mechanism import OPTIONS
from ratiobench.online.lora.price_laws import WeightPrices, exponential, read_positive, register_law
from ratiobench.online.lora.registry import Option
from ratiobench.online.lora.traces import Cell

# Prices of mirror descent stay within these, so that a quiet or crowded hour never takes them out of reach
_LEAST, _MOST = 1e-9, 2.0**60


def _exponential(value: float) -> float:
    return float(exponential(Fraction(value)))


def count_by_slot(days: list[Instance], slots: int) -> NDArray[np.float64]:
    """(T,) how many tasks have the slot in their window, in the mean over days; at least 1."""
    count = np.zeros(slots + 1)
    for day in days:
        np.add.at(count, day.arrival - 1, 1.0)
        np.add.at(count, np.minimum(day.deadline, slots), -1.0)
    return np.asarray(np.maximum(1.0, np.cumsum(count)[:slots] / max(1, len(days))))


class MovingPrices(WeightPrices):
    constants = ("median_density",)
    arithmetic = "float"
    fullest = True

    def __init__(self, rule: str, pace: float) -> None:
        super().__init__(exact=False)
        self._rule, self._pace = rule, pace

    def count(self, source: Instance, tested: Instance) -> Mapping[str, Fraction]:
        """How many tasks have each slot in their window, of earlier days or of the tested one."""
        days = [source] if source is tested else split(source, tested)
        self._expected = count_by_slot(days, tested.slots)
        return {"tasks_expected": Fraction(round(sum(day.tasks for day in days) / len(days)))}

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        self._first = float(constants["median_density"])
        self.prices = [np.full(public.slots, self._first) for _ in public.node_types]
        self._root = np.sqrt(self._expected)
        self._fall = self._pace / self._root
        self._factor = np.array([_exponential(-float(fall)) for fall in self._fall])

    def moved(self, task: Task, cells: tuple[Cell, ...] | None) -> None:
        """Prices of the window fall by what may be used of a slot, and rise by what the task uses."""
        span = slice(task.arrival - 1, task.deadline)
        used = [(self._kind[k], t - 1) for k, t in cells or ()]
        mirror = self._rule == "mirror"
        for prices in self.prices:
            if mirror:
                prices[span] *= self._factor[span]
            else:
                prices[span] -= self._first * self._fall[span]
        for g, t in used:
            rise = self._pace * self.weigh(task, g) * float(self._root[t]) / self._public.node_types[g].count
            if mirror:
                self.prices[g][t] *= _exponential(rise)
            else:
                self.prices[g][t] += self._first * rise
        low, high = (_LEAST * self._first, _MOST) if mirror else (0.0, np.inf)
        for prices in self.prices:
            np.clip(prices[span], low, high, out=prices[span])


register_law(
    "mirror",
    "a price per node type and slot, moved after every arrival by mirror descent or first-order steps",
    {
        "rule": Option("mirror", ("mirror", "first-order"), "multiply prices, or add to them"),
        "step": Option("1", None, "step size, above 0"),
        "constants": OPTIONS["constants"],
    },
    lambda options, _: MovingPrices(options["rule"], float(read_positive("mirror", "step", options))),
    lambda options: "none: proved elsewhere for one set of resources only",
    learns=True,
)
