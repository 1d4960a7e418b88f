"""Figures of a run beside its welfare: its own certificate, revenue, who is served, use of the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.facts import find_outlay
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.quantities import capacity, fewest_slots, servable
from ratiobench.instances.lora.solution import Solution
from ratiobench.online.outcome import OnlineRun

MEASURES = ("certificate", "revenue_share", "admitted_share", "long_share", "long_fairness", "compute_used")


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check]) -> Mapping[str, Fraction | None]:
    """Exact figures, each None if it is undefined."""
    can = servable(instance)
    admitted = np.array([decision is not None for decision in run.decisions], dtype=np.bool_)
    share = _share(admitted, can)
    long = _share(admitted, can & _long(instance, can))
    found = {check.name: check for check in checks}
    bound = found["dual_certificate"].right if "dual_certificate" in found else None
    if bound is None and "theorem_g" in found:
        bound = found["theorem_g"].left
    paid = run.revenue if run.welfare > 0 else None
    return {
        # What the run's own prices prove of OPT/ALG, at their best multiple; of greedy with a price on its full cells
        "certificate": bound / run.welfare if bound is not None and run.welfare > 0 else None,
        "revenue_share": None if paid is None else Fraction(paid, run.welfare),
        "admitted_share": share,  # among the servable tasks
        "long_share": long,
        # 1: length does not matter; 0: long tasks get nothing
        "long_fairness": None if long is None or not share else long / share,
        "compute_used": Fraction(count_samples(instance, run.decisions), capacity(instance)),
    }


def count_samples(instance: Instance, solution: Solution) -> int:
    kind = instance.public("").type_of_node
    taken = ((i, decision.cells) for i, decision in enumerate(solution) if decision is not None)
    return sum(int(instance.rate[i, kind[node]]) for i, cells in taken for node, _ in cells)


def accounts(instance: Instance, run: OnlineRun) -> Mapping[str, int]:
    """The terms of objective (4), recounted from the decisions of a valid run, in micro-dollars."""
    bids = vendors = outlay = 0
    for i, decision in enumerate(run.decisions):
        if decision is not None:
            bids += int(instance.bid[i])
            vendors += 0 if decision.vendor is None else instance.vendors(i)[decision.vendor].price
            outlay += find_outlay(instance, i, decision)
    return {"vendors": vendors, "energy": outlay - vendors, "bids": bids}


def _share(admitted: NDArray[np.bool_], among: NDArray[np.bool_]) -> Fraction | None:
    count = int(among.sum())
    return Fraction(int((admitted & among).sum()), count) if count else None


def _long(instance: Instance, can: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The tasks that need at least as many slots as the upper quartile of the servable ones."""
    needed = fewest_slots(instance)
    ordered = np.sort(needed[can])
    if not len(ordered):
        return np.zeros(len(can), dtype=np.bool_)
    edge = ordered[(3 * len(ordered)) // 4]
    return np.asarray(needed >= edge)
