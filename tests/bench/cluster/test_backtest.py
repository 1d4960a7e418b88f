"""A backtest: the answer, the match of replay and log, the page; `import` and `backtest` at the command line."""

import re
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ratiobench.bench.cluster import backtest as backtests
from ratiobench.bench.cluster.backtest import Backtest, run_backtest
from ratiobench.bench.cluster.page import list_answers, list_basis, list_tables, render_page
from ratiobench.instances.arrays import IntArray, freeze
from ratiobench.instances.cluster.format import read, write
from ratiobench.instances.cluster.generate import generate
from ratiobench.instances.cluster.model import Instance, make_costs
from tests.instances.cluster import log_files
from tests.support.cluster_rules import run_policy
from tests.support.commands import json_of, printed, refused

RULES = ("easy:candidates=shortest", "easy:order=shortest", "fcfs")


def month(days: int = 14, load: int = 95) -> Instance:
    """A generated log that is busy, on few nodes."""
    return generate("backtest", days=days, load=load, pools=(("a100", 3, 8), ("v100", 3, 4)))


def with_log(instance: Instance, starts: IntArray) -> Instance:
    return replace(instance, jobs=replace(instance.jobs, logged=freeze(starts)), cache={})


@pytest.fixture(scope="module")
def result() -> Backtest:
    instance = month()
    return run_backtest(with_log(instance, run_policy(instance, "easy").schedule.start), RULES, seconds=0)


def test_rows_are_the_replays_and_today_stands_first(result: Backtest) -> None:
    instance = month()
    assert result.policies[0].name == "easy"
    assert [row.figures.wait for row in result.policies[1:]] == sorted(row.figures.wait for row in result.policies[1:])
    for row in result.policies:
        start = run_policy(instance, row.name).schedule.start
        for cost, mean in row.costs.items():
            assert mean == make_costs(instance.jobs, cost).mean(start)
        judged = instance.judged_jobs
        assert row.figures.wait == pytest.approx(float((start - instance.jobs.submit)[judged].mean()))


def test_a_log_of_the_same_rule_matches(result: Backtest) -> None:
    match = result.match
    assert match is not None
    assert match.matches
    assert match.log["wait"] == pytest.approx(match.replay["wait"])
    assert result.log is not None
    assert result.log.figures == result.policies[0].figures


def test_only_a_policy_that_is_worse_in_neither_cost_is_recommended(result: Backtest) -> None:
    today = result.policies[0]
    good = [
        row.name
        for row in result.policies[1:]
        if all(row.costs[cost] <= today.costs[cost] for cost in row.costs) and (row.differences["wait"].high or 0) < 0
    ]
    assert result.recommended == (good[0] if good else "")


def test_no_policy_is_recommended_where_days_are_too_few_for_intervals() -> None:
    few = run_backtest(month(days=5), RULES[:1], seconds=0)
    assert few.recommended == ""
    assert "fewer than 10 days" in next(list_answers(few))


def test_no_policy_is_recommended_where_the_replay_does_not_match() -> None:
    """A log in which every job holds nothing it needs: jobs start a day late on an idle cluster."""
    instance = month(load=30)
    late = run_backtest(with_log(instance, instance.jobs.submit + 86_400), RULES, seconds=0)
    assert late.match is not None
    blocked = late.match.log["blocked"], late.match.replay["blocked"]
    assert late.match.matches is (abs(blocked[0] - blocked[1]) <= max(300, 0.25 * blocked[0]))
    crowded = run_backtest(with_log(month(), month().jobs.submit), RULES, seconds=0)
    assert crowded.match is not None
    assert not crowded.match.matches
    assert crowded.recommended == ""
    assert next(list_answers(crowded)).startswith("The replay does not match this log")


def test_basis_is_at_most_five_lines(result: Backtest) -> None:
    assert 3 <= len(list(list_basis(result))) <= 5


class InProcess(Executor):
    """Runs what is submitted at once: no second process has to compile."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_opt_lies_below_every_policy_and_gives_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtests, "SpawnPool", InProcess)
    instance = generate("backtest", days=2, load=95, pools=(("a100", 2, 8), ("v100", 2, 4)), most=25)
    found = run_backtest(instance, RULES, what_if=["limits=true"], seconds=0.5)
    assert found.log is found.match is None
    for cost, optimum in found.optima.items():
        assert optimum.lower <= optimum.upper <= min(row.costs[cost] for row in found.policies)
        for row in found.policies:
            span = row.shares[cost]
            if span is not None and row.costs[cost] <= found.policies[0].costs[cost]:
                assert 0 <= span.low <= span.high <= 1 + 1e-9
    (what_if,) = found.what_ifs
    assert set(what_if.optima) == set(found.optima)
    assert any(title.startswith("What if") for title in list_tables(found))


def test_the_page_holds_four_pictures_and_asks_no_network(result: Backtest) -> None:
    page = render_page(result)
    assert page.count("<svg") == 4
    assert not re.search(r"(src|href)=\"https?:", page.replace('xmlns:xlink="http://www.w3.org/1999/xlink"', ""))
    assert "easy:order=shortest" in page.replace("<wbr>", "")
    assert page == render_page(result)
    assert msgspec.json.decode(msgspec.json.encode(result), type=Backtest) == result


def test_names_of_accounts_cannot_break_the_page() -> None:
    """Control characters are shown as what they are, markup is text, and a dollar begins no formula."""
    instance = month(days=2)
    names = ("\x1b[31mred", "<b>bold", "$\\frac{a}", "x" * 200, *instance.accounts[4:])
    found = run_backtest(replace(instance, accounts=names, cache={}), RULES[:1], seconds=0)
    page = render_page(found)
    assert not re.search("[\x00-\x08\x0b-\x1f]|<b>bold", page)
    assert page.count("\\x1b[31mred") == 2
    assert "x" * 61 not in page + str(list_tables(found))


@pytest.mark.usefixtures("here")
def test_from_a_log_to_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """The two commands, on the sacct log of a month that EASY has run."""
    instance = month()
    starts = run_policy(instance, "easy").schedule.start
    Path("log.txt").write_text(log_files.sacct(log_files.rows_of(instance, starts, 1_700_000_000)))
    Path("cluster.toml").write_text(
        'zone = "UTC"\n'
        + "".join(f'[[pools]]\nname = "{p.name}"\nnodes = {p.nodes}\ngpus = {p.gpus}\n' for p in instance.pools)
    )
    out = printed(capsys, "import", "log.txt", "--cluster", "cluster.toml", "--out", "log.json.gz")
    assert f"imported {len(instance.jobs)} of {len(instance.jobs)} jobs" in out
    words = ("backtest", "log.json.gz", "--policies", *RULES, "--seconds", "0", "--out", "page.html")
    out = printed(capsys, *words)
    assert "Replay matches" in out
    assert "page: page.html" in out
    assert Path("page.html").read_text(encoding="utf-8").count("<svg") == 4
    found = msgspec.convert(json_of(capsys, *words[:-2]), Backtest)
    assert found.policies[0].name == "easy"
    assert np.isclose(found.policies[0].figures.wait, (starts - instance.jobs.submit)[instance.judged_jobs].mean())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("backtest", "no.json"), "no.json"),
        (("backtest", "log.json", "--policies", "esy"), "did you mean 'easy'"),
        (("backtest", "log.json", "--policies", "easy:order=fast"), "easy:order: 'fast' is not one of"),
        (("backtest", "log.json", "--today", "greedy"), "an algorithm of the family"),
        (("backtest", "log.json", "--what-if", "nodes=4"), "'4' is not a number of nodes"),
        (("backtest", "log.json", "--what-if", "nodes=+4,quota=no,file.toml"), "no,file.toml"),
        (("backtest", "log.json", "--seconds", "-1"), "'-1' is not a number of at least 0"),
        (("backtest", "log.json", "--out", "no/page.html"), "no/page.html"),
        (("import", "log.swf", "--cluster", "none.toml"), "none.toml"),
        (("import", "--cluster", "none.toml"), "the following arguments are required: LOG"),
        (("import", "log.swf"), "the following arguments are required: --cluster"),
    ],
)
def test_bad_input_is_one_line_with_status_2(
    words: tuple[str, ...], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(month(days=1), "log.json")
    assert message in refused(capsys, *words)
    assert sorted(path.name for path in here.iterdir()) == ["log.json"]


def test_a_read_instance_is_the_written_one(tmp_path: Path) -> None:
    """The cost by which schedules are judged is in the file, and not in the identity."""
    instance = replace(month(days=1), cost="slowdown", cache={})
    write(instance, tmp_path / "log.json")
    assert read(tmp_path / "log.json").cost == "slowdown"
