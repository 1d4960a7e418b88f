"""`greedy`, Theorem G: zero prices, first come, first served; the cheapest schedule that fits, if it pays.

Claim (Theorem G). OPT <= D <= (1 + U / (1 - eps)) ALG, with eps = max {s_ik / C_kp, r_i / (C_km - r_b)} < 1 and U the
largest (X_c S + X_m R) / b_il of an admitted schedule, X_c = max b_i / s_ik, X_m = max b_i / r_i.

Nothing is known in advance: U, eps and X occur in the analysis only. The cost does not depend on the bid, so charging
it is truthful and rational (Theorem T), and the provider recovers q + sum e exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT, cheapest_cover
from ratiobench.instances.lora.model import Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.mechanism import TRUTHFUL
from ratiobench.online.lora.one_node import NodeAnswer, with_one_node
from ratiobench.online.lora.protocol import View, first_free_node
from ratiobench.online.lora.registry import Entry, register
from ratiobench.online.lora.search.additive import DOUBLES, Cluster, first_schedule, offers, too_large
from ratiobench.online.lora.traces import GreedyOffer, GreedyTrace
from ratiobench.online.spec import state_always


class Greedy:
    """Cheapest vendor price plus operational cost over schedules that fit; admit if the bid is above it; charge it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        pass

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._public = public
        self._cluster = Cluster(public)
        self.trace = GreedyTrace()

    def decide(self, task: Task, view: View) -> Decision | None:
        return self.settle(task, view, self.find(task, view))

    def find(self, task: Task, view: View) -> NodeAnswer | None:
        offer = self._offer(task, view)
        return None if offer is None else NodeAnswer((offer.cost, offer.option, len(offer.cells)), offer.cells, offer)

    def settle(self, task: Task, view: View, found: NodeAnswer | None) -> Decision | None:
        offer: GreedyOffer | None = None if found is None else found.answer
        self.trace.offers.append(offer)
        if offer is None or not offer.admitted:
            return None
        return Decision(offer.option if task.vendors else None, offer.cells, int(offer.cost))

    def _offer(self, task: Task, view: View) -> GreedyOffer | None:
        starts, prices = offers(task)
        dearest = int(prices.max()) + task.cost.shape[1] * int(np.abs(task.cost).max())
        if dearest >= DOUBLES:
            return self._in_integers(task, view)
        total, option, cells, _, _ = first_schedule(
            view.compute, view.memory_mb, self._cluster.arrays, (task.memory_mb, task.work, task.deadline),
            task.rate, task.cost, starts, prices, STATE_LIMIT,
        )  # fmt: skip
        if option == -2:
            raise too_large(task)
        if option == -1:
            return None
        return GreedyOffer(int(total), option, tuple(map(tuple, cells.tolist())), bool(task.bid > total))

    def _in_integers(self, task: Task, view: View) -> GreedyOffer | None:
        # Doubles do not hold every sum of costs.
        usable, node = first_free_node(view.room(task, self._public), self._public.first_node)
        cover = cheapest_cover(task, self._public, task.cost, usable, node)
        if cover is None:
            return None
        return GreedyOffer(int(cover.cost), cover.option, cover.cells, bool(task.bid > cover.cost))


register(
    with_one_node(
        Entry(
            "greedy",
            "zero prices: cheapest schedule that fits, charged at cost (Theorem G)",
            "1",
            {},
            Greedy,
            standing=state_always(guarantee="OPT <= (1 + U/(1-eps)) ALG (Theorem G)", truthful=TRUTHFUL),
        )
    )
)
