"""Days joined to one instance: nothing of a task changes but when it is."""

from dataclasses import replace

import numpy as np
import pytest

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.format import document, parse
from ratiobench.instances.lora.history import choose, is_earlier, join, split
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.named import named
from tests.support.documents import refusal_of


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
    day = named("tiny_two_types")
    assert document(join([day]))["tasks"] == document(day)["tasks"]


def test_days_of_other_clusters_are_refused() -> None:
    """And days that together have more slots than an instance may have."""
    day = named("tiny_two_types")
    with pytest.raises(InputError, match="its nodes or slots are not those of tiny_two_types"):
        join([day, named("tiny_vendors")])
    with pytest.raises(InputError, match="more than 20000 cannot be history"):
        join([day] * (20_000 // day.slots + 1))


@pytest.mark.parametrize("name", ["tiny_vendors", "tiny_two_types", "tiny_cost_table", "tiny_negative_tariff"])
def test_days_that_were_joined_are_had_again(name: str) -> None:
    """Every field of every task, tariffs and explicit costs; a day without tasks, too."""
    day = named(name)
    days = [day, parse(document(day) | {"tasks": []}, "empty"), day]
    parts = split(join(days), day)
    left_out = ("name", "origin")
    told = [{key: value for key, value in document(each).items() if key not in left_out} for each in (*days, *parts)]
    assert told[:3] == told[3:]


def _changed(**fields: object) -> Instance:
    day = named("tiny_two_types")
    told = document(join([day, day]))
    first, *others = told["node_types"]
    node = {key: fields.pop(key) for key in ("compute", "memory_mb") if key in fields}
    return parse(told | {"name": "other", "node_types": [first | node, *others]} | fields, "other")


@pytest.mark.parametrize(
    ("fields", "field", "piece"),
    [
        ({"compute": 60}, "node_types[0].compute", "60, and the instance under test has 6"),
        ({"memory_mb": 70000}, "node_types[0].memory_mb", "70000, and the instance under test has 8000"),
        ({"slot_seconds": 300}, "slot_seconds", "300, and the instance under test has 600"),
        ({"base_memory_mb": 1000}, "base_memory_mb", "1000, and the instance under test has 2000"),
    ],
)
def test_history_of_another_cluster_is_one_line(fields: dict[str, object], field: str, piece: str) -> None:
    day = named("tiny_two_types")
    assert refusal_of(split, _changed(**fields), day) == f"other: {field}: {piece}"


def test_history_of_other_days_is_one_line() -> None:
    """No whole number of days; a task that lasts over the end of one."""
    day = named("tiny_two_types")
    with pytest.raises(InputError, match=f"{2 * day.slots} slots are no whole number of days of 3 slots"):
        split(join([day, day]), replace(day, slots=3))
    with pytest.raises(InputError, match=r"tasks\[.*\]\.deadline: task \d+ lasts over the end of a day of 2 slots"):
        split(join([day, day]), replace(day, slots=2))


def test_nodes_may_be_more_or_fewer_than_on_earlier_days() -> None:
    day = named("tiny_two_types")
    told = document(day)
    more = parse(told | {"node_types": [node | {"count": 9} for node in told["node_types"]]}, "more")
    assert len(split(join([day, day]), more)) == 2


def test_some_of_the_tasks_are_chosen_as_they_are() -> None:
    for name in ("tiny_vendors", "tiny_cost_table"):
        day = named(name)
        kept = np.array([day.tasks - 1, 0])
        told, all_told = document(choose(day, kept))["tasks"], document(day)["tasks"]
        assert told == [all_told[i] for i in kept.tolist()]
    assert choose(day, np.array([], np.int64)).tasks == 0


def _dated(**origin: object) -> Instance:
    """A day of four slots of ten minutes, with its last arrival in slot 2, and this origin."""
    return replace(named("tiny_two_types"), name="it", origin=origin)


def _of_trace(trace: str, day: object, start: object = 1) -> Instance:
    return _dated(recipe={"arrivals": {"trace": trace, "day": day}, "start": start})


@pytest.mark.parametrize(
    ("history", "tested", "expected"),
    [
        (_dated(start="2026-03-01T00:00:00"), _dated(start="2026-03-02T00:00:00"), True),
        (_dated(start="2026-03-02T00:00:00"), _dated(start="2026-03-02T00:00:00"), "begins on 2026-03-02 00:00, not"),
        (_dated(start="2026-03-03T00:00:00"), _dated(start="2026-03-02T00:00:00"), "begins on 2026-03-03 00:00, not"),
        (_dated(start="2026-03-01T23:55:00"), _dated(start="2026-03-02T00:00:00"), "has arrivals up to 2026-03-02 00:"),
        (_dated(), _dated(start="2026-03-02T00:00:00"), False),
        (_dated(start="2026-03-01T00:00:00"), _dated(), False),
        (_dated(start="some day"), _dated(start="2026-03-02T00:00:00"), False),
        (_dated(start="9999-12-31T23:59:59"), _dated(start="2026-03-02T00:00:00"), False),
        (_of_trace("pai", "1970-03-02"), _of_trace("pai", "1970-03-03"), True),
        (_of_trace("pai", "1970-03-03"), _of_trace("pai", "1970-03-03", 2), "has arrivals up to 1970-03-03 00:"),
        (_of_trace("pai", "1970-03-03", 9), _of_trace("pai", "1970-03-03", 2), "begins on 1970-03-03 01:20"),
        (_of_trace("philly", "2017-10-09"), _of_trace("pai", "1970-03-03"), False),
        (_of_trace("pai", 3), _of_trace("pai", "1970-03-03", "x"), False),
    ],
)  # fmt: skip
def test_history_is_from_before_a_day_by_its_dates(history: Instance, tested: Instance, expected: bool | str) -> None:
    """The last arrival counts; days of different traces and days without a date are not compared."""
    assert int(history.arrival.max()) > 1
    if isinstance(expected, bool):
        assert is_earlier(history, tested) is expected
        return
    told = refusal_of(is_earlier, history, tested)
    assert told.startswith(f"it: start: {expected}")
    assert "instance under test, 'it', begins (" in told
