"""A mechanism that rewards a false claim of the kind of schedules."""

from __future__ import annotations

from typing import Any

from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.instances.lora.solution import Decision


class Haggler:
    """Charges a rigid task half of its bid and any other task all of it: a mechanism that rewards a false claim."""

    def start(self, public: Any, constants: Any) -> None:
        self.public = public

    def decide(self, task: Any, view: Any) -> Any:
        free = view.room(task, self.public)
        length = -(-task.work // int(task.rate[0]))
        for slot in range(task.arrival, task.deadline - length + 2):
            if free[0, slot - 1 : slot - 1 + length].all():
                cells = tuple((0, t) for t in range(slot, slot + length))
                return Decision(None, cells, task.bid // 2 if task.run is ScheduleKind.RIGID else task.bid)
        return None
