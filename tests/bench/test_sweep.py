"""Sweeps: axes of a suite, `--over`, and the figure of ratios with the bound of the main theorem."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.family.suite import Suite
from ratiobench.bench.report.figures import bound_of, make_figure
from ratiobench.bench.report.rows import results_text
from ratiobench.bench.results.read import Results, read_folder
from ratiobench.bench.running.runner import RunOptions, find_folder, run_suite, scale_suite
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.quantities import describe
from ratiobench.online.lora.public_constants import largest_share
from tests.support.commands import refused

AXES = ("nodes", "load", "tasks", "trace", "vendors", "deadlines", "epsilon")


def _sweep() -> Suite:
    return find_suite("sweep")[1]


def test_every_axis_has_several_values_with_the_same_number_of_runs() -> None:
    suite = _sweep()
    assert tuple(axis.name for axis in suite.axes) == AXES
    assert suite.cases == suite.axes[0].cases
    for axis in suite.axes:
        for cases, runs in ((axis.cases, 6), (axis.small, 2)):
            counts = pd.Series([case.group for case in cases]).value_counts()
            assert len(counts) >= 3
            assert set(counts) == {runs}, axis.name
        assert len({repr(case.recipe) for case in axis.cases}) == len(axis.cases)


def test_along_takes_the_cases_and_figures_of_the_named_axes() -> None:
    suite = _sweep().select_axes(["load", "trace", "load"])
    assert suite.over == ("load", "trace")
    assert [plot.name for plot in suite.plots] == ["sweep_load", "sweep_trace"]
    assert {case.group.split()[0] for case in suite.cases} == {"load", "trace"}
    small = scale_suite(suite, "small")
    assert {group for plot in small.plots for group in plot.groups} == {case.group for case in small.cases}
    assert find_folder(None, "sweep", "small", suite.over) == Path("results/sweep-load-trace-small")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["sweep", "--over", "lod"], "--over: 'lod' is not one of nodes, load"),
        (["tiny", "--over", "load"], "the suite tiny varies no parameter"),
    ],
)
def test_an_axis_that_is_none_is_one_error(
    words: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert problem in refused(capsys, "run", *words, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError):
        find_suite(words[0])[1].select_axes([words[2]])


def test_epsilon_is_what_its_value_says() -> None:
    """The largest share of a node that a task takes, within one per cent."""
    axis = next(each for each in _sweep().axes if each.name == "epsilon")
    for case in axis.cases[::3]:
        value = Fraction(case.group.removeprefix("epsilon "))
        assert abs(largest_share(generate(case.recipe)) - value) <= value / 100, case.name


def test_load_is_what_its_value_says() -> None:
    """The mean over the runs, within a tenth."""
    axis = next(each for each in _sweep().axes if each.name == "load")
    for group in dict.fromkeys(case.group for case in axis.cases):
        loads = [float(describe(generate(case.recipe))["load"]) for case in axis.cases if case.group == group]
        value = float(group.removeprefix("load "))
        assert abs(sum(loads) / len(loads) - value) <= value / 10, (group, loads)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Three values, two runs each, of two algorithms; a fifth of the tasks."""
    family, suite = find_suite("sweep")
    folder = tmp_path_factory.mktemp("sweep")
    cases = tuple(replace(case, recipe=dict(case.recipe) | {"tasks": 14}) for case in suite.small)
    run_suite(
        family,
        replace(suite, small=cases),
        RunOptions(out=folder, scale="small", rows=("pdftsp", "greedy"), quiet=True, workers=1),
    )
    return read_folder(folder)


def test_the_table_has_a_line_per_value_and_algorithm(swept: Results) -> None:
    """With exact means, the spread of the runs, the count of verdicts and the bounds of the rows."""
    figure = make_figure(swept, swept.plots[0], families()["lora"])
    table = figure.frames["means"]
    assert len(table) == 6
    for row in table.to_dict("records"):
        rows = [each for each in swept.records if (each.group, each.algorithm) == (row["group"], row["algorithm"])]
        for end in ("lower", "upper"):
            assert row[f"mean_{end}"] == sum(getattr(each, f"ratio_{end}") for each in rows) / len(rows)
            assert row[f"worst_{end}"] == max(getattr(each, f"ratio_{end}") for each in rows)
        assert row["least_lower"] == min(each.ratio_lower for each in rows)
        bounds = [bound_of(each, "theorem5") for each in rows]
        if row["algorithm"] == "greedy":
            assert bounds == [None, None]
            assert row["bound_least"] is None
        else:
            assert (row["bound_least"], row["bound_most"]) == (min(map(Fraction, bounds)), max(map(Fraction, bounds)))  # type: ignore[arg-type]
    text = figure.text
    assert text.count("pdftsp *") == text.count("greedy") == 3
    assert "s of work" in text


def test_the_picture_has_the_bound_above_the_ratios(swept: Results) -> None:
    [picture] = make_figure(swept, swept.plots[0], families()["lora"]).pictures
    [axes] = picture.figure().axes
    [strip] = axes.child_axes
    assert {text.get_text() for text in axes.texts} == {"pdftsp", "greedy"}
    assert [text.get_text() for text in strip.texts] == ["bound of Theorem 5"]
    assert strip.get_yscale() == "log"
    bare = replace(families()["lora"].suites()[0].plots[0], groups=("nobody",))
    assert not make_figure(swept, bare, families()["lora"]).pictures


def test_values_of_a_sweep_are_not_listed_case_by_case(swept: Results) -> None:
    assert "nodes 4, run 0" not in results_text(swept, families()["lora"])


@pytest.mark.nightly
def test_the_svg_lies_beside_the_page_and_the_run_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`run sweep --over trace` writes the picture; a second run makes no piece again."""
    words = ["run", "sweep", "--over", "trace", "--scale", "small", "--rows", "greedy", "--only", "*run 0"]
    for _ in range(2):
        assert main([*words, "--out", str(tmp_path), "--workers", "1", "--quiet"]) == 0
    assert (tmp_path / "figures" / "sweep_trace.svg").read_text().startswith("<svg ")
    assert "--over trace" in (tmp_path / "provenance.json").read_text()
