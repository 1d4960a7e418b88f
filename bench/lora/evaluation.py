"""What the family adds to `evaluate`: tiny instances, shipped algorithms, and where a run loses against OPT."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ratiobench.bench.family.capabilities import EvaluationSupport, Loss, LossReport, SizeRange
from ratiobench.bench.lora.measures import count_samples
from ratiobench.bench.lora.theory.basis.facts import find_outlay
from ratiobench.bench.lora.timeline import DEAR, FULL, IMPOSSIBLE, find_reasons
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.arrivals import days, list_earlier_days
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.quantities import capacity
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
    """Where a run loses against the best known solution, task by task; the sums add up to the difference."""
    comparison = _Comparison(instance, decisions, best)
    losses = sorted(comparison.list_losses(), key=lambda loss: (-loss.amount, loss.arrival))
    return LossReport(comparison.summary(), losses)


class _Comparison:
    """A run beside the best known solution; worths are bid minus vendor and operation, None of rejected tasks."""

    def __init__(self, instance: Instance, decisions: Solution, best: Solution) -> None:
        self.instance, self.decisions, self.best = instance, decisions, best
        self.worth, self.best_worth = (
            [None if each is None else int(instance.bid[i]) - find_outlay(instance, i, each) for i, each in pairs]
            for pairs in (enumerate(decisions), enumerate(best))
        )
        self.reasons = find_reasons(instance, decisions)
        # Tasks that fitted, but only by changing nodes.
        self.moving = {i for i, reason in find_reasons(instance, decisions, True).items() if reason == FULL}
        self.users: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i, each in enumerate(decisions):
            for cell in () if each is None else each.cells:
                self.users[cell].append(i)

    def list_losses(self) -> Iterator[Loss]:
        for i, (own, value, chosen) in enumerate(zip(self.worth, self.best_worth, self.best, strict=True)):
            if value is not None and chosen is not None:
                if own is None:
                    yield self._missed(i, value, chosen)
                elif own < value:
                    yield self._dearer(i, value, own, chosen)
            elif own is not None and own < 0:
                yield self._at_a_loss(i, own)

    def _per_unit(self, i: int, value: int | None) -> float:
        """Micro-dollars per 1,000 samples of a task's work."""
        return 1000 * (value or 0) / max(1, int(self.instance.work[i]))

    def _missed(self, i: int, value: int, chosen: Decision) -> Loss:
        instance, reason = self.instance, self.reasons.get(i, DEAR)
        slots = sorted({slot for _, slot in chosen.cells})
        density = self._per_unit(i, value)
        task = (instance.arrival, instance.deadline, instance.work, instance.bid)
        arrival, deadline, work, bid = (int(figure[i]) for figure in task)
        about = f"task {i} arrives in slot {arrival}, deadline {deadline}"
        earns = f"bids {bid:,} and earns {value:,} in the best known solution"
        when = f"slot {slots[0]}" if len(slots) == 1 else f"slots {slots[0]} to {slots[-1]}"
        text = f"{about}, {earns} ({density:,.0f} per 1,000 samples) in {when}"
        figures: dict[str, Any] = {
            "arrival": i,
            "kind": "rejected",
            "slot": arrival,
            "deadline": deadline,
            "work": work,
        }
        figures |= {"bid": bid, "best_value": value, "value": 0, "best_cells": [list(cell) for cell in chosen.cells]}
        figures["free_capacity"] = reason != FULL
        if reason == DEAR:
            figures["only_by_changing_nodes"] = i in self.moving
            how = ", but only by changing nodes" if i in self.moving else ""
            return Loss(i, value, f"{text}. It was rejected although a schedule for it still fitted{how}.", figures)
        if reason == IMPOSSIBLE:
            return Loss(i, value, f"{text}. It was rejected.", figures)
        window = range(min(slots), max(slots) + 1)
        holders = {j for (_, slot), tasks in self.users.items() if slot in window for j in tasks if j < i}
        held = {j: self._per_unit(j, self.worth[j]) for j in holders}
        cheap = sorted((j for j in holders if held[j] < density), key=held.__getitem__)
        figures["held_by"] = [
            {"arrival": j, "value": self.worth[j], "per_1000_samples": round(held[j], 3)} for j in cheap[:NAMED]
        ]
        text += ". It was rejected because no schedule for it fitted any more"
        if cheap:
            named = ", ".join(f"task {j} ({held[j]:,.0f})" for j in cheap[:NAMED])
            more = f" and {len(cheap) - NAMED} more" if len(cheap) > NAMED else ""
            text += f"; tasks worth less per 1,000 samples held the capacity: {named}{more}"
        return Loss(i, value, text + ".", figures)

    def _dearer(self, i: int, value: int, own: int, chosen: Decision) -> Loss:
        ran, slot = self.decisions[i], int(self.instance.arrival[i])
        vendors = "" if ran is None or ran.vendor == chosen.vendor else f" (vendor {ran.vendor}, not {chosen.vendor})"
        text = f"task {i} earns {own:,}; its schedule in the best known solution earns {value:,}{vendors}."
        figures = {"arrival": i, "kind": "dearer", "slot": slot, "best_value": value, "value": own}
        return Loss(i, value - own, text, figures)

    def _at_a_loss(self, i: int, value: int) -> Loss:
        bid, slot = int(self.instance.bid[i]), int(self.instance.arrival[i])
        text = f"task {i} bids {bid:,} and was served at a loss of {-value:,}: vendor and energy cost more."
        figures = {"arrival": i, "kind": "at a loss", "slot": slot, "best_value": 0, "value": value}
        return Loss(i, -value, text, figures)

    def summary(self) -> list[str]:
        pairs = list(enumerate(zip(self.worth, self.best_worth, strict=True)))
        missed = {i: value for i, (own, value) in pairs if own is None and value is not None}
        extra = [own for _, (own, value) in pairs if value is None and own is not None]
        dearer = sum(max(0, value - own) for _, (own, value) in pairs if own is not None and value is not None)
        full = [value for i, value in missed.items() if self.reasons.get(i) == FULL]
        declined = {i: value for i, value in missed.items() if self.reasons.get(i) == DEAR}
        lines = [
            f"The best known solution earns {sum(missed.values()):,} micro-dollars with tasks that the policy rejects "
            f"({len(missed)}); the policy earns {sum(extra):,} with tasks that the best known solution rejects "
            f"({len(extra)})."
        ]
        if full:
            lines.append(f"{len(full)} of the rejected tasks, worth {sum(full):,}, no longer fitted when they arrived.")
        if declined:
            worth, only = sum(declined.values()), len(self.moving.intersection(declined))
            how = f"; {only} of them only by changing nodes" if only else ""
            lines.append(
                f"{len(declined)} of the rejected tasks, worth {worth:,}, still fitted and were declined{how}."
            )
        if dearer:
            lines.append(
                f"Tasks that both serve cost the policy {dearer:,} more: later or dearer slots, or dearer vendors."
            )
        use, rate = self._efficiency(self.decisions, self.worth)
        best_use, best_rate = self._efficiency(self.best, self.best_worth)
        lines.append(
            f"The policy uses {use:.1f} % of the compute and earns {rate:,.0f} micro-dollars per 1,000 samples of "
            f"admitted work; the best known solution uses {best_use:.1f} % and earns {best_rate:,.0f}."
        )
        return lines

    def _efficiency(self, solution: Solution, worth: Sequence[int | None]) -> tuple[float, float]:
        """Percent of the compute that is used, and micro-dollars per 1,000 samples of admitted work."""
        instance = self.instance
        used = count_samples(instance, solution) / max(1, capacity(instance))
        work = sum(int(instance.work[i]) for i, each in enumerate(solution) if each is not None)
        return 100 * used, 1000 * sum(each or 0 for each in worth) / max(1, work)


EVALUATION = EvaluationSupport(
    tiny_recipe,
    {"parts": SizeRange(1, 100, 10), "days": SizeRange(101, 2000, 2)},
    ("greedy", "eft", "learned"),
    explain_loss,
    draw_day,
)
