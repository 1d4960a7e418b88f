"""What the family adds to `evaluate`: tiny instances, shipped algorithms, and where a run loses against OPT."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ratiobench.bench.family.capabilities import EvaluationSupport, Loss, LossReport, SizeRange
from ratiobench.bench.lora.timeline import DEAR, FULL, IMPOSSIBLE, find_reasons
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.arrivals import days, list_earlier_days
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision, Solution

NAMED = 3  # So many tasks are named that hold the capacity a rejected task would have needed
_TRACES = ("philly", "helios", "pai")


def tiny_recipe(seed: int, number: int) -> Mapping[str, Any]:
    """Twelve tasks on one node, or sixteen on two of different types, that arrive as in a trace within two hours."""
    two = number % 3 == 2
    nodes = {"a100": 1, "a40": 1} if two else {("a100", "a40")[number % 3]: 1}
    scale = 1 if number % 3 == 1 else 2
    return {
        "kind": "paper",
        "name": f"tiny_{seed}_{number}",
        "seed": ["evaluate", seed, number],
        "nodes": nodes,
        "tasks": 16 if two else 12,
        "arrivals": {"trace": _TRACES[number // 3 % 3]},
        "start": 60,
        "slots": 14,
        "quiet": 4,
        "epochs": [1, 3],
        "data": [3000 * scale, 12000 * scale],
    }


def draw_day(recipe: Mapping[str, Any], stream: Stream) -> Mapping[str, Any]:
    """The recipe with another day of the same trace, of those that are shipped, the days of history among them."""
    arrivals = recipe.get("arrivals")
    if not isinstance(arrivals, Mapping) or "day" not in arrivals:
        return recipe
    known = (*list_earlier_days(arrivals["trace"]), *days(arrivals["trace"]))
    others = [day for day in known if day != arrivals["day"]]
    return {**recipe, "arrivals": {**arrivals, "day": others[stream.integer(0, len(others) - 1)]}}


def explain_loss(instance: Instance, decisions: Solution, best: Solution) -> LossReport:
    """Where a run loses against the best known solution, task by task.

    The difference of their welfare is that of three sums: what the best known solution earns with tasks that the run
    rejects, what the run earns with tasks that the best known solution rejects, and the difference on the others.
    """
    worth = [None if each is None else _worth(instance, i, each) for i, each in enumerate(decisions)]
    best_worth = [None if each is None else _worth(instance, i, each) for i, each in enumerate(best)]
    reasons = find_reasons(instance, decisions)
    moving = {i for i, reason in find_reasons(instance, decisions, True).items() if reason == FULL}
    users = _users(decisions)
    losses, missed, dearer = [], [], 0
    for i, value in enumerate(best_worth):
        own = worth[i]
        chosen = best[i]
        if value is None or chosen is None:
            continue
        if own is None:
            missed.append(i)
            losses.append(_missed(instance, i, value, chosen, reasons.get(i, DEAR), i in moving, users, worth))
        elif own < value:
            dearer += value - own
            losses.append(_dearer(instance, i, value, own, decisions[i], chosen))
    extra = [i for i, value in enumerate(worth) if value is not None and best_worth[i] is None]
    losses += [_at_a_loss(instance, i, value) for i in extra if (value := worth[i]) is not None and value < 0]
    losses.sort(key=lambda each: (-each.amount, each.arrival))
    lines = _summary(instance, decisions, best, worth, best_worth, reasons, moving, missed, extra, dearer)
    return LossReport(lines, losses)


def _worth(instance: Instance, i: int, decision: Decision) -> int:
    """Bid minus vendor and operation of an admitted task, micro-dollars."""
    task = instance.task(i)
    kind = instance.public("").type_of_node
    paid = 0 if decision.vendor is None else task.vendors[decision.vendor].price
    operation = sum(int(task.cost[kind[node], slot - 1]) for node, slot in decision.cells)
    return task.bid - paid - operation


def _users(decisions: Solution) -> dict[tuple[int, int], list[int]]:
    """The tasks that run in each cell (node, slot)."""
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, each in enumerate(decisions):
        for cell in () if each is None else each.cells:
            found[cell].append(i)
    return found


def _per_unit(value: int, instance: Instance, i: int) -> float:
    """Micro-dollars per 1,000 samples of a task's work."""
    return 1000 * value / max(1, int(instance.work[i]))


def _missed(
    instance: Instance,
    i: int,
    value: int,
    chosen: Decision,
    reason: str,
    moving: bool,
    users: Mapping[tuple[int, int], Sequence[int]],
    worth: Sequence[int | None],
) -> Loss:
    """A task that the best known solution serves and the run rejects; `moving`: it fitted on no single node."""
    slots = sorted({slot for _, slot in chosen.cells})
    about = f"task {i} arrives in slot {int(instance.arrival[i])}, deadline {int(instance.deadline[i])}"
    earns = f"bids {int(instance.bid[i]):,} and earns {value:,} in the best known solution"
    text = f"{about}, {earns} ({_per_unit(value, instance, i):,.0f} per 1,000 samples) in {_span(slots)}"
    figures: dict[str, Any] = {
        "arrival": i,
        "kind": "rejected",
        "slot": int(instance.arrival[i]),
        "deadline": int(instance.deadline[i]),
        "work": int(instance.work[i]),
        "bid": int(instance.bid[i]),
        "best_value": value,
        "value": 0,
        "best_cells": [list(cell) for cell in chosen.cells],
        "free_capacity": reason != FULL,
    }
    if reason == DEAR:
        how = ", but only by changing nodes" if moving else ""
        figures["only_by_changing_nodes"] = moving
        return Loss(i, value, f"{text}. It was rejected although a schedule for it still fitted{how}.", figures)
    if reason == IMPOSSIBLE:
        return Loss(i, value, f"{text}. It was rejected.", figures)
    window = range(min(slots), max(slots) + 1)
    nodes = {node for node, _ in users}
    holders = {j for node in nodes for slot in window for j in users.get((node, slot), ()) if j < i}
    cheap = sorted(
        (j for j in holders if _per_unit(worth[j] or 0, instance, j) < _per_unit(value, instance, i)),
        key=lambda j: _per_unit(worth[j] or 0, instance, j),
    )
    figures["held_by"] = [
        {"arrival": j, "value": worth[j], "per_1000_samples": round(_per_unit(worth[j] or 0, instance, j), 3)}
        for j in cheap[:NAMED]
    ]
    text += ". It was rejected because no schedule for it fitted any more"
    if cheap:
        named = ", ".join(f"task {j} ({_per_unit(worth[j] or 0, instance, j):,.0f})" for j in cheap[:NAMED])
        more = f" and {len(cheap) - NAMED} more" if len(cheap) > NAMED else ""
        text += f"; tasks worth less per 1,000 samples held the capacity: {named}{more}"
    return Loss(i, value, text + ".", figures)


def _dearer(instance: Instance, i: int, value: int, own: int, ran: Decision | None, chosen: Decision) -> Loss:
    """A task that both serve, the run at a higher cost."""
    vendors = "" if ran is None or ran.vendor == chosen.vendor else f" (vendor {ran.vendor}, not {chosen.vendor})"
    text = f"task {i} earns {own:,}; its schedule in the best known solution earns {value:,}{vendors}."
    figures = {"arrival": i, "kind": "dearer", "slot": int(instance.arrival[i]), "best_value": value, "value": own}
    return Loss(i, value - own, text, figures)


def _at_a_loss(instance: Instance, i: int, value: int) -> Loss:
    """A task that costs the run more than it bids."""
    text = (
        f"task {i} bids {int(instance.bid[i]):,} and was served at a loss of {-value:,}: vendor and energy cost more."
    )
    figures = {"arrival": i, "kind": "at a loss", "slot": int(instance.arrival[i]), "best_value": 0, "value": value}
    return Loss(i, -value, text, figures)


def _span(slots: Sequence[int]) -> str:
    return f"slot {slots[0]}" if len(slots) == 1 else f"slots {slots[0]} to {slots[-1]}"


def _summary(
    instance: Instance,
    decisions: Solution,
    best: Solution,
    worth: Sequence[int | None],
    best_worth: Sequence[int | None],
    reasons: Mapping[int, str],
    moving: Collection[int],
    missed: Sequence[int],
    extra: Sequence[int],
    dearer: int,
) -> list[str]:
    lost = sum(best_worth[i] or 0 for i in missed)
    kept = sum(worth[i] or 0 for i in extra)
    full = [i for i in missed if reasons.get(i) == FULL]
    declined = [i for i in missed if reasons.get(i) == DEAR]
    lines = [
        f"The best known solution earns {lost:,} micro-dollars with tasks that the policy rejects ({len(missed)}); "
        f"the policy earns {kept:,} with tasks that the best known solution rejects ({len(extra)})."
    ]
    if full:
        value = sum(best_worth[i] or 0 for i in full)
        lines.append(f"{len(full)} of the rejected tasks, worth {value:,}, no longer fitted when they arrived.")
    if declined:
        value = sum(best_worth[i] or 0 for i in declined)
        only = sum(i in moving for i in declined)
        how = f"; {only} of them only by changing nodes" if only else ""
        lines.append(f"{len(declined)} of the rejected tasks, worth {value:,}, still fitted and were declined{how}.")
    if dearer:
        lines.append(
            f"Tasks that both serve cost the policy {dearer:,} more: later or dearer slots, or dearer vendors."
        )
    own, other = _use(instance, decisions), _use(instance, best)
    rate, best_rate = (
        1000 * sum(each or 0 for each in values) / max(1, _work(instance, chosen))
        for values, chosen in ((worth, decisions), (best_worth, best))
    )
    lines.append(
        f"The policy uses {100 * own:.1f} % of the compute and earns {rate:,.0f} micro-dollars per 1,000 samples of "
        f"admitted work; the best known solution uses {100 * other:.1f} % and earns {best_rate:,.0f}."
    )
    return lines


def _work(instance: Instance, decisions: Solution) -> int:
    """Samples of the admitted tasks."""
    return sum(int(instance.work[i]) for i, each in enumerate(decisions) if each is not None)


def _use(instance: Instance, decisions: Solution) -> float:
    kind = instance.public("").type_of_node
    used = sum(
        int(instance.rate[i][kind[node]])
        for i, each in enumerate(decisions)
        if each is not None
        for node, _ in each.cells
    )
    total = sum(node.count * node.compute for node in instance.node_types) * instance.slots
    return used / max(1, total)


EVALUATION = EvaluationSupport(
    tiny_recipe,
    {"parts": SizeRange(1, 100, 10), "days": SizeRange(101, 2000, 2)},
    ("greedy", "eft", "learned"),
    explain_loss,
    draw_day,
)
