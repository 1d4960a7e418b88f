"""What a decision costs the provider."""

from __future__ import annotations

from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision


def find_outlay(instance: Instance, i: int, decision: Decision) -> int:
    """q + sum e of a decision about task i, micro-dollars."""
    kind, cost = instance.public("").type_of_node, instance.cost(i)
    fee = 0 if decision.vendor is None else instance.vendors(i)[decision.vendor].price
    return fee + sum(int(cost[kind[k], t - 1]) for k, t in decision.cells)
