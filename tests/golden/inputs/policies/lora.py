"""Admits a task if its best schedule on one node earns enough per sample; more is asked where the slots are busy."""

import numpy as np

from ratiobench.instances.lora.solution import Decision

# EVOLVE-BLOCK-START
LEAST = 0.01  # micro-dollars per sample that a task must earn on an idle cluster
BUSY = 0.05  # micro-dollars per sample more on a full one
LATE = 0.2  # micro-dollars per slot of waiting that a schedule loses against an earlier one
# EVOLVE-BLOCK-END


class Threshold:
    """One node for each task, the cheapest slots in its window."""

    def start(self, public, constants):
        self.public = public
        self.kind = public.type_of_node
        self.compute = public.compute[self.kind]

    def decide(self, task, view):
        room = view.room(task, self.public)
        best = None
        for option in task.options:
            window = slice(option.first - 1, task.deadline)
            for node in range(len(self.kind)):
                rate = int(task.rate[self.kind[node]])
                slots = np.flatnonzero(room[node, window]) + option.first
                needed = -(-task.work // max(1, rate))
                if rate == 0 or len(slots) < needed:
                    continue
                cost = task.cost[self.kind[node], slots - 1]
                chosen = np.sort(slots[np.argsort(cost + LATE * (slots - task.arrival), kind="stable")[:needed]])
                spent = int(task.cost[self.kind[node], chosen - 1].sum()) + option.price
                load = 1 - float(view.compute[node, chosen - 1].mean()) / int(self.compute[node])
                gain = task.bid - spent - (LEAST + BUSY * load) * task.work
                if gain > 0 and (best is None or gain > best[0]):
                    best = gain, option.vendor, node, chosen, spent
        if best is None:
            return None
        _, vendor, node, chosen, spent = best
        return Decision(vendor, tuple((int(node), int(slot)) for slot in chosen), spent)
