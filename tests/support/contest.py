"""What tests of anyone's algorithms share: a small contest, who breaks a rule in it, and who is sound."""

from typing import Any

from ratiobench.formulations.lora.check import check
from ratiobench.instances.lora import Instance
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import OnlineRun
from tests.support.lora_documents import make_instance, make_node


def small_contest(tasks: int = 8, **fields: Any) -> Instance:
    """Two slots' worth of arrivals on two small nodes: room for four tasks a slot, vendors on every other task."""
    task = {"deadline": 4, "memory_mb": 2, "work": 3, "rate": [2], "energy_wh": [1]}
    vendors = [[], [{"price": 2, "delay": 1}]]
    rows = [task | {"arrival": 1 + 2 * i // tasks, "bid": 20 + i, "vendors": vendors[i % 2]} for i in range(tasks)]
    return make_instance(6, [make_node(4, 9, 2, tariff=[1] * 6)], [row | fields for row in rows], base_memory_mb=1)


def first_violation(instance: Instance, name: str) -> tuple[str, int | None, str]:
    """Rule, task and detail of the first rule that the contestant of this name breaks; it does break one."""
    result = run(instance, f"tests.support.contestants:{name}")
    assert not result.valid
    first = result.violations[0]
    return first.rule, first.task, first.detail


def assert_sound(instance: Instance, result: OnlineRun) -> None:
    """The run is valid, and what it says of its decisions is what the verifier says."""
    assert result.valid, result.violations
    verdict = check(instance, result.decisions)
    assert verdict.valid
    assert (verdict.welfare, verdict.admitted, verdict.revenue) == (result.welfare, result.admitted, result.revenue)
