"""Gantt charts: blocks against the cells of the solution, and the pictures that commands write."""

import itertools
import json
import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from ratiobench.bench.cli import main
from ratiobench.bench.family.capabilities import Gantt
from ratiobench.bench.lora.gantt import ONE_RUN, PAUSES, gantt
from ratiobench.bench.report.timeline import MOST_BLOCKS, MOST_ROWS, draw_gantt
from ratiobench.instances.eapm.generate import names
from ratiobench.instances.eapm.generate import path as eapm_file
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import line_of, write_text
from ratiobench.instances.lora import Instance, document, parse
from ratiobench.instances.lora.solution import Decision, Solution
from ratiobench.online.lora.run import run
from tests.support.commands import refused
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances


def cluster(*tasks: dict[str, Any], nodes: tuple[int, ...] = (2,), slots: int = 8) -> Instance:
    """Tasks that take a whole node each, one sample per slot; what is not said is bid 10, no energy."""
    return make_instance(
        slots,
        [make_node(1, 1, count, tariff=[1] * slots, name=f"<g{g}>") for g, count in enumerate(nodes)],
        [{"bid": 10} | task for task in tasks],
        slot_seconds=600,
    )


def require_sound(instance: Instance, solution: Solution, chart: Gantt) -> None:
    """Each cell is covered by as much of the row as the task takes, no place twice, a stretch at one place."""
    kind = instance.public("").type_of_node
    taken = {(i, node, slot) for i, each in enumerate(solution) if each is not None for node, slot in each.cells}
    held: dict[tuple[int, int], list[tuple[float, float]]] = {}
    drawn: dict[tuple[int, int, int], float] = {}
    placed = [i for i, each in enumerate(solution) if each is not None]
    for i, task in zip(placed, chart.tasks, strict=True):
        assert task.title.startswith(f"task {i}: ")
        for block in task.blocks:
            assert 0 <= block.low < block.high <= 1
            for slot in range(block.start + 1, block.end + 1):
                held.setdefault((block.row, slot), []).append((block.low, block.high))
                key = i, block.row, slot
                drawn[key] = drawn.get(key, 0.0) + block.high - block.low
    assert set(drawn) == taken
    for (i, node, _), height in drawn.items():
        compute = instance.node_types[kind[node]].compute
        assert height == pytest.approx(float(Fraction(int(instance.rate[i, kind[node]]), compute)))
    for parts in held.values():
        parts.sort()
        assert all(one[1] <= other[0] + 1e-12 for one, other in itertools.pairwise(parts))
    stretches = sum((i, node, slot - 1) not in taken for i, node, slot in taken)
    places = {(i, block.row, block.start) for i, task in zip(placed, chart.tasks, strict=True) for block in task.blocks}
    assert len(places) == stretches


@settings(max_examples=samples(60), deadline=None)
@given(tiny_instances())
def test_blocks_are_the_cells_of_the_solution(instance: Instance) -> None:
    """Whatever the tasks may do, and where they stay on a node."""
    for solution in (run(instance, name).decisions for name in ("greedy", "eft:migrate=no")):
        require_sound(instance, solution, gantt(instance, solution))


def node_of_three(*tasks: dict[str, Any]) -> Instance:
    """Tasks on one node of compute 3."""
    data = document(cluster(*tasks, nodes=(1,)))
    data["node_types"][0] |= {"compute": 3, "memory_mb": 9}
    return parse(data)


def test_a_task_without_a_gap_that_is_high_enough_is_drawn_in_pieces() -> None:
    """Beside the middle of three parts, at places that it keeps; a lower task goes where the gap is smallest."""
    instance = node_of_three({"work": 1}, {"work": 5}, {"work": 1}, {"work": 4, "rate": [2]}, {"work": 1})
    solution = tuple(
        Decision(None, tuple((0, slot) for slot in slots))
        for slots in (range(1, 2), range(1, 6), range(1, 2), range(2, 4), range(6, 7))
    )
    chart = gantt(instance, solution)
    require_sound(instance, solution, chart)
    third = Fraction(1, 3)
    assert [(b.low, b.high) for b in chart.tasks[3].blocks] == [(0.0, float(third)), (float(2 * third), 1.0)]
    assert all((b.start, b.end) == (1, 3) for b in chart.tasks[3].blocks)


def test_kinds_and_figures_of_tasks() -> None:
    """Runs without a pause on one node, others, and when they begin after their arrival."""
    instance = cluster({"work": 3}, {"work": 2, "bid": 12_345}, nodes=(2,), slots=9)
    solution = Decision(None, ((0, 2), (0, 3), (0, 4))), Decision(None, ((0, 5), (1, 6)))
    chart = gantt(instance, solution)
    assert [task.kind for task in chart.tasks] == [ONE_RUN, PAUSES]
    assert chart.tasks[0].title == (
        "task 0: node 0 (<g0>), slots 2 to 4 (0:10 to 0:40), 1 slot after its arrival, bid 10"
    )
    assert chart.tasks[1].title == (
        "task 1: nodes 0, 1 (<g0>), slots 5 to 6 (0:40 to 1:00), 4 slots after its arrival, bid 12,345"
    )
    assert {(block.row, block.start, block.end) for block in chart.tasks[1].blocks} == {(0, 4, 5), (1, 5, 6)}
    one = gantt(instance, (None, Decision(None, ((1, 1), (1, 2)))))
    assert [(task.kind, task.title) for task in one.tasks] == [
        (ONE_RUN, "task 1: node 1 (<g0>), slots 1 to 2 (0:00 to 0:20), at its arrival, bid 12,345")
    ]


def _tasks(text: str) -> int:
    """How many tasks the legend of a chart counts."""
    assert ET.fromstring(text).get("aria-label") == "Which nodes run which tasks"
    counts = re.findall(rf">(?:{ONE_RUN}|{PAUSES}) \((\d+)\)<", text)
    assert counts
    return sum(map(int, counts))


def test_commands_write_the_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`simulate` and `opt` as a picture and in pages; names are text."""
    instance = cluster({"work": 6}, {"work": 4}, {"work": 2}, nodes=(2,), slots=9)
    file = tmp_path / "day.json"
    write_text(file, line_of(document(instance)))
    picture, page = tmp_path / "run.svg", tmp_path / "run.html"
    arguments = ["simulate", str(file), "--algorithm", "eft"]
    assert main([*arguments, "--no-opt", "--timeline", str(picture)]) == 0
    assert _tasks(picture.read_text(encoding="utf-8")) == 3
    assert "&lt;g0&gt;" in picture.read_text(encoding="utf-8")
    assert main(["opt", str(file), "--timeline", str(tmp_path / "opt.svg")]) == 0
    assert _tasks((tmp_path / "opt.svg").read_text(encoding="utf-8")) == 3
    assert main([*arguments, "--algorithm", "greedy", "--timeline", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count('aria-label="Which nodes run which tasks"') == 3
    assert "<h2>OPT</h2>" in text
    assert "One run on one node: slots in a row on one node" in text
    assert "<g0>" not in text
    assert main(["opt", str(file), "--timeline", str(page)]) == 0
    assert page.read_text(encoding="utf-8").count('aria-label="Which nodes run which tasks"') == 1
    line = refused(capsys, *arguments, "--algorithm", "greedy", "--timeline", str(picture))
    assert ".svg is the chart of one algorithm, not of 2" in line
    line = refused(capsys, "opt", str(eapm_file(names()[0])), "--timeline", str(page))
    assert "the family eapm has no Gantt charts" in line


def test_anyones_solution_is_drawn_where_it_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = cluster({"work": 2}, {"work": 2}, nodes=(2,), slots=6)
    file, solution, picture = tmp_path / "day.json", tmp_path / "solution.json", tmp_path / "it.svg"
    write_text(file, line_of(document(instance)))
    decisions = [{"vendor": None, "cells": [[0, 3], [1, 4]]}, {"vendor": None, "cells": [[1, 1], [1, 2]]}]
    solution.write_text(json.dumps({"decisions": decisions}), encoding="utf-8")
    assert main(["check", str(file), str(solution), "--timeline", str(picture)]) == 0
    assert _tasks(picture.read_text(encoding="utf-8")) == 2
    assert main(["check", str(file), str(solution), "--timeline", str(tmp_path / "it.html")]) == 0
    text = (tmp_path / "it.html").read_text(encoding="utf-8")
    assert "<h2>Solution</h2>" in text
    assert "OPT is at most" not in text
    decisions[1]["cells"] = [[1, 4], [1, 5]]
    solution.write_text(json.dumps({"decisions": decisions}), encoding="utf-8")
    picture.unlink()
    assert main(["check", str(file), str(solution), "--timeline", str(picture)]) == 1
    assert "was not written: the solution is not valid" in capsys.readouterr().out
    assert not picture.exists()
    line = refused(capsys, "check", str(file), "--certificate", str(solution), "--timeline", str(picture))
    assert "--timeline: it draws a solution" in line


def test_charts_that_a_browser_cannot_show_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = cluster({"work": 1}, nodes=(MOST_ROWS + 1,), slots=2)
    solution = run(instance, "greedy").decisions
    with pytest.raises(InputError, match="no Gantt chart of 501 nodes: it has at most 500"):
        draw_gantt(gantt(instance, solution))
    chart = gantt(node_of_three({"work": 1}), (Decision(None, ((0, 1),)),))
    many = Gantt(chart.unit, chart.times, chart.rows, chart.groups, [chart.tasks[0]] * (MOST_BLOCKS + 1), chart.kinds)
    with pytest.raises(InputError, match="no Gantt chart of 20,001 pieces of tasks"):
        draw_gantt(many)
    write_text(tmp_path / "day.json", line_of(document(instance)))
    arguments = ["simulate", str(tmp_path / "day.json"), "--algorithm", "greedy", "--no-opt", "--timeline"]
    assert main([*arguments, str(tmp_path / "it.html")]) == 0
    assert "No Gantt chart of 501 nodes" in (tmp_path / "it.html").read_text(encoding="utf-8")
    assert main([*arguments, str(tmp_path / "it.svg")]) == 2
    assert "--timeline: no Gantt chart of 501 nodes" in capsys.readouterr().err
