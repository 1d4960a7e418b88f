"""Figures about a run beside its profit rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ratiobench.bench.family.checks import Check
from ratiobench.formulations.eapm.check import check
from ratiobench.instances.eapm.model import Instance
from ratiobench.online.outcome import OnlineRun

MEASURES = ("energy", "makespan", "negative_shares", "early_finish")


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check] = ()) -> Mapping[str, Fraction | None]:
    """Exact figures by name; None where one is undefined.

    Returns
    -------
    energy : the run's energy cost over the least possible, every task on its cheapest machine.
    makespan : the run's makespan over that of the schedule with the least energy (what `greedy` makes).
    negative_shares : of all systems (20) that the printed rule solved in the run's reading, the part with a negative
        share x_ij.
    early_finish : the part whose finish time MS is before the makespan so far.
    """
    found = check(instance, run.decisions)
    cost = instance.cost
    least = sum(int(tasks) * int(cost[kind].min()) for kind, tasks in zip(instance.kind, instance.tasks, strict=True))
    energy = instance.etc_ms * instance.apc_mw
    loads = [0] * len(instance.machines)
    for kind, tasks in zip(instance.kind.tolist(), instance.tasks.tolist(), strict=True):
        cheapest = int(energy[kind].argmin())
        loads[cheapest] += tasks * int(instance.etc_ms[kind, cheapest])
    systems = run.counts.get("systems")

    def part(name: str) -> Fraction | None:
        return Fraction(run.counts[name], systems) if systems else None

    return {
        "energy": Fraction(found.energy_cost, least) if least else None,
        "makespan": Fraction(found.makespan_ms, max(loads)),
        "negative_shares": part("negative_shares"),
        "early_finish": part("below_makespan"),
    }
