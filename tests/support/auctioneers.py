"""Anyone's own auctions, by import path; this module must import nothing heavy."""

from collections.abc import Mapping
from typing import Any

from ratiobench.online.lora.protocol import Public, Task, View
from tests.support.contestants import Honest


class FirstPrice(Honest):
    """Charges the bid."""

    def decide(self, task: Task, view: View) -> Any:
        plan = super().decide(task, view)
        return None if plan is None else plan._replace(payment=task.bid)


class AtCost(Honest):
    """Charges the cost of the schedule that it takes, which does not depend on the bid."""

    def decide(self, task: Task, view: View) -> Any:
        plan = super().decide(task, view)
        if plan is None:
            return None
        kind = self.public.type_of_node
        cost = sum(int(task.cost[kind[k], t - 1]) for k, t in plan.cells)
        return plan._replace(payment=task.options[0].price + cost)


class Remembers(AtCost):
    """Charges nothing from its second start on: in a process of its own it is never started twice."""

    starts = 0

    def start(self, public: Public, constants: Mapping[str, Any]) -> None:
        super().start(public, constants)
        self.starts += 1

    def decide(self, task: Task, view: View) -> Any:
        plan = super().decide(task, view)
        return plan if plan is None or self.starts == 1 else plan._replace(payment=0)


class Coin(Honest):
    """Charges 1, but 2 of all but the first task in every third process, whatever is reported.

    Option: tally, a file with one letter per process that was started.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        with open(options["tally"], "a+", encoding="utf-8") as tally:
            tally.write("x")
            self._more = tally.tell() % 3 == 1

    def decide(self, task: Task, view: View) -> Any:
        plan = super().decide(task, view)
        return None if plan is None else plan._replace(payment=2 if self._more and task.index else 1)
