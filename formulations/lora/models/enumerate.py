"""OPT by looking at every schedule of every task and all combinations; it shares nothing with other methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ratiobench.instances.lora.model import Instance, ScheduleKind, Task
from ratiobench.instances.lora.solution import Decision, Solution

TASK_LIMIT = 8
ASSIGNMENT_LIMIT = 20_000  # Most ways to place one task, (K+1)^slots, that are looked at
STEP_LIMIT = 2_000_000  # Most schedules that the search over the tasks tries


class Schedule(NamedTuple):
    """One way to serve a task: its contribution to welfare, and the decision."""

    value: int
    decision: Decision


def list_schedules(instance: Instance, task: Task) -> list[Schedule]:
    """Every schedule of a task, minimal cover or not, the most valuable first; capacities are not looked at."""
    nodes, window = instance.nodes, task.deadline - task.arrival + 1
    if nodes >= ASSIGNMENT_LIMIT or (nodes + 1) ** window > ASSIGNMENT_LIMIT:
        raise ValueError(f"task {task.index}: {nodes + 1}^{window} ways to place it; at most {ASSIGNMENT_LIMIT}")
    type_of_node = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
    found = []
    for option in task.options:
        for cells in _assignments(type_of_node, task, option.first):
            if instance.schedules is ScheduleKind.ONE_NODE and len({k for k, _ in cells}) > 1:
                continue
            if sum(int(task.rate[type_of_node[k]]) for k, _ in cells) >= task.work:
                cost = option.price + sum(int(task.cost[type_of_node[k], t - 1]) for k, t in cells)
                found.append(Schedule(task.bid - cost, Decision(option.vendor, cells)))
    return sorted(found, key=lambda schedule: -schedule.value)


def _assignments(type_of_node: list[int], task: Task, slot: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """All choices of at most one node (with a rate) per slot from `slot` to the deadline."""
    if slot > task.deadline:
        yield ()
        return
    for rest in _assignments(type_of_node, task, slot + 1):
        yield rest
        for node, g in enumerate(type_of_node):
            if task.rate[g] > 0:
                yield ((node, slot), *rest)


def enumerate_optimum(instance: Instance) -> tuple[int, Solution]:
    """OPT, and a solution that attains it."""
    if not instance.tasks:
        return 0, ()
    if instance.tasks > TASK_LIMIT:
        raise ValueError(f"{instance.tasks} tasks; enumeration takes at most {TASK_LIMIT}")
    # A schedule that loses money is never needed: rejecting the task instead leaves more room and more welfare.
    menus = [
        [each for each in list_schedules(instance, instance.task(i)) if each.value > 0] for i in range(instance.tasks)
    ]
    search = _Search(instance, menus)
    search.run(0, 0)
    return search.best, tuple(search.best_decisions)


class _Search:
    """Depth-first over the tasks, with the exact loads of the nodes."""

    def __init__(self, instance: Instance, menus: list[list[Schedule]]) -> None:
        self.menus = menus
        kinds = [node for node in instance.node_types for _ in range(node.count)]
        self.type_of_node = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
        self.rate, self.memory = instance.rate.tolist(), instance.memory_mb.tolist()
        self.room = {
            (k, t): [node.compute, node.memory_mb - instance.base_memory_mb]
            for k, node in enumerate(kinds)
            for t in range(1, instance.slots + 1)
        }
        # The most that tasks i, i+1, ... could still add.
        self.rest = [sum(max((s.value for s in menu), default=0) for menu in menus[i:]) for i in range(len(menus) + 1)]
        self.decisions: list[Decision | None] = [None] * len(menus)
        self.best, self.best_decisions = 0, list(self.decisions)
        self.steps = 0

    def run(self, i: int, value: int) -> None:
        if value > self.best:
            self.best, self.best_decisions = value, list(self.decisions)
        if i == len(self.menus):
            return
        for schedule in self.menus[i]:
            if value + schedule.value + self.rest[i + 1] <= self.best:
                break
            self.steps += 1
            if self.steps > STEP_LIMIT:
                raise ValueError(f"more than {STEP_LIMIT} steps")
            if self._take(i, schedule.decision, 1):
                self.decisions[i] = schedule.decision
                self.run(i + 1, value + schedule.value)
                self.decisions[i] = None
            self._take(i, schedule.decision, -1)
        if value + self.rest[i + 1] > self.best:
            self.run(i + 1, value)

    def _take(self, i: int, decision: Decision, sign: int) -> bool:
        """Take the room that the decision needs (or give it back, sign = -1); False when a node is overloaded."""
        fits = True
        for k, t in decision.cells:
            free = self.room[k, t]
            free[0] -= sign * self.rate[i][self.type_of_node[k]]
            free[1] -= sign * self.memory[i]
            fits = fits and free[0] >= 0 and free[1] >= 0
        return fits
