"""`bench perf`: the driver, the yardsticks against what is shipped, and the tables. No test reads a clock."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.cli.main import main
from ratiobench.bench.family.registry import families
from ratiobench.bench.lora.perf import decisions as online
from ratiobench.bench.lora.perf import models as parts
from ratiobench.bench.lora.perf.scaling import scaling, sweep
from ratiobench.bench.perf import command
from ratiobench.bench.perf.measurement import Bars, Curves, Measurement, Part, Value, time_in_turns
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.strategies import tiny_instances
from ratiobench.online.lora.search.maxprice import window
from tests.support.samples import samples
from tests.support.toy_runs import toy  # noqa: F401


def _quiet(text: str) -> None:
    assert text


def _state(instance: Instance, seed: int, values: int) -> online.State:
    """Random prices from few values, so that they tie often."""
    public = instance.public("")
    stream = Stream("test_perf", seed)
    shape = (public.nodes, public.slots)
    lam, phi = (stream.integers(0, values, public.nodes * public.slots).reshape(shape) / 3.0 for _ in range(2))
    return online.State(public, lam, phi, [instance.task(i) for i in range(instance.tasks)])


@settings(max_examples=samples(120))
@given(instance=tiny_instances(), seed=st.integers(0, 2**20), values=st.sampled_from([1, 2, 4, 50]))
def test_the_literal_programme_in_samples_decides_as_the_shipped_one(
    instance: Instance, seed: int, values: int
) -> None:
    """Same F, option, schedule, S and E in doubles, ties included."""
    state = _state(instance, seed, values)
    for task in state.tasks:
        if window(task, state.public) is not None:
            assert online.decide_literal(state, task) == online.decide_printed(state, task)


@settings(max_examples=samples(120))
@given(instance=tiny_instances(), seed=st.integers(0, 2**20), values=st.sampled_from([1, 2, 4, 50]))
def test_pruning_does_not_change_the_best_f(instance: Instance, seed: int, values: int) -> None:
    """Every pair of prices against branch and bound, bit for bit."""
    state = _state(instance, seed, values)
    for task in state.tasks:
        if window(task, state.public) is not None:
            choice = online.decide_exact(state, task)
            assert online.decide_unpruned(state, task) == (-np.inf if choice is None else choice.value)


@settings(max_examples=samples(80))
@given(instance=tiny_instances(), seed=st.integers(0, 2**20), values=st.sampled_from([1, 3, 1000]))
def test_additive_prices_cost_what_the_dynamic_programme_says(instance: Instance, seed: int, values: int) -> None:
    """What is shipped against the covering programme, bit for bit."""
    state = _state(instance, seed, values)
    for task in state.tasks:
        assert online.decide_additive(state, task) == online.additive_search(task, state.public, state.lam, state.phi)


def _small_day() -> Instance:
    return generate(
        {"kind": "paper", "tasks": 90, "nodes": 4, "slots": 30, "quiet": 6, "data": [500, 900], "epochs": [1, 2],
         "seed": ["test_perf", "day"]}
    )  # fmt: skip


def test_online_decisions_are_compared_and_counted() -> None:
    """Every contender has its row; the literal programme is once its own speed."""
    measured = online.measure(_small_day(), 40, 3, 12, 1, _quiet)
    assert measured.columns == online.COLUMNS
    names = [row["search"] for row in measured.rows]
    assert len(names) == 8
    assert names[:2] == ["Algorithm 2 literally, units of 1 sample", "search=exact without pruning"]
    assert [row["times_literal"] for row in measured.rows if row["search"] == names[0]] == [1.0]
    assert {row["tasks"] for row in measured.rows} == {3, len(online.take_midday_state(_small_day(), 40, 12).tasks)}


@pytest.mark.parametrize("contender", ["decide_printed", "decide_exact", "decide_additive"])
def test_a_search_that_decides_otherwise_gets_no_figure(contender: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Speed of something that is not the same is not reported."""
    original: Callable[..., object] = getattr(online, contender)

    def wrong(state: online.State, task: object) -> object:
        found = original(state, task)
        return 1.0 if isinstance(found, float) else found._replace(value=1.5)  # type: ignore[attr-defined]

    monkeypatch.setattr(online, contender, wrong)
    with pytest.raises(RuntimeError, match="task "):
        online.measure(_small_day(), 40, 3, 12, 1, _quiet)


def test_prices_in_the_middle_of_a_day_are_those_of_a_run() -> None:
    """After all tasks they are the final prices of pdFTSP in doubles."""
    from ratiobench.online.lora.run import run
    from ratiobench.online.lora.traces import PriceTrace

    instance = _small_day()
    state = online.take_midday_state(instance, instance.tasks - 1, 5)
    shorter = online.take_midday_state(instance, 10, 5)
    assert (state.lam >= shorter.lam).all()
    assert (state.lam > shorter.lam).any()
    trace = run(instance, "pdftsp:arith=float").trace
    assert isinstance(trace, PriceTrace)
    last = {(k, t - 1) for (k, t), price in trace.lam.items() if price != state.lam[k, t - 1]}
    offer = trace.offers[-1]
    assert last <= {(k, t - 1) for k, t in offer.cells}


def test_models_are_compared_at_equal_seconds_on_verified_incumbents() -> None:
    """Ours and HiGHS agree on what can be had; a gap is never negative, bounds are above all incumbents."""
    measured = parts.compare_models([(6, 2, 8)], 0.5, {"highs": "1"}, _quiet)
    assert measured.columns == parts.MODELS
    contenders = [(row["model"], row["solver"]) for row in measured.rows]
    assert contenders == [(parts.OURS, "-"), ("tight", "highs"), ("printed", "highs")]
    incumbents = [int(str(row["incumbent"])) for row in measured.rows if row["incumbent"] is not None]
    bounds = [int(str(row["bound"])) for row in measured.rows if row["bound"] is not None]
    assert incumbents
    assert max(incumbents) <= min(bounds)


def test_certificates_and_solvers_that_prove_agree() -> None:
    """All that prove a part find the same optimum; a note per contender counts the proofs."""
    recipe = "paper:tasks=6,nodes.a100=1,nodes.a40=1,start=60,slots=10,quiet=2,arrivals.trace=philly"
    measured = parts.compare_proofs([recipe], 20.0, {"highs": "1", "cpsat": "2"}, _quiet)
    assert measured.columns == parts.PROOFS
    assert [(row["model"], row["solver"]) for row in measured.rows] == [
        ("certificate", "-"), ("opt", "-"), ("tight", "highs"), ("cpsat", "cpsat"), ("printed", "highs"),
    ]  # fmt: skip
    assert {row["ended"] for row in measured.rows} == {"proved"}
    assert len({row["incumbent"] for row in measured.rows}) == 1
    assert all(note.split(": ")[1].startswith("1 of 1 proved") for note in measured.notes[1:])


def test_what_is_not_proved_counts_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contender without a proof has the limit as its median, one without any bound a gap of 100 %."""
    for name in ("certify", "solve_in_time"):
        monkeypatch.setattr(parts, name, lambda *_: parts.Answer(90, 100, 0.0, 3.0, "seconds"))
    monkeypatch.setattr(parts, "solve_directly", lambda *_: parts.Answer(None, None, 1.0, 2.0, "memory"))
    recipe = "paper:tasks=6,nodes=2,slots=10"
    measured = parts.compare_proofs([recipe], 20.0, {"highs": "1"}, _quiet)
    first, second, *others = measured.notes[1:]
    assert first == "certificate: 0 of 1 proved, median 20 s; gap 10 % in the median, 10 % at most"
    assert second == first.replace("certificate", "opt")
    assert all("median 20 s; gap 100 %" in each for each in others)


def test_no_useful_incumbent_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """None, or up to half of the best bound, is not useful; a row says so."""
    answers = iter([None, 0, 2**60])

    def answer(*_: object) -> parts.Answer:
        return parts.Answer(next(answers), 2**62, 0.0, 0.5, "limit")

    monkeypatch.setattr(parts, "solve_directly", answer)
    measured = parts.compare_models([(6, 2, 8)], 0.2, {"highs": "1", "scip": "2"}, _quiet)
    assert [row["useful"] for row in measured.rows] == [True, False, False, True]
    assert [row["gap"] for row in measured.rows][1:3] == [None, 1.0]


def test_a_model_that_is_too_large_is_a_row_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not built, and the row says how many columns it would have."""
    monkeypatch.setattr(parts, "COLUMNS_AT_MOST", 10)
    answer = parts.solve_directly(parts.make_contention(6, 2, 8), "tight", "highs", 0.5)
    assert answer.incumbent is None
    assert answer.ended.startswith("not built: ")


def test_building_is_timed_for_both_models_in_one_process() -> None:
    """PuLP's row is once PuLP's seconds; both have the columns that they say."""
    measured = parts.compare_building([(5, 2, 6), (8, 2, 8)], 1, _quiet)
    assert measured.columns == parts.BUILDING
    assert [row["tasks"] for row in measured.rows] == [5, 5, 8, 8]
    for row in measured.rows:
        assert (row["ratio"] == 1.0) == (row["model"] == "printed (PuLP)")
        assert int(str(row["columns"])) > 0


def test_growth_has_a_row_per_day_and_run_and_a_curve_per_number_of_nodes() -> None:
    """Ratios are against the smallest day on the same nodes."""
    measured = parts.compare_growth([(12, 2), (24, 2), (12, 3)], _quiet)
    assert measured.columns == parts.GROWTH
    assert len(measured.rows) == 3 * (1 + len(parts.ONLINE_RUNS))
    assert [row["times_smallest"] for row in measured.rows if row["tasks"] == 12] == [1.0] * 6
    assert [len(each.curves) for each in measured.figures if isinstance(each, Curves)] == [2, 2, 2]


def test_contenders_take_turns_and_the_first_call_does_not_count() -> None:
    """a b, then a b as often as asked."""
    called: list[str] = []
    spent = time_in_turns({name: lambda name=name: called.append(name) for name in "ab"}, 3)  # type: ignore[misc]
    assert called == list("ab" * 4)
    assert set(spent) == {"a", "b"}


def _toy(quick: bool, say: Callable[[str], None]) -> Measurement:
    say("working")
    rows: list[dict[str, Value]] = [{"name": "a,b", "x": 0.1 + 0.2, "n": 12345, "none": None, "yes": quick}]
    figures: list[Bars | Curves] = [
        Bars("bars <1>", "per second", [("a", 3.0), ("b", 4e6)]),
        Curves("curves", "x", "y", [("c", [(1, 0.5), (10, 5)])]),
    ]
    return Measurement(("name", "x", "n", "none", "yes"), rows, figures, ("A note.",))


def test_a_part_becomes_a_table_a_csv_file_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers are in full in the CSV file; the page has both figures and loads nothing."""
    part = Part("toy", "A toy.", _toy)
    monkeypatch.setattr(command, "parts", lambda: {"toy": part})
    monkeypatch.setattr(command, "families", dict)
    assert main(["perf", "toy", "toy", "--quick", "--out", str(tmp_path / "deep" / "out")]) == 0
    printed = capsys.readouterr()
    assert "toy: working" in printed.err
    assert printed.out.count("toy: A toy.") == 1
    assert "12,345" in printed.out
    folder = tmp_path / "deep" / "out"
    head, row = csv.reader(io.StringIO((folder / "toy.csv").read_text()))
    assert head == ["name", "x", "n", "none", "yes"]
    assert row == ["a,b", "0.30000000000000004", "12345", "", "True"]
    page = (folder / "perf.html").read_text()
    assert page.count("<svg") == 2
    assert "bars &lt;1&gt;" in page
    assert "http" not in page


def test_every_part_of_every_family_is_known_by_name() -> None:
    """One of no family, one of the family `eapm`, six of `lora`."""
    assert list(command.parts()) == ["startup", "eapm", "models", "proofs", "building", "online", "growth", "scaling"]


def test_scaling_compares_clocks_and_tables_of_whole_runs() -> None:
    """A row per number of workers, the first being the measure; the table does not depend on it."""
    measured = scaling(sweep(2, 6, 1), 6, (1, 2), 1, lambda _: None)
    assert [(row["workers"], row["same_table"]) for row in measured.rows] == [(1, True), (2, True)]
    assert measured.rows[0]["times_one_worker"] == 1.0
    assert all(float(str(row[name])) > 0 for row in measured.rows for name in ("clock_seconds", "work_seconds"))


@pytest.mark.usefixtures("toy")
def test_a_family_without_measurements_is_no_obstacle() -> None:
    """Its module has nothing of that name beside it."""
    assert "toy" in families()
    assert "online" in command.parts()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], ["nothing", "models", "growth"]),
        (["online", "--out", "{file}"], ["{file}"]),
    ],
)
def test_unusable_requests_are_one_line_and_status_2(
    arguments: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part that does not exist, a folder that is a file: nothing runs."""
    file = tmp_path / "file"
    file.touch()
    assert main(["perf", *(argument.format(file=file) for argument in arguments)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    for word in words:
        assert word.format(file=file) in lines[0]
