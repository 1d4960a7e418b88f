"""`guarded`, Theorem H: the guard around the prices of another mechanism.

`inner` names who posts the wishes: `greedy` wishes 0, `posted`, `minimal-edit`, `capped` and `bbar-rule` wish what they
would charge for a cell, and move their prices when something is sold to a task. The guard keeps every price between its
limits (`ratiobench.online.lora.guard`), which gives the guarantee whatever the wishes are.

Claim (Theorem H). OPT <= (rho + max(1, beta)) ALG + A0 + E; `docs/theory/guard.md` says what these are.

Truthful in the bid (Theorem T): wishes, credits and room do not look at it. Of a task of an announced class an earlier
deadline or more work never gains either. A later arrival can: the lower limit of a price falls where others buy dear
meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Public, Task
from ratiobench.online.lora.algorithms.learned import GUARD, guarantee, guard_settings
from ratiobench.online.lora.mechanism import Mechanism
from ratiobench.online.lora.posted_prices import PostedPrices, ProposedPrices, propose_cheapest
from ratiobench.online.lora.price_laws import WeightPrices
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import REGISTRY, Entry, Option, register, settle_arithmetic
from ratiobench.online.lora.traces import Cell

INNER = ("greedy", "posted", "minimal-edit", "capped", "bbar-rule")


class NoPoster(WeightPrices):
    """Wishes nothing: the first node with room."""

    def __init__(self) -> None:
        super().__init__(exact=False)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        self.prices = [np.zeros(public.slots) for _ in public.node_types]


class MechanismPrices:
    """Wishes the prices of a mechanism with linear reduced cost, on the cheapest node with room."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self.constants = mechanism.constants

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._public = public
        self._mechanism.start(public, constants)

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        return propose_cheapest(task, view, self._public, self._mechanism.cell_prices)

    def sold(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        self._mechanism.move(task, cells, net)

    def heard(self, task: Task) -> None:
        """What is sold moves prices, nothing else."""

    def final(self) -> Any:
        trace = self._mechanism.trace
        return trace.lam, trace.phi


def _make(options: Mapping[str, str]) -> PostedPrices:
    name, exact = options["inner"], options["arith"] == "exact"
    guard = guard_settings("guarded", options, "beta")
    if guard is None:
        raise InputError("algorithm", "guarded:beta", "0 is not above 0")
    if name == "greedy":
        return PostedPrices(NoPoster(), guard, exact=exact)
    entry = REGISTRY.entries()[name]
    return PostedPrices(MechanismPrices(entry.make(entry.defaults | {"arith": options["arith"]})), guard, exact=exact)


register(
    Entry(
        "guarded",
        "a guard around another mechanism's prices: OPT <= (rho + max(1, beta)) ALG + A0 (Theorem H)",
        "2",
        {
            "inner": Option("greedy", INNER, "whose prices"),
            "beta": Option("99", None, "of the guard, above 0"),
            **GUARD,
        },
        _make,
        settle=settle_arithmetic,
        learns=True,
        standing=lambda options, oracle: {"guarantee": guarantee(options, "beta"), "truthful": "in the bid"},
    )
)
