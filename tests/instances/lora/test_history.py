"""Days joined to one instance: nothing of a task changes but when it is."""

from __future__ import annotations

import pytest

from instances.errors import InputError
from instances.lora.format import document, parse
from instances.lora.history import join
from instances.lora.named import named


def test_days_follow_one_another() -> None:
    """Tasks, tariffs and costs of each day stand in its own slots."""
    day = named("tiny_vendors")
    told = document(day)
    cost = [[7] * day.slots for _ in day.node_types]
    told["tasks"][0] = {key: value for key, value in told["tasks"][0].items() if key != "energy_wh"} | {"cost": cost}
    other = parse(told | {"name": "other"})
    whole = join([day, other])
    assert (whole.name, whole.slots, whole.tasks) == ("tiny_vendors to other", 2 * day.slots, 2 * day.tasks)
    assert whole.nodes == day.nodes
    for i in range(day.tasks):
        assert whole.cost(i)[:, : day.slots].tolist() == day.cost(i).tolist()
        assert whole.cost(day.tasks + i)[:, day.slots :].tolist() == other.cost(i).tolist()
        assert whole.vendors(day.tasks + i) == other.vendors(i) == day.vendors(i)
    for name, shift in (("arrival", day.slots), ("deadline", day.slots), ("work", 0), ("bid", 0), ("memory_mb", 0)):
        values = getattr(day, name).tolist()
        assert getattr(whole, name).tolist() == values + [value + shift for value in values]


def test_one_day_is_itself() -> None:
    """Its content, at least."""
    day = named("tiny_two_types")
    assert document(join([day]))["tasks"] == document(day)["tasks"]


def test_days_of_other_clusters_are_refused() -> None:
    """And days that together have more slots than an instance may have."""
    day = named("tiny_two_types")
    with pytest.raises(InputError, match="its nodes or slots are not those of tiny_two_types"):
        join([day, named("tiny_vendors")])
    with pytest.raises(InputError, match="more than 20000 cannot be history"):
        join([day] * (20_000 // day.slots + 1))
