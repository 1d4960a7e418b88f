"""The figures that suites ask for: their data against the rows of results.csv, and their drawings."""

import math
import re
import statistics
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from matplotlib.figure import Figure

from ratiobench.bench.cli import main
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot, Study
from ratiobench.bench.lora.studies import draw_charges, draw_curve, find_best, read_charges, take_sample
from ratiobench.bench.lora.theory.pdftsp.curve import read_curve
from ratiobench.bench.report import pictures
from ratiobench.bench.report.figures import SuiteFigure, draw_means, is_lines, list_studies, make_figure, sort_means
from ratiobench.bench.report.page import draw_share_picture
from ratiobench.bench.report.pictures import Picture, shorten_groups
from ratiobench.bench.results import ratios
from ratiobench.bench.results.means import COLUMNS, OPT_LABEL, SHOWN, group_shares, take_means
from ratiobench.bench.results.read import Results, StudyTable, read_folder
from ratiobench.instances.io.errors import InputError
from tests.support.toy_family import ToyFamily
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")

T2 = 4.302653  # Student's t at 95 % with two degrees of freedom
GROUPS = ("5", "10", "20")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of three groups of three cases, with one algorithm that the suite does not name."""
    return made("toy-plots", tmp_path_factory.mktemp("toy"), "--add", "above:mark=30")


@pytest.fixture
def found(folder: Path) -> Results:
    return read_folder(folder)


def drawn(found: Results, kind: str, groups: tuple[str, ...] = GROUPS, **more: Any) -> SuiteFigure:
    return make_figure(found, Plot("it", "It", kind, groups, "numbers", **more), ToyFamily())


def frame_of(found: Results, kind: str, groups: tuple[str, ...] = GROUPS, **more: Any) -> pd.DataFrame:
    return take_means(found, Plot("it", "It", kind, groups, "numbers", **more))


def test_means_and_intervals_follow_from_the_rows(folder: Path, found: Results) -> None:
    """Exact means of every group and algorithm, with t(2) s / sqrt(3) to both sides, recomputed from results.csv."""
    rows = pd.read_csv(folder / "results.csv", dtype=str)
    means = frame_of(found, "welfare")
    assert list(means.columns) == [*COLUMNS, *SHOWN]
    assert len(means) == 3 * (5 + 1)
    for row in means[means["algorithm"] != OPT_LABEL].to_dict("records"):
        chosen = rows[(rows["group"] == row["group"]) & (rows["algorithm"] == row["algorithm"])]["welfare"]
        values = [int(value) for value in chosen]
        assert row["cases"] == 3
        assert row["mean_lower"] == row["mean_upper"] == Fraction(sum(values), 3)
        half = T2 * statistics.stdev(values) / math.sqrt(3)
        assert row["low"] == pytest.approx(statistics.fmean(values) - half, rel=1e-5, abs=1e-9)
        assert row["high"] == pytest.approx(statistics.fmean(values) + half, rel=1e-5, abs=1e-9)


def test_opt_stands_among_the_welfares_as_an_interval(found: Results) -> None:
    """One row per group: the mean of the lower ends, the mean of the upper ends, and an interval around both."""
    means = frame_of(found, "welfare")
    for row in means[means["algorithm"] == OPT_LABEL].to_dict("records"):
        cases = found.exact[found.exact["group"] == row["group"]].drop_duplicates("case")
        assert row["mean_lower"] == sum(cases["opt_lower"]) / Fraction(3)
        assert row["mean_upper"] == sum(cases["opt_upper"]) / Fraction(3)
        assert row["low"] < row["mean_lower"] < row["mean_upper"] < row["high"]
    assert OPT_LABEL not in set(frame_of(found, "reached")["algorithm"])


def test_ratios_widen_outward_and_unbounded_ones_are_counted(found: Results) -> None:
    """Lower ends make the lower end, upper ends the upper; who earned nothing is in no mean and is said."""
    means = frame_of(found, "ratio")
    for row in means.to_dict("records"):
        chosen = found.exact[(found.exact["group"] == row["group"]) & (found.exact["algorithm"] == row["algorithm"])]
        bounded = chosen[chosen["ratio_kind"] == "interval"]
        assert row["unbounded"] == (chosen["ratio_kind"] == "unbounded").sum()
        assert row["cases"] == len(bounded)
        if row["cases"]:
            lower, upper = list(bounded["ratio_lower"]), list(bounded["ratio_upper"])
            assert (row["mean_lower"], row["mean_upper"]) == (sum(lower) / len(lower), sum(upper) / len(upper))
        if row["cases"] == 3:
            low = float(row["mean_lower"]) - T2 * statistics.stdev(map(float, lower)) / math.sqrt(3)
            high = float(row["mean_upper"]) + T2 * statistics.stdev(map(float, upper)) / math.sqrt(3)
            assert (row["low"], row["high"]) == (pytest.approx(low, rel=1e-5), pytest.approx(high, rel=1e-5))
    assert (means["unbounded"] == 3).any()
    assert any(line["unbounded"] == "3" for line in drawn(found, "ratio").folded)


def test_other_kinds_are_the_columns_of_that_name(found: Results) -> None:
    """Measures of the family and columns of the table by name; seconds are divided by the tasks of the case."""
    first = found.exact[(found.exact["group"] == "10") & (found.exact["algorithm"] == "first")]
    for kind, column in (("share", "share"), ("reached", "reached"), ("admitted", "admitted")):
        means = frame_of(found, kind, algorithms=("first",))
        row = means[(means["group"] == "10") & (means["algorithm"] == "first")].iloc[0]
        assert row["mean_lower"] == sum(map(Fraction, first[column])) / 3
    seconds = found.seconds[(found.seconds["stage"] == "online") & (found.seconds["algorithm"] == "first")]
    chosen = seconds[seconds["case"].isin(first["case"])]["seconds"]
    means = frame_of(found, "seconds", algorithms=("first",))
    row = means[(means["group"] == "10") & (means["algorithm"] == "first")].iloc[0]
    assert row["mean_lower"] == pytest.approx(sum(chosen) / 3 / 10)
    revenue = frame_of(found, "revenue")  # nobody pays anything here
    assert (revenue["left_out"] == 3).all()
    assert revenue["mean_lower"].isna().all()


def test_an_algorithm_that_was_added_is_in_every_figure(found: Results) -> None:
    """Also in those that name theirs; and a figure shows those that it names, in their order."""
    means = frame_of(found, "share", algorithms=("one", "first"))
    assert list(means["algorithm"])[:3] == ["one", "first", "above:mark=30"]
    assert found.about["algorithms"] == ["above:mark=30"]


def test_the_smallest_witness_has_the_fewest_tasks(folder: Path) -> None:
    """Five numbers before ten and twenty, whatever the names of the cases are."""
    claim = pd.read_csv(folder / "claims.csv", dtype=str).iloc[0]
    assert claim["witness_tasks"] == "5"
    assert claim["witness_case"].startswith("5 ")


def test_what_the_paper_prints_stands_beside_ours(folder: Path, found: Results) -> None:
    """By how many percent of the mean welfare, exactly, over the same cases."""
    plot = next(plot for plot in found.plots if plot.printed)
    printed = make_figure(found, plot, ToyFamily()).frames["printed"]
    rows = pd.read_csv(folder / "results.csv", dtype=str)
    rows = rows[rows["group"] == "10"]
    first, one = (sum(map(int, rows[rows["algorithm"] == name]["welfare"])) for name in ("first", "one"))
    row = printed.iloc[0]
    assert row["percent"] == 100 * (Fraction(first, one) - 1)
    assert (row["paper_percent"], row["cases"]) == ("150", 3)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f">{float(row['percent']):.2f} %</td>" in page
    assert "Numbers are not drawn as in the paper." in page
    assert "python -m ratiobench run toy-plots --add above:mark=30" in page


def test_failed_and_invalid_runs_are_left_out_and_counted(tmp_path: Path) -> None:
    assert main(["run", "toy-bad", "--out", str(tmp_path), "--quiet", "--workers", "1"]) == 1
    bad = read_folder(tmp_path)
    means = frame_of(bad, "welfare", ("all",)).set_index("algorithm")
    assert dict(means["left_out"]) == {OPT_LABEL: 0, "first": 0, "raises": 1, "dies": 1, "cheats": 1}
    assert means.loc["cheats", "mean_lower"] is None


def test_a_figure_of_groups_that_did_not_run_is_empty(found: Results) -> None:
    figure = drawn(found, "welfare", ("nowhere",))
    assert figure.is_empty
    assert not figure.pictures


def test_hindsight_shows_the_best_of_several_per_case(found: Results) -> None:
    """The label has, case by case, the largest welfare of its algorithms; all but the first are hidden."""
    rows = found.exact[found.exact["group"] == "20"]
    names = ("first", "above:mark=50", "above:mark=30")
    means = frame_of(found, "welfare", hindsight=(("best of three", names),))
    shown_ = list(means[means["group"] == "20"]["algorithm"])
    assert shown_ == [OPT_LABEL, "first", "best of three", "one", "above:mark=100"]
    best_of = [
        rows[(rows["case"] == case) & rows["algorithm"].isin(names)]["welfare"].max() for case in set(rows["case"])
    ]
    means = means.set_index(["group", "algorithm"])
    assert means.loc[("20", "best of three"), "mean_lower"] == sum(best_of, Fraction(0)) / len(best_of)


def least(found: Results) -> Results:
    """The same runs, had they been of costs; OPT may be 0 in the largest group."""
    rows = []
    for row in found.records:
        value, lower = row.welfare + (row.group != "20"), int(row.group != "20")
        ratio = ratios.ratio(lower, lower + 1, value, Sense.LEAST)
        figures: dict[str, Any] = {"reached": ratios.certain_share(lower, lower + 1, value, Sense.LEAST)}
        for end, figure in (("lower", ratio.lower), ("upper", ratio.upper)):
            figures[f"ratio_{end}"] = figure
        ends = {"opt_lower": lower, "opt_upper": lower + 1}
        rows.append(replace(row, welfare=value, ratio_kind=ratio.kind.value, **ends, **figures))
    return replace(found, about={**found.about, "sense": "least"}, records=rows)


def axis_of(figure: SuiteFigure) -> str:
    """The title of the axis of a figure's first picture."""
    axes = figure.pictures[0].figure().axes[0]
    return str(axes.get_ylabel())


def test_figures_of_costs_say_so(found: Results) -> None:
    """Axes and headings have the ratio and the part reached upside down; in hindsight the least cost is best."""
    costs = least(found)
    assert axis_of(drawn(costs, "ratio")) == "mean of ALG / OPT (1 is optimal)"
    assert axis_of(drawn(costs, "reached")) == "mean of lower bound on OPT / ALG"
    assert axis_of(drawn(found, "ratio")) == "mean of OPT / ALG (1 is optimal)"
    assert axis_of(drawn(found, "reached")) == "mean of ALG / upper bound on OPT"
    assert axis_of(drawn(found, "welfare")) == "mean welfare, points"
    [table] = drawn(costs, "leaderboard").parts
    assert not isinstance(table, str)
    assert list(table[0])[1] == "mean lower/ALG"
    means = frame_of(costs, "welfare", hindsight=(("best", ("first", "one")),)).set_index(["group", "algorithm"])
    for group in GROUPS:
        assert means.loc[(group, "best"), "mean_lower"] < means.loc[(group, "first"), "mean_lower"]


def test_a_ratio_that_has_a_least_value_only_is_in_no_mean(found: Results) -> None:
    """It is counted with the unbounded ones, and drawn as words."""
    means = frame_of(least(found), "ratio").set_index(["group", "algorithm"])
    assert tuple(means.loc[("5", "first"), ["cases", "unbounded", "left_out"]]) == (3, 0, 0)
    assert tuple(means.loc[("20", "first"), ["cases", "unbounded", "left_out"]]) == (0, 3, 0)


def test_a_leaderboard_ranks_by_the_mean_and_oracles_last(found: Results) -> None:
    """Means over all cases, decisions per second, the source of constants; whoever knew the day itself stands below."""
    board = drawn(found, "leaderboard").frames["leaderboard"]
    for row in board.to_dict("records"):
        chosen = found.exact[(found.exact["algorithm"] == row["algorithm"]) & found.exact["group"].isin(GROUPS)]
        assert row["cases"] == len(chosen) == 9
        assert row["mean_reached"] == sum(chosen["reached"], Fraction(0)) / 9
        assert row["mean in 5"] == sum(chosen[chosen["group"] == "5"]["reached"], Fraction(0)) / 3
    ranked = [("oracle" in row["constants"], -row["mean_reached"]) for row in board.to_dict("records")]
    assert ranked == sorted(ranked)


def test_a_figure_of_an_unknown_kind_is_refused(found: Results) -> None:
    """Once measures are known, a kind that is none of them is a slip of the suite's author."""
    with pytest.raises(InputError, match="welfair"):
        drawn(replace(found, measures=("size",)), "welfair")


@pytest.mark.parametrize("name", ["share-of-opt", "profile", "a/b", "", "x.csv"])
def test_figures_whose_files_would_be_others_are_refused(found: Results, name: str) -> None:
    """No other picture of the report is overwritten, nothing is written elsewhere."""
    with pytest.raises(InputError, match="no name for a file"):
        make_figure(found, Plot(name, "It", "welfare", GROUPS, "numbers"), ToyFamily())


def test_studies_are_found_by_kind_group_and_algorithm(found: Results) -> None:
    """Rows with whose they are; a study that could not be made is a row with the reason."""
    figure = drawn(found, "curve", ("5", "20"))
    assert len(figure.pictures) == 2
    frame = figure.frames["studies"]
    assert list(frame["case"]) == ["5 run 0"] * 2 + ["20 run 0"] * 2
    assert {"bid_from", "utility_to", "algorithm"} <= set(frame.columns)
    assert drawn(found, "curve", algorithms=("one",)).is_empty
    failed = StudyTable("case", "group", Study("curve", "x", 1), (), "no such task")
    assert list_studies([failed]).to_dict("records") == [
        {"case": "case", "group": "group", "algorithm": "x", "reason": "no such task"}
    ]


def piece(low: int, high: int, gains: tuple[int, int], ends: str) -> dict[str, str]:
    """A piece of a curve, as a study stores it; `ends` as in mathematics: `[)`."""
    return {
        "task": "0",
        "valuation": "10",
        "bid_from": str(low),
        "bid_to": str(high),
        "from_included": str(ends[0] == "[").lower(),
        "to_included": str(ends[1] == "]").lower(),
        "utility_from": str(gains[0]),
        "utility_to": str(gains[1]),
    }


@pytest.mark.parametrize(
    ("pieces", "truthful", "expected", "text"),
    [
        # It wins and pays the same from 4 on: nothing is better than the truth.
        ([piece(0, 4, (0, 0), "[)"), piece(4, 99, (6, 6), "[]")], 6, (10, 6, True), "the bid 10 gains 6"),
        # It would win above 12 only: any bid above gains.
        ([piece(0, 12, (0, 0), "[]"), piece(12, 99, (5, 5), "(]")], 0, (13, 5, True), "the bid 13 gains 5"),
        # Below 8 it is served best.
        ([piece(0, 8, (7, 7), "[)"), piece(8, 99, (1, 1), "[]")], 1, (0, 7, True), "the bid 0 gains 7"),
        ([piece(0, 8, (7, 7), "()"), piece(8, 99, (1, 1), "[]")], 1, (1, 7, True), "the bid 1 gains 7"),
        # The less it bids the more it gains, down to an end that loses.
        ([piece(0, 3, (0, 0), "[]"), piece(3, 20, (9, -8), "(]")], 2, (3, 9, False), "bids close to 3 gain nearly 9"),
        ([piece(0, 3, (0, 0), "[)"), piece(3, 20, (9, -8), "[]")], 2, (3, 9, True), "the bid 3 gains 9"),
    ],
)
def test_the_best_bid_of_a_curve_is_found(pieces: list[Any], truthful: int, expected: Any, text: str) -> None:
    """Open and closed ends, flat and falling pieces; the truth wins ties."""
    found = find_best(read_curve(pieces))
    assert found == (truthful, expected)
    assert found[1].describe() == text


def test_the_sample_of_charges_is_evenly_spaced() -> None:
    """Ten of many, in order, with the first and the last; all of few."""
    rows = [{"task": str(i)} for i in range(46)]
    assert [int(row["task"]) for row in take_sample(rows)] == [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]
    assert take_sample(rows[:7]) == rows[:7]


def test_only_a_sample_has_an_interval(found: Results) -> None:
    """Recipes that differ in their seed alone are one; of others each case is a circle, and no share is above 1."""
    sample = frame_of(found, "reached")
    spans = [pictures.interval_of(row) for row in sample.itertuples(index=False)]
    assert all(span is not None and span[1] <= 1 for span in spans)
    days = [replace(case, recipe={**case.recipe, "day": place}) for place, case in enumerate(found.cases)]
    fixed = frame_of(replace(found, cases=days), "reached")
    for one, other in zip(sample.itertuples(index=False), fixed.itertuples(index=False), strict=True):
        assert (other.low, other.high) == (one.low, one.high)
        assert pictures.interval_of(other) is None
        assert sum(other.parts, Fraction(0)) == 3 * Fraction(other.mean_lower or 0)
        assert list(other.parts) == sorted(other.parts)


def axes_of(means: pd.DataFrame, **more: Any) -> Any:
    """The axes of a picture with a row per mean."""
    axes = Figure().add_subplot()
    how = {"scale": Fraction(1), "title": "x", "log": False, "limits": None} | more
    pictures.draw_mean_rows(axes, means, **how)
    return axes


def test_a_row_has_its_bar_its_cases_and_its_number(found: Results) -> None:
    """As long as the mean; one circle per fixed case; money in dollars."""
    days = [replace(case, recipe={**case.recipe, "day": place}) for place, case in enumerate(found.cases)]
    means = frame_of(replace(found, cases=days), "welfare", ("5",))
    axes = axes_of(means, scale=Fraction(1, 50))
    assert [bar.get_width() for bar in axes.patches if hasattr(bar, "get_width")][-len(means) :] == [
        pytest.approx(float(value) / 50) for value in means["mean_lower"]
    ]
    circles = [line for line in axes.lines if line.get_marker() == "o" and line.get_markerfacecolor() == "white"]
    assert [len(line.get_xdata()) for line in circles] == [3] * len(means)
    names = [row["name"] + "\u00a0*" * row["oracle"] for row in means.to_dict("records")]
    assert [label.get_text() for label in axes.get_yticklabels()] == names


def test_groups_share_an_axis_unless_they_are_far_apart(found: Results) -> None:
    """The same limits for all groups; their own where one has figures many times those of another."""
    words = dict(zip(GROUPS, ("few", "some", "many"), strict=True))
    means = frame_of(found, "welfare")
    means = means.assign(group=means["group"].map(words))
    plot = Plot("it", "It", "welfare", tuple(words.values()), "numbers")

    def limits(table: pd.DataFrame) -> set[tuple[float, ...]]:
        made_ = draw_means(table, plot, ToyFamily(), Sense.MOST)
        return {tuple(round(end, 6) for end in picture.figure().axes[0].get_xlim()) for picture in made_}

    assert len(limits(means)) == 1
    far = means.copy()
    for name in ("mean_lower", "mean_upper", "low", "high"):
        far[name] = [
            value if group != "many" or value is None else 1000 * value
            for value, group in zip(means[name], means["group"], strict=True)
        ]
    assert len(limits(far)) == 3


def test_a_measure_that_one_algorithm_has_fifty_times_as_large_is_shown_by_its_logarithm(found: Results) -> None:
    """Certificates of 2 and 300 beside each other; welfare keeps its axis."""
    means = frame_of(found, "share")
    wide = means.assign(mean_lower=[300] + [2] * (len(means) - 1), mean_upper=[300] + [2] * (len(means) - 1))
    for kind, scale in (("share", "log"), ("welfare", "linear")):
        [picture] = draw_means(wide, Plot("it", "It", kind, GROUPS, "numbers"), ToyFamily(), Sense.MOST)
        assert picture.figure().axes[0].get_yscale() == scale


def test_lines_are_drawn_over_numbers_only(found: Results) -> None:
    """Groups that differ in a number, three at least, and few algorithms; rows otherwise."""
    plot = Plot("it", "It", "share", GROUPS, "numbers", algorithms=("one", "first"))
    few = take_means(found, plot)
    assert is_lines(plot, few)
    for groups in (("5", "10"), ("pai", "philly", "helios"), ("pai 1", "philly 2", "helios 3")):
        assert not is_lines(replace(plot, groups=groups), few)
    assert is_lines(replace(plot, groups=("50 nodes", "100 nodes", "150 nodes")), few)
    assert not is_lines(plot, few.assign(algorithm=[f"a{i}" for i in range(len(few))]))
    axes = Figure().add_subplot()
    how = {"scale": Fraction(1), "title": "x", "axis": "numbers", "log": False}
    pictures.draw_mean_lines(axes, few, **how)  # type: ignore[arg-type]
    assert {text.get_text() for text in axes.texts} == {"one", "first", "above:mark=30"}


@pytest.mark.parametrize("what", ["rows", "ratio", "lines", "curve", "charges", "shares", "times"])
def test_pictures_are_the_same_every_time(found: Results, what: str, tmp_path: Path) -> None:
    """Two drawings are alike byte for byte, are sound SVG without unused ids, and can be saved in three formats."""

    def draw() -> Picture:
        if what in ("rows", "ratio", "lines"):
            kind = {"rows": "welfare", "ratio": "ratio", "lines": "seconds"}[what]
            return drawn(found, kind, algorithms=("one", "first")).pictures[0]
        if what == "shares":
            picture = draw_share_picture(found)
            assert picture is not None
            return picture
        if what == "times":
            return Picture("Run time", partial(pictures.draw_times, seconds={"a": [0.001, 2.0], "b": [0.0]}))
        study = next(each for each in found.studies if each.study.kind == what)
        if what == "curve":
            return Picture("it", partial(draw_curve, curve=read_curve(study.rows), unit="points"))
        return Picture("it", partial(draw_charges, charges=read_charges(study.rows), unit="points"))

    svg = draw().svg
    assert svg == draw().svg
    root = ElementTree.fromstring(svg)
    assert (root.get("role"), bool(root.get("aria-label"))) == ("img", True)
    assert "<dc:date>" not in svg
    for name in re.findall(r' id="([^"]+)"', svg):
        assert f"#{name}" in svg
    for kind in ("svg", "pdf", "png"):
        assert draw().save(tmp_path / f"it.{kind}").stat().st_size > 1000
    with pytest.raises(InputError, match=r"saved as \.svg, \.pdf, \.png, not as '\.gif'"):
        draw().save(tmp_path / "it.gif")


def test_names_from_outside_are_text_not_markup() -> None:
    """As they are spelled, and in other scripts without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = Picture("it", partial(pictures.draw_times, seconds={"a<b:$x_1$": [1.0], "名": [1.0]})).svg
    assert "a&lt;b:$x_1$" in svg
    assert "名" in svg


@pytest.mark.parametrize("kind", ["welfare", "reached", "ratio", "seconds"])
@pytest.mark.parametrize("sense", Sense)
def test_the_best_mean_stands_on_top(found: Results, kind: str, sense: Sense) -> None:
    """OPT first; the largest or the least by what is shown and by the sense; whoever has no mean last."""
    every = frame_of(least(found) if sense is Sense.LEAST else found, kind)
    for group in GROUPS:
        rows = sort_means(every[every["group"] == group], kind, sense)
        means = [mean for name, mean in zip(rows["algorithm"], rows["mean_upper"], strict=True) if name != OPT_LABEL]
        known = [mean for mean in means if mean is not None]
        assert known == means[: len(known)]
        falls = kind == "reached" or (kind == "welfare" and sense is Sense.MOST)
        assert known == sorted(known, reverse=falls)
        assert (rows["algorithm"].iloc[0] == OPT_LABEL) is (kind == "welfare")


def test_the_picture_of_shares_has_a_sign_per_group_and_algorithm(found: Results) -> None:
    """The best on top; at the mean share; the interval thick, from the least to the largest case thin."""
    shares = group_shares(found.records, found.sense)
    axes = Figure().add_subplot()
    pictures.draw_shares(axes, shares)
    order = pictures.list_share_rows(shares)
    means = [shares[shares["algorithm"] == name]["reached"].map(float).mean() for name in order]
    assert means == sorted(means, reverse=True)
    signs = [line for line in axes.lines if line.get_marker() in pictures.MARKERS and len(line.get_xdata()) == 1]
    places = sorted(float(line.get_xdata()[0]) for line in signs)
    assert places == pytest.approx(sorted(100 * float(value) for value in shares["reached"]))
    many = pd.concat([shares.assign(group=f"{place}") for place in range(9)])
    pictures.draw_shares(Figure().add_subplot(), many)


def test_figures_are_files_of_their_own(folder: Path, tmp_path: Path) -> None:
    """SVG documents in the folder `figures`, or in another one."""
    assert main(["report", str(folder), "--figures", str(tmp_path / "svg")]) == 0
    files = sorted(path.name for path in (tmp_path / "svg").iterdir())
    assert files == sorted(path.name for path in (folder / "figures").iterdir())
    assert {"share-of-opt.svg", "profile.svg"} < set(files)
    for file in files:
        text = (tmp_path / "svg" / file).read_text(encoding="utf-8")
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert text == (folder / "figures" / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("groups", "labels"),
    [
        (("gamma 1.05", "gamma 1.1"), ["1.05", "1.1"]),
        (("gamma 1.2, n = 30", "gamma 1.2, n = 2000"), ["30", "2000"]),
        (("fig13: Poisson 10", "fig13: light, Poisson 30"), ["Poisson 10", "light, Poisson 30"]),
        (("50 nodes", "100 nodes"), ["50", "100"]),
        (("5", "10"), ["5", "10"]),
        (("one two", "one"), ["one two", "one"]),
    ],
)
def test_the_axis_of_a_line_figure_says_what_differs(groups: tuple[str, ...], labels: list[str]) -> None:
    """Words that all groups share, before and behind, are left out; nothing is left empty."""
    assert shorten_groups(groups) == labels
