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
    cells = [tuple(divmod(cell, sketch.slots) for cell in plan.cells) for plan in found]
    return [
        make_plan(instance, task, plan.option, [(k, t + 1) for k, t in places])
        for plan, places in zip(found, cells, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Pricing:
    """How an algorithm prices schedules: at the largest prices on them (9), or each cell at its own."""

    prices: Prices
    largest: bool
    rates: Mapping[int, int]
    memory: int

    def tops(self, plan: Plan) -> tuple[Fraction, Fraction]:
        lam, phi = self.prices
        zero = Fraction(0)
        return max(lam.get(c, zero) for c in plan.cells), max(phi.get(c, zero) for c in plan.cells)

    def paid(self, plan: Plan) -> Fraction:
        if self.largest:
            lam, phi = self.tops(plan)
            return lam * plan.work + phi * plan.use
        lam_of, phi_of = self.prices
        zero = Fraction(0)
        return sum(
            (lam_of.get(c, zero) * self.rates[c[0]] + phi_of.get(c, zero) * self.memory for c in plan.cells), zero
        )

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
    head = ["schedule", *(["vendor"] if task.vendors else []), "b_il"]
    if pricing is not None and pricing.largest:
        head += ["S", "max lambda", "R", "max phi", "F"]
    elif pricing is not None:
        head += ["at its prices", "F'"]
    else:
        head += ["S", "R"]
    rows = [_row(plan, task, pricing, full) for plan in listed]
    place = None if chosen is None else listed.index(chosen)
    return Listing("Schedules", [*head, "room"], rows, place), notes


def _row(plan: Plan, task: Task, pricing: Pricing | None, full: Mapping[Plan, str]) -> list[Figure]:
    row: list[Figure] = [name_cells(plan.cells), *([str(plan.option)] if task.vendors else []), plan.net]
    if pricing is not None and pricing.largest:
        lam, phi = pricing.tops(plan)
        row += [plan.work, lam, plan.use, phi, pricing.value(plan)]
    elif pricing is not None:
        row += [pricing.paid(plan), pricing.value(plan)]
    else:
        row += [plan.work, plan.use]
    return [*row, full.get(plan, "yes")]


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
