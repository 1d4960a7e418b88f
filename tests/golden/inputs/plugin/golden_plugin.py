"""An algorithm of an installed package: the earliest slots of the first node that has enough of them."""

from ratiobench.instances.lora.solution import Decision


class FirstNode:
    """Admits every task that needs no vendor and fits."""

    def start(self, public, constants):
        """Keep what is public."""
        self.public = public

    def decide(self, task, view):
        """The earliest schedule on one node, without a payment."""
        for node, free in enumerate(view.room(task, self.public)):
            slots = [slot for slot in range(task.arrival, task.deadline + 1) if free[slot - 1]]
            needed = -(-task.work // max(1, int(task.rate[self.public.type_of_node[node]])))
            if len(slots) >= needed and not task.vendors:
                return Decision(None, tuple((node, slot) for slot in slots[:needed]), 0)
        return None
