"""The days before a day, in suites: what an algorithm named with `prior=history` may have learned from."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.suite import Case, is_informed
from ratiobench.bench.lora.suites import suites
from ratiobench.bench.running.runner import RunOptions, choose_cases, list_left_out
from ratiobench.bench.running.work import make
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import loads
from ratiobench.instances.lora.arrivals import days, list_earlier_days

QUICK = next(suite for suite in suites() if suite.name == "quick")
TWO = """
algorithms = ["greedy"]
[[instance]]
recipe = "day"
nodes = 1
tasks = 6
name = "with"
prior.seed = "before"
[[instance]]
recipe = "day"
nodes = 1
tasks = 6
name = "without"
"""


def _with_history() -> list[Case]:
    return [case for suite in suites() if suite.name in ("quick", "mechanisms") for case in suite.cases if case.history]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("learned:prior=history", "history"),
        ("learned:history=history,guard=7", "history"),
        ("learned:guard=7,history=yesterday", "yesterday"),
        ("mine:Own:prior=yesterday", "yesterday"),
        ("mine:Own:history=history", ""),
        ("learned:history=history.json", ""),
        ("pdftsp:prior=yesterday.json", ""),
        ("greedy", ""),
    ],
)
def test_names_ask_for_the_days_before_in_either_spelling(name: str, word: str) -> None:
    """`history=` is an option of registered algorithms; a file whose name begins with such a word is a file."""
    assert is_informed(name) == word


def test_history_is_of_the_days_right_before_the_day() -> None:
    """In order, none of the day itself or later; each with a stream of its own."""
    cases = _with_history()
    assert len(cases) > 10
    for case in cases:
        trace = case.recipe["arrivals"]["trace"]
        known = (*list_earlier_days(trace), *days(trace))
        at = known.index(case.recipe["arrivals"].get("day", days(trace)[0]))
        parts = case.history["recipes"] if case.history else []
        assert tuple(part["arrivals"]["day"] for part in parts) == known[at - len(parts) : at]
        seeds = [str(part["seed"]) for part in (case.recipe, *parts)]
        assert len(set(seeds)) == len(seeds)
        assert case.is_served("learned:prior=history")
        assert case.is_served("posted:prior=yesterday") == (case.prior is not None)


def test_the_instance_of_a_history_joins_its_days() -> None:
    """As many days of as many slots, made from the recipes of the case but smaller."""
    case = _with_history()[0]
    assert case.history is not None
    parts = [part | {"tasks": 30, "nodes": 2} for part in case.history["recipes"]]
    made = make("lora", case.recipe | {"tasks": 30, "nodes": 2}, None, None, case.history | {"recipes": parts})
    assert made.history is not None
    whole = loads(made.history.data, "history")
    assert (whole.tasks, whole.slots) == (30 * len(parts), 144 * len(parts))


def _chosen(**options: Any) -> list[Case]:
    return choose_cases(QUICK, RunOptions(**options))


def test_only_the_chosen_cases_need_another_day() -> None:
    options = RunOptions(algorithms=("greedy", "learned:prior=history"), only=("philly_7200",))
    assert [case.algorithms for case in choose_cases(QUICK, options)] == [("greedy", "learned:prior=history")]
    assert list_left_out(QUICK, options) == []


def test_a_row_is_left_out_where_the_case_has_no_other_day() -> None:
    options = RunOptions(add=("learned:prior=history,guard=7",), only=("pai_40", "philly_7200"))
    small, day = choose_cases(QUICK, options)
    assert small.algorithms == QUICK.cases[0].algorithms
    assert day.algorithms[-1] == "learned:prior=history,guard=7"
    (note,) = list_left_out(QUICK, options)
    assert note == "left out: learned:prior=history,guard=7 on the case pai_40, which has no other day"
    assert [case.name for case in _chosen(algorithms=("learned:prior=history",))] == ["philly_7200"]
    (note,) = list_left_out(QUICK, RunOptions(algorithms=("learned:prior=history",)))
    assert re.fullmatch(r"left out: learned:prior=history on (\d+) of (\d+) cases, which have no other day", note)


def test_where_no_chosen_case_has_another_day_the_error_says_which_has() -> None:
    for options in ({"add": ("learned:prior=history",)}, {"algorithms": ("learned:prior=history",)}):
        with pytest.raises(InputError, match=r"the case tiny_vendors of quick has no other day; --only philly_7200"):
            _chosen(only=("tiny_vendors",), **options)
    with pytest.raises(InputError, match=r"none of the 4 chosen cases of quick has another day; --only philly_7200"):
        _chosen(only=("tiny_*",), add=("learned:prior=history",))
    with pytest.raises(InputError, match=r"of quick has another day; so name a file with prior=FILE"):
        _chosen(add=("posted:prior=yesterday",))


def test_the_run_and_its_report_say_what_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of two small cases, of which one has a day before."""
    file = tmp_path / "two.toml"
    file.write_text(TWO)
    words = ["-a", "greedy,posted:prior=yesterday", "--out", str(tmp_path / "two"), "--no-audits"]
    assert main(["run", str(file), *words]) == 0
    seen = capsys.readouterr()
    assert "ratiobench: left out: posted:prior=yesterday on the case without, which has no other day\n" in seen.err
    assert "posted:prior=yesterday is left out where no other day is: without." in seen.out
    assert "is left out where no other day is: without." in (tmp_path / "two" / "report.html").read_text()
    with (tmp_path / "two" / "results.csv").open() as rows:
        found = [(row["case"], row["algorithm"], row["state"]) for row in csv.DictReader(rows)]
    assert found == [
        ("with", "greedy", "ok"), ("with", "posted:prior=yesterday", "ok"), ("without", "greedy", "ok"),
    ]  # fmt: skip
