"""Programs of all tasks in some cells, and certificates of small instances."""

import numpy as np
import pytest

from ratiobench.formulations import backends
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.lora.bound.tree import CellRow
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models import tight
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.models.formulation import solution_of
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.named import named

PART = {"kind": "paper", "start": 60, "slots": 20, "quiet": 4, "arrivals": {"trace": "pai"}}
NAMES = ["tiny_contention", "tiny_vendors", "tiny_two_types", "tiny_negative_tariff"]


def optimum(instance: Instance, allowed: np.ndarray, rows: list[CellRow]) -> int:
    """Of the model in these cells, by HiGHS; its solution is feasible."""
    model = tight.restrict(instance, allowed, rows)
    result = backends.solve("highs", model, Limits())
    assert result.values is not None
    report = check(instance, solution_of(instance, model.columns, result.values))
    assert report.valid
    return report.welfare


@pytest.mark.parametrize("name", NAMES)
def test_a_program_in_all_cells_finds_the_optimum(name: str) -> None:
    """Vendors, two types, negative costs."""
    instance = named(name)
    everywhere = np.ones((instance.tasks, len(instance.node_types), instance.slots), np.bool_)
    assert optimum(instance, everywhere, []) == enumerate_optimum(instance)[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_program_uses_no_other_cells_and_keeps_its_rows(name: str) -> None:
    """A task without cells is rejected, as is one that a row leaves none."""
    instance = named(name)
    everywhere = np.ones((instance.tasks, len(instance.node_types), instance.slots), np.bool_)
    kind, slot = (part.reshape(-1) for part in np.indices(everywhere.shape[1:]))
    found = []
    for task in range(instance.tasks):
        without = everywhere.copy()
        without[task] = False
        found.append(optimum(instance, without, []))
        none = CellRow(np.full(len(kind), task), kind, slot + 1, np.ones(len(kind), np.int64), 0)
        assert optimum(instance, everywhere, [none]) == found[-1]
    assert min(found) < enumerate_optimum(instance)[0]


def test_certificates_of_small_instances_close() -> None:
    instance = generate(PART | {"name": "part", "seed": ["windows", 2], "tasks": 12, "nodes": {"a100": 1, "a40": 1}})
    plain = solve(instance, backend="none")
    certified = solve(instance, certified=True)
    assert certified.lower == certified.upper
    assert plain.lower <= certified.lower <= certified.upper <= plain.upper
