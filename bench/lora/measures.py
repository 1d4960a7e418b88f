"""Figures about a run beside its welfare: its own certificate, revenue, who is served, how full the nodes get."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.family.checks import Check
from ratiobench.instances.lora.feasibility import fewest_slots, free_compute, servable
from ratiobench.instances.lora.model import NO_LABELS, Instance
from ratiobench.instances.lora.schedules import KINDS, ScheduleKind
from ratiobench.online.lora.run import WAITED
from ratiobench.online.outcome import OnlineRun

ALWAYS = ("certificate", "revenue_share", "admitted_share", "long_share", "long_fairness", "compute_used")
# Of instances with rigid tasks or gangs, and of runs in which tasks waited
OF_JOBS = (
    "wait_mean_s", "wait_p95_s", "slowdown", "met_share", "killed", "left", "jain_users", "jain_groups", "admitted_work"
)  # fmt: skip
MEASURES = ALWAYS + OF_JOBS


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check]) -> Mapping[str, Fraction | None]:
    """Exact figures, each None where it is undefined.

    ``certificate``: what the run's own prices prove of OPT/ALG, D(tau * prices) / ALG at the best tau (check
    `dual_certificate`); of the greedy rule, which has no prices, D / ALG with a price on its full cells (`theorem_g`).
    ``revenue_share``: payments over welfare. ``admitted_share``: admitted tasks over servable ones. ``long_share``: the
    same among the long ones, the quarter of the servable tasks that needs most slots (fewest slots at the fastest
    usable rate; ties at the edge all count). ``long_fairness``: long_share / admitted_share, 1 where length does not
    matter, 0 where long tasks get nothing. ``compute_used``: samples processed over sum_kt C_kp,
    less what jobs from before hold.

    Where tasks are rigid or gangs, or waited, those of `job_measures` as well.
    """
    can = servable(instance)
    admitted = np.array([decision is not None and not decision.void for decision in run.decisions], dtype=np.bool_)
    share = _share(admitted, can)
    long = _share(admitted, can & _long(instance, can))
    kind = instance.public("").type_of_node
    done = sum(
        int(instance.rate[i, kind[node]])
        for i, decision in enumerate(run.decisions)
        if decision is not None
        for node, _ in decision.cells
    )
    capacity = free_compute(instance)
    found = {check.name: check for check in checks}
    bound = found["dual_certificate"].right if "dual_certificate" in found else None
    if bound is None and "theorem_g" in found:
        bound = found["theorem_g"].left
    paid = run.revenue if run.welfare > 0 else None
    found_more = job_measures(instance, run) if _has_jobs(instance, run) else {}
    return {
        "certificate": bound / run.welfare if bound is not None and run.welfare > 0 else None,
        "revenue_share": None if paid is None else Fraction(paid, run.welfare),
        "admitted_share": share,
        "long_share": long,
        "long_fairness": None if long is None or not share else long / share,
        "compute_used": Fraction(done, capacity) if capacity else None,
        **found_more,
    }


def _has_jobs(instance: Instance, run: OnlineRun) -> bool:
    return bool((instance.run >= KINDS.index(ScheduleKind.RIGID)).any()) or bool(run.counts.get(WAITED))


def job_measures(instance: Instance, run: OnlineRun) -> Mapping[str, Fraction | None]:
    """What users of a cluster ask: how long jobs wait, and how many are done in time.

    ``wait_mean_s``, ``wait_p95_s``: seconds from the arrival to the first slot, of the tasks that ran; the 95th
    percentile is the least number that at least 95 % of them do not exceed. ``slowdown``: mean over these of
    (wait + run) / run, in slots, the bounded slowdown with a bound of one slot. ``met_share``: tasks that were done by
    their deadline over servable ones. ``killed``: runs that were ended at their limit. ``left``: tasks that waited
    until no schedule could serve them. ``jain_users``, ``jain_groups``: Jain's index of the mean slowdowns of users, or
    of groups: 1 where all are alike, 1 / n where one of n has it all.
    """
    ran = [(i, each.cells) for i, each in enumerate(run.decisions) if each is not None and each.cells]
    waits, slow = [], []
    users: defaultdict[str, list[Fraction]] = defaultdict(list)
    groups: defaultdict[str, list[Fraction]] = defaultdict(list)
    for i, cells in ran:
        slots = [slot for _, slot in cells]
        first, last, arrival = min(slots), max(slots), int(instance.arrival[i])
        waits.append((first - arrival) * instance.slot_seconds)
        slow.append(Fraction(last + 1 - arrival, last + 1 - first))
        labels = instance.labels.get(i, NO_LABELS)
        for table, name in ((users, labels.user), (groups, labels.group)):
            if name:
                table[name].append(slow[-1])
    waits.sort()
    met = np.array([each is not None and not each.void for each in run.decisions], dtype=np.bool_)
    return {
        "wait_mean_s": Fraction(sum(waits), len(waits)) if waits else None,
        "wait_p95_s": Fraction(waits[-(-95 * len(waits) // 100) - 1]) if waits else None,
        "slowdown": sum(slow, Fraction(0)) / len(slow) if slow else None,
        "met_share": _share(met, servable(instance)),
        "killed": Fraction(run.counts.get("killed", 0)),
        "left": Fraction(run.counts.get("left", 0)),
        "jain_users": _jain(users),
        "jain_groups": _jain(groups),
        "admitted_work": Fraction(int(instance.work[met].sum())),
    }


def describe_jobs(instance: Instance, run: OnlineRun) -> str:
    """The waits of a run, and who was done in time, in words; empty where no task waits and none is rigid or a gang."""
    if not _has_jobs(instance, run):
        return ""
    found = job_measures(instance, run)
    parts = []
    if found["wait_mean_s"] is not None and found["wait_p95_s"] is not None and found["slowdown"] is not None:
        mean, most = float(found["wait_mean_s"]) / 60, float(found["wait_p95_s"]) / 60
        parts += [f"wait {mean:.1f} min in the mean, 95 % at most {most:.0f} min"]
        parts += [f"slowdown {float(found['slowdown']):.2f}"]
    if found["met_share"] is not None:
        parts.append(f"{100 * float(found['met_share']):.1f} % of those that can be are done in time")
    parts += [f"{found[name]} {name}" for name in ("killed", "left") if found[name]]
    return "; ".join(parts)


def _jain(slowdowns: Mapping[str, Sequence[Fraction]]) -> Fraction | None:
    """(sum x)^2 / (n sum x^2) of the means of n lists; None without any."""
    means = [sum(each, Fraction(0)) / len(each) for each in slowdowns.values()]
    return sum(means, Fraction(0)) ** 2 / (len(means) * sum(x * x for x in means)) if means else None


def accounts(instance: Instance, run: OnlineRun) -> Mapping[str, int]:
    """What a valid run earned and spent, in micro-dollars, from its decisions: the terms of objective (4).

    ``bids`` of the admitted, the prices of their ``vendors``, and the ``energy`` of the cells that they run in. A void
    run has no bid, and its energy is no less than the rest of what it pays.
    """
    kind = instance.public("").type_of_node
    bids = vendors = energy = 0
    for i, decision in enumerate(run.decisions):
        if decision is None:
            continue
        vendor = 0 if decision.vendor is None else instance.vendors(i)[decision.vendor].price
        cost = instance.cost(i)
        spent = sum(int(cost[kind[node], slot - 1]) for node, slot in decision.cells)
        bids += 0 if decision.void else int(instance.bid[i])
        vendors += vendor
        energy += max(spent, -vendor) if decision.void else spent
    return {"vendors": vendors, "energy": energy, "bids": bids}


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
