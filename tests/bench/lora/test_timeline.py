"""Time lines: why tasks were rejected, against trying every schedule; loads and prices against adding up."""

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.lora.timeline import DEAR, FULL, IMPOSSIBLE, REASONS, find_reasons, timeline
from ratiobench.bench.report.timeline import MOST, count_arrivals, name_times, shorten_series
from ratiobench.instances.eapm.generate import names
from ratiobench.instances.eapm.generate import path as eapm_file
from ratiobench.instances.io.files import line_of, write_text
from ratiobench.instances.lora.format import document, parse
from ratiobench.instances.lora.model import Instance, ScheduleKind, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.run import run
from tests.support.commands import refused
from tests.support.lora_documents import make_document, make_node
from tests.support.samples import samples

ALGORITHMS = ("greedy", "pdftsp", "eft")
CROWDED = make_document(
    4,
    [make_node(5, 6, name="fast"), make_node(3, 4, 2, name="slow", tariff=[0, 1, 0, 2])],
    [],
    base_memory_mb=1,
    slot_seconds=600,
)


def crowded(seed: int) -> Instance:
    """Ten tasks of all sorts on three nodes and four slots."""
    chance = random.Random(seed)
    tasks = []
    for arrival in sorted(chance.choices([1, 1, 2, 3, 4], k=10)):
        vendors = [{"price": 0, "delay": chance.randint(0, 2)} for _ in range(chance.randint(0, 2))]
        tasks.append(
            {
                "arrival": arrival, "deadline": chance.randint(arrival, 4), "memory_mb": chance.randint(1, 4),
                "work": chance.randint(1, 9), "bid": chance.randint(0, 30),
                "rate": [chance.randint(0, 5), chance.randint(0, 3)], "energy_wh": [1, 1], "vendors": vendors,
            }
        )  # fmt: skip
    return parse(CROWDED | {"tasks": tasks}, "crowded")


def schedules(task: Task, instance: Instance) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every choice of one node or none per slot that does the task's work, whatever is free."""
    kind = instance.public("").type_of_node
    for option in task.options:
        slots = range(option.first, task.deadline + 1)
        for nodes in itertools.product([None, *range(instance.nodes)], repeat=len(slots)):
            cells = tuple((node, slot) for node, slot in zip(nodes, slots, strict=True) if node is not None)
            rates = [int(task.rate[kind[node]]) for node, _ in cells]
            if all(rates) and sum(rates) >= task.work:
                yield cells


def has_room(task: Task, instance: Instance, before: Sequence[tuple[Task, Decision]], allowed: ScheduleKind) -> bool:
    """Whether one of them fits what these decisions leave; with `ONE_NODE` one on a single node."""
    kind, public = instance.public("").type_of_node, instance.public("")
    for cells in schedules(task, instance):
        if allowed is ScheduleKind.ONE_NODE and len({node for node, _ in cells}) > 1:
            continue
        for node, slot in cells:
            there = [other for other, decision in before if (node, slot) in decision.cells]
            if sum(int(each.rate[kind[node]]) for each in [*there, task]) > public.compute[kind[node]]:
                break
            if sum(each.memory_mb for each in [*there, task]) > public.memory_mb[kind[node]]:
                break
        else:
            return True
    return False


@pytest.mark.parametrize("allowed", [ScheduleKind.ANY, ScheduleKind.ONE_NODE])
@pytest.mark.parametrize("seed", range(4))
def test_reasons_are_those_that_trying_every_schedule_finds(seed: int, allowed: ScheduleKind) -> None:
    """Nothing fits an empty cluster; nothing fits what was left; something fits, and the algorithm declined."""
    instance = crowded(seed) if allowed is ScheduleKind.ANY else crowded(seed).without_migration()
    seen = set()
    for algorithm in ALGORITHMS:
        played = run(instance, algorithm)
        reasons = find_reasons(instance, played.decisions, allowed is ScheduleKind.ONE_NODE)
        found = {each.number: each.reason for each in timeline(instance, played).refused}
        assert found == reasons
        assert set(reasons) == {i for i, decision in enumerate(played.decisions) if decision is None}
        before: list[tuple[Task, Decision]] = []
        for i, decision in enumerate(played.decisions):
            task = instance.task(i)
            if decision is not None:
                before.append((task, decision))
                continue
            left, whole = (has_room(task, instance, those, allowed) for those in (before, []))
            expected = DEAR if left else FULL if whole else IMPOSSIBLE
            assert reasons[i] == expected, (algorithm, i)
            seen.add(expected)
    assert seen >= {IMPOSSIBLE}


def test_every_reason_occurs() -> None:
    runs = [(crowded(seed), algorithm) for seed in range(4) for algorithm in ALGORITHMS]
    found = {reason for each, name in runs for reason in find_reasons(each, run(each, name).decisions).values()}
    assert found == set(REASONS)


def test_loads_prices_and_counts_add_up() -> None:
    """Samples over compute, by type and slot; mean, least and largest price over all nodes, idle ones included."""
    instance = crowded(1)
    played = run(instance, "pdftsp:arith=exact")
    found = timeline(instance, played)
    kind = instance.public("").type_of_node
    assert [each.name for each in found.loads] == ["fast", "slow"]
    for number, (load, node_type) in enumerate(zip(found.loads, instance.node_types, strict=True)):
        for slot in range(1, 5):
            done = sum(
                int(instance.rate[i, number])
                for i, decision in enumerate(played.decisions)
                for node, when in (decision.cells if decision else ())
                if kind[node] == number and when == slot
            )
            assert load.mean[slot - 1] == Fraction(done, node_type.count * node_type.compute)
    assert any(mean for load in found.loads for mean in load.mean)
    for courses, prices in zip(found.prices.values(), (played.trace.lam, played.trace.phi), strict=True):
        for number, course in enumerate(courses):
            nodes = [node for node in range(instance.nodes) if kind[node] == number]
            assert course.low is not None
            assert course.high is not None
            for slot in range(1, 5):
                values = [Fraction(prices.get((node, slot), 0)) for node in nodes]
                assert course.mean[slot - 1] == sum(values) / len(values)
                assert (course.low[slot - 1], course.high[slot - 1]) == (min(values), max(values))
    assert any(price for courses in found.prices.values() for course in courses for price in course.mean)
    assert sum(found.admitted) == played.admitted
    assert sum(found.admitted) + len(found.refused) == instance.tasks
    assert timeline(instance, run(instance, "greedy")).prices == {}


@pytest.mark.parametrize(
    ("origin", "first", "title"),
    [
        ({}, ["0:00", "0:10"], "time since the first slot began"),
        ({"recipe": {"start": 60}}, ["9:50", "10:00"], "time of day"),
        ({"recipe": {"start": 10**9}, "start": 7}, ["0:00", "0:10"], "time since the first slot began"),
        ({"start": "2023-01-02T23:50:30"}, ["23:50:30", "1 d 0:00:30"], "time of day, UTC"),
    ],
)
def test_slots_have_times_beside_their_numbers(origin: dict[str, object], first: list[str], title: str) -> None:
    """Of the day where the instance's origin knows it, else since the beginning."""
    instance = parse(document(crowded(1)) | {"origin": origin}, "crowded")
    found = timeline(instance, run(instance, "greedy"))
    assert found.clock[:2] == first
    assert found.clock_title == title


def test_many_slots_share_places() -> None:
    """Arrivals are added up, loads are means over the slots of a place; nothing is lost."""
    tasks = [
        {
            "arrival": slot, "deadline": slot, "memory_mb": 1, "work": 1, "bid": slot % 2, "rate": [1, 0],
            "energy_wh": [0, 0], "vendors": [],
        }
        for slot in range(1, 600, 3)
    ]  # fmt: skip
    types = [{**each, "tariff": [0] * 601} for each in CROWDED["node_types"]]  # type: ignore[attr-defined]
    instance = parse(CROWDED | {"slots": 601, "node_types": types, "tasks": tasks}, "long")
    whole = timeline(instance, run(instance, "greedy"))
    labels, counts = name_times(whole), count_arrivals(whole)
    assert len(labels) == 201 <= MOST
    assert (labels[0], labels[-1]) == ("1 to 3 (0:00)", "601 (4 d 4:00)")
    assert sum(counts["admitted"]) == sum(whole.admitted) == 100
    assert sum(map(sum, counts.values())) == 200
    for load in whole.loads:
        assert shorten_series(whole, load).mean[1] == sum(load.mean[3:6]) / 3


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Charts with their figures as text, a row per slot, whoever was turned away; names are text, not markup."""
    data = document(crowded(1)) | {"name": "<b>crowded</b>"}
    write_text(tmp_path / "it.json", line_of(data))
    page = tmp_path / "line.html"
    arguments = ["simulate", str(tmp_path / "it.json"), "--algorithm", "pdftsp", "--timeline", str(page)]
    assert main(arguments) == 0
    assert f"time line: {page}" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "&lt;b&gt;crowded" in text
    assert text.count('role="img"') >= 4
    assert "1 (0:00)" in text
    assert "slot, and when it begins (time since the first slot began)" in text
    assert text.count("<svg") == 5
    for reason in REASONS:
        assert reason in text
    assert "http" not in re.sub(r"http://www\.w3\.org/[\w/]+", "", text)
    assert main([*arguments, "--no-migration"]) == 0
    assert "no migration" in page.read_text(encoding="utf-8")


def test_a_family_without_time_lines_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, before the run, and nothing is written."""
    page = tmp_path / "line.html"
    words = ("simulate", str(eapm_file(names()[0])), "--algorithm", "balance", "--timeline", str(page))
    assert "the family eapm has no time lines" in refused(capsys, *words)
    assert not page.exists()


@pytest.mark.parametrize("seed", range(samples(20)))
def test_what_is_asked_for_and_who_is_admitted_by_class(seed: int) -> None:
    """Against playing every servable task alone, slot by slot, and against counting."""
    instance = crowded(seed)
    played = run(instance, "greedy")
    line = timeline(instance, played)
    capacity = sum(kind.count * kind.compute for kind in instance.node_types)
    public = instance.public("")
    wanted = [0] * instance.slots
    size: dict[str, list[int]] = {}
    for i in range(instance.tasks):
        task = instance.task(i)
        rates = [
            int(rate)
            for g, rate in enumerate(task.rate)
            if 0 < rate <= public.compute[g] and task.memory_mb <= public.memory_mb[g]
        ]
        first = min(option.first for option in task.options)
        done, used = 0, {}
        for slot in range(first, task.deadline + 1):
            used[slot] = min(max(rates, default=0), task.work - done)
            done += used[slot]
        if done == task.work:
            for slot, amount in used.items():
                wanted[slot - 1] += amount
        size.setdefault("nowhere" if not rates else "somewhere", []).append(i)
    assert line.asked == [Fraction(amount, capacity) for amount in wanted]
