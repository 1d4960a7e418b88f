"""The schedules that a task could have had: worth, payment at the prices of the moment, free capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ratiobench.bench.family.explanation import Figure, Listing, Sentence
from ratiobench.bench.lora.counterexamples.tiny import PLAN_LIMIT, TinyInstance, TinyLimitExceeded, menu
from ratiobench.bench.lora.theory.basis.case import Cell
from ratiobench.instances.lora.model import Instance, Task

ALL = 12  # Minimal schedules up to which all are listed
BEST = 6  # Schedules that are listed where there are more


class Prices(NamedTuple):
    """lambda and phi of the cells where they are not 0, micro-dollars per sample and per MB."""

    lam: dict[Cell, Fraction]
    phi: dict[Cell, Fraction]


def take_prices(lam: Mapping[Cell, Fraction | float], phi: Mapping[Cell, Fraction | float]) -> Prices:
    return Prices(*({cell: Fraction(x) for cell, x in of.items() if x} for of in (lam, phi)))


@dataclass(frozen=True, slots=True)
class Plan:
    """A schedule: index of the option, cells in slot order, S in samples, R in MB times slots, b_il."""

    option: int
    cells: tuple[Cell, ...]
    work: int
    use: int
    net: int


def make_plan(instance: Instance, task: Task, option: int, cells: Sequence[Cell]) -> Plan:
    kinds = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
    work = sum(int(task.rate[kinds[k]]) for k, _ in cells)
    spent = sum(int(task.cost[kinds[k], t - 1]) for k, t in cells)
    net = task.bid - task.options[option].price - spent
    return Plan(option, tuple(cells), work, task.memory_mb * len(cells), net)


def list_plans(instance: Instance, sketch: TinyInstance, task: Task) -> list[Plan] | None:
    """Every minimal schedule of the task (all if a cost is negative); None if there are too many."""
    try:
        found = menu(sketch, sketch.jobs[task.index]).plans
    except TinyLimitExceeded:
        return None
    return [
        make_plan(instance, task, plan.option, [(cell // sketch.slots, cell % sketch.slots + 1) for cell in plan.cells])
        for plan in found
    ]


@dataclass(frozen=True, slots=True)
class Pricing:
    """How an algorithm prices schedules: at the largest prices on them (9), or each cell at its own."""

    prices: Prices
    largest: bool
    rates: Mapping[int, int]
    memory: int

    def tops(self, plan: Plan) -> tuple[Fraction, Fraction]:
        lam, phi = (max(of.get(cell, Fraction(0)) for cell in plan.cells) for of in self.prices)
        return lam, phi

    def paid(self, plan: Plan) -> Fraction:
        if self.largest:
            lam, phi = self.tops(plan)
            return lam * plan.work + phi * plan.use
        lam_of, phi_of = self.prices
        paid = (lam_of.get(c, 0) * self.rates[c[0]] + phi_of.get(c, 0) * self.memory for c in plan.cells)
        return sum(paid, Fraction(0))

    def value(self, plan: Plan) -> Fraction:
        """F (9), or F'."""
        return plan.net - self.paid(plan)


def list_candidates(
    plans: Sequence[Plan] | None, chosen: Plan | None, task: Task, pricing: Pricing | None, full: Mapping[Plan, str]
) -> tuple[Listing | None, list[Sentence]]:
    """The table of the best schedules, always with the chosen one; `full`: why a schedule does not fit."""
    every = list(plans or ())
    if chosen is not None and chosen not in every:
        every.append(chosen)
    if not every:
        return None, []
    rank = (lambda plan: -plan.net) if pricing is None else (lambda plan: -pricing.value(plan))
    ordered = sorted(every, key=rank)
    listed = ordered if len(ordered) <= ALL else ordered[:BEST]
    if chosen is not None and chosen not in listed:
        listed.append(chosen)
    notes: list[Sentence] = []
    if plans is None:
        notes.append([f"There are more than {PLAN_LIMIT} ways to place it; the one that was found is shown."])
    elif len(listed) < len(ordered):
        notes.append([f"{len(ordered)} minimal schedules; the best {BEST} are shown, and the one that was found."])
    rows = [_row(plan, task, pricing, full) for plan in listed]
    place = None if chosen is None else listed.index(chosen)
    return Listing("Schedules", list(rows[0]), [list(row.values()) for row in rows], place), notes


def _row(plan: Plan, task: Task, pricing: Pricing | None, full: Mapping[Plan, str]) -> dict[str, Figure]:
    row: dict[str, Figure] = {"schedule": name_cells(plan.cells)}
    if task.vendors:
        row["vendor"] = str(plan.option)
    row["b_il"] = plan.net
    if pricing is None:
        row |= {"S": plan.work, "R": plan.use}
    elif pricing.largest:
        lam, phi = pricing.tops(plan)
        row |= {"S": plan.work, "max lambda": lam, "R": plan.use, "max phi": phi, "F": pricing.value(plan)}
    else:
        row |= {"at its prices": pricing.paid(plan), "F'": pricing.value(plan)}
    return row | {"room": full.get(plan, "yes")}


def name_cells(cells: Sequence[Cell]) -> str:
    """A schedule in words: `node 0: slots 1-3, 5; node 2: slot 4`."""
    parts = []
    for k in dict.fromkeys(k for k, _ in cells):
        runs: list[list[int]] = []
        for t in sorted(t for node, t in cells if node == k):
            if runs and runs[-1][1] == t - 1:
                runs[-1][1] = t
            else:
                runs.append([t, t])
        text = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
        parts.append(f"node {k}: slot{'s' * (len(text) > 1 and not text.isdecimal())} {text}")
    return "; ".join(parts)
