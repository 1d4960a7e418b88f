"""The figures that suites ask for: their data against the rows of results.csv, and their drawings."""

from __future__ import annotations

import json
import math
import re
import shutil
import statistics
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

from ratiobench.bench.draw.scales import Axis
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot, Study
from ratiobench.bench.report.bids import charts as bidding
from ratiobench.bench.report.bids.data import (
    BestBids,
    BidRange,
    CurvePiece,
    find_best,
    read_charges,
    read_curve,
    take_sample,
)
from ratiobench.bench.report.bids.figure import Curves, list_studies
from ratiobench.bench.report.kinds import KINDS, draw_figure
from ratiobench.bench.report.leaderboard import figure as leaderboard
from ratiobench.bench.report.means import charts, data
from ratiobench.bench.report.means.data import MeanRows, take_means
from ratiobench.bench.report.means.reached import draw_reached, find_spreads
from ratiobench.bench.report.page.layout import render_page
from ratiobench.bench.report.rows.charts import draw_ratios, draw_values
from ratiobench.bench.report.shared.cells import Table, make_cell
from ratiobench.bench.report.shared.suite_figure import Chart, SuiteFigure, Text
from ratiobench.bench.results import ratios
from ratiobench.bench.results.means import COLUMNS, LEADERBOARD, PRINTED, GroupMean, Mean, Spread, make_record_frame
from ratiobench.bench.results.read import Results, StudyTable, by_group, is_known, read_results
from ratiobench.bench.storage.store import Store
from ratiobench.instances.io.errors import InputError
from tests.support.rows import made_row
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
    with Store.open(folder / "results.sqlite", create=False) as store:
        return read_results(store)


def drawn(found: Results, kind: str, groups: tuple[str, ...] = GROUPS, **more: Any) -> SuiteFigure:
    """A figure of this kind over all groups."""
    return draw_figure(found, Plot("it", "It", kind, groups, "numbers", **more), ToyFamily())


def means_of(found: Results, kind: str, groups: tuple[str, ...] = GROUPS, **more: Any) -> MeanRows:
    """The rows of a figure of means of this kind."""
    return take_means(found, Plot("it", "It", kind, groups, "numbers", **more), ToyFamily())


def frame_of(found: Results, kind: str, groups: tuple[str, ...] = GROUPS, **more: Any) -> pd.DataFrame:
    """The same as figures.csv has them."""
    return make_record_frame(means_of(found, kind, groups, **more).means, COLUMNS)


def test_means_and_intervals_follow_from_the_rows(folder: Path, found: Results) -> None:
    """Exact means of every group and algorithm, with t(2) s / sqrt(3) to both sides, recomputed from results.csv."""
    rows = pd.read_csv(folder / "results.csv", dtype=str)
    means = frame_of(found, "welfare")
    assert list(means.columns) == list(COLUMNS)
    assert all(COLUMNS.values())
    assert len(means) == 3 * (5 + 1)
    for row in means[means["algorithm"] != data.OPT_LABEL].to_dict("records"):
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
    for row in means[means["algorithm"] == data.OPT_LABEL].to_dict("records"):
        cases = found.rows[found.rows["group"] == row["group"]].drop_duplicates("case")
        assert row["mean_lower"] == sum(cases["opt_lower"]) / Fraction(3)
        assert row["mean_upper"] == sum(cases["opt_upper"]) / Fraction(3)
        assert row["low"] < row["mean_lower"] < row["mean_upper"] < row["high"]
    assert data.OPT_LABEL not in set(frame_of(found, "reached")["algorithm"])


def test_ratios_widen_outward_and_unbounded_ones_are_counted(found: Results) -> None:
    """Lower ends make the lower end, upper ends the upper; who earned nothing is in no mean and is said."""
    figure = means_of(found, "ratio")
    means = frame_of(found, "ratio")
    for row in means.to_dict("records"):
        chosen = found.rows[(found.rows["group"] == row["group"]) & (found.rows["algorithm"] == row["algorithm"])]
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
    assert "unbounded" in charts.draw_group(figure, "5", charts.find_span(figure))


def test_other_kinds_are_the_columns_of_that_name(found: Results) -> None:
    """Measures of the family and columns of the table by name; seconds are divided by the tasks of the case."""
    first = found.rows[(found.rows["group"] == "10") & (found.rows["algorithm"] == "first")]
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
    assert [each.algorithm for each in means_of(found, "share", algorithms=("one", "first")).means][:3] == [
        "one",
        "first",
        "above:mark=30",
    ]
    assert found.about["algorithms"] == ["above:mark=30"]


def test_the_smallest_witness_has_the_fewest_tasks(folder: Path) -> None:
    """Five numbers before ten and twenty, whatever the names of the cases are."""
    claim = pd.read_csv(folder / "claims.csv", dtype=str).iloc[0]
    assert claim["witness_tasks"] == "5"
    assert claim["witness_case"].startswith("5 ")


def test_what_the_paper_prints_stands_beside_ours(folder: Path) -> None:
    """By how many percent of the mean welfare, exactly, over the same cases."""
    printed = pd.read_csv(folder / "sizes_printed.csv", dtype=str)
    assert list(printed.columns) == list(PRINTED)
    rows = pd.read_csv(folder / "results.csv", dtype=str)
    rows = rows[rows["group"] == "10"]
    first, one = (sum(map(int, rows[rows["algorithm"] == name]["welfare"])) for name in ("first", "one"))
    row = printed.iloc[0]
    assert Fraction(row["percent"]) == 100 * (Fraction(first, one) - 1)
    assert (row["paper_percent"], row["cases"]) == ("150", "3")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<td>one</td>" in page
    assert f">{float(Fraction(row['percent'])):.2f}</td>" in page
    assert "Numbers are not drawn as in the paper." in page
    assert "python -m ratiobench run toy-plots --add above:mark=30" in page


def test_failed_and_invalid_runs_are_left_out_and_counted(tmp_path: Path) -> None:
    from ratiobench.bench.cli.main import main

    assert main(["run", "toy-bad", "--out", str(tmp_path), "--quiet", "--workers", "1"]) == 1
    with Store.open(tmp_path / "results.sqlite", create=False) as store:
        bad = read_results(store)
    means = frame_of(bad, "welfare", ("all",)).set_index("algorithm")
    assert dict(means["left_out"]) == {data.OPT_LABEL: 0, "first": 0, "raises": 1, "dies": 1, "cheats": 1}
    assert means.loc["cheats", "mean_lower"] is None


def test_a_figure_of_groups_that_did_not_run_is_empty(found: Results) -> None:
    figure = means_of(found, "welfare", ("nowhere",))
    assert len(figure.means) == 0
    assert charts.find_spans(figure) == {}


def test_hindsight_shows_the_best_of_several_per_case(found: Results) -> None:
    """The label has, case by case, the largest welfare of its algorithms; all but the first are hidden."""
    rows = found.rows[found.rows["group"] == "20"]
    names = ("first", "above:mark=50", "above:mark=30")
    means = frame_of(found, "welfare", hindsight=(("best of three", names),))
    shown_ = list(means[means["group"] == "20"]["algorithm"])
    assert shown_ == [data.OPT_LABEL, "first", "best of three", "one", "above:mark=100"]
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
            figures |= {f"ratio_{end}": figure, f"ratio_{end}_float": None if figure is None else float(figure)}
        ends = {"opt_lower": lower, "opt_upper": lower + 1}
        rows.append(replace(row, welfare=value, ratio_kind=ratio.kind.value, **ends, **figures))
    return replace(found, about={**found.about, "sense": "least"}, records=rows)


def test_figures_of_costs_say_so(found: Results) -> None:
    """Axes and headings have the ratio and the part reached upside down; in hindsight the least cost is best."""
    costs = least(found)
    assert means_of(costs, "ratio").axis == "mean of ALG / OPT (1 is optimal)"
    assert means_of(costs, "reached").axis == "mean of lower bound on OPT / ALG"
    assert means_of(found, "ratio").axis == "mean of OPT / ALG (1 is optimal)"
    assert means_of(found, "reached").axis == "mean of ALG / upper bound on OPT"
    assert means_of(found, "welfare").axis == "mean welfare, points"
    [table] = drawn(costs, "leaderboard").shown()
    assert isinstance(table, Table)
    assert table.head[1] == "mean lower/ALG"
    means = frame_of(costs, "welfare", hindsight=(("best", ("first", "one")),)).set_index(["group", "algorithm"])
    for group in GROUPS:
        assert means.loc[(group, "best"), "mean_lower"] < means.loc[(group, "first"), "mean_lower"]


def test_a_ratio_that_has_a_least_value_only_is_in_no_mean(found: Results) -> None:
    """It is counted with the unbounded ones, and drawn as words."""
    means = frame_of(least(found), "ratio").set_index(["group", "algorithm"])
    assert tuple(means.loc[("5", "first"), ["cases", "unbounded", "left_out"]]) == (3, 0, 0)
    assert tuple(means.loc[("20", "first"), ["cases", "unbounded", "left_out"]]) == (0, 3, 0)
    row = made_row("a", state="ok", ratio_kind="open", ratio_lower=Fraction(3, 2))
    svg = draw_ratios([row], "x", Sense.LEAST)
    assert "at least 1.5" in svg
    assert "ALG / OPT (1 is optimal)" in svg


def test_a_page_of_costs_says_which_end_was_verified(found: Results) -> None:
    """The verified end is the upper one, the ratio is ALG/OPT, in the words and in the heads of the tables."""
    page = render_page(least(found), ToyFamily())
    words = re.sub(r"\s+", " ", page)
    assert "its upper end is the welfare of a solution that was verified exactly, its lower end is a proved" in words
    assert "every competitive ratio ALG/OPT is an interval" in words
    assert '<th scope="col" data-key="ratio"><span>ALG/OPT</span>' in page
    assert "lower bound on OPT / ALG" in page
    assert "at least " in page
    assert "OPT/ALG" not in re.sub(r"<style>.*?</style>|<script>.*?</script>", "", page, flags=re.DOTALL)


def test_a_leaderboard_ranks_by_the_mean_and_oracles_last(found: Results) -> None:
    """Means over all cases, decisions per second, the source of constants; whoever knew the day itself stands below."""
    figure = drawn(found, "leaderboard")
    assert isinstance(figure, leaderboard.Leaderboard)
    [board] = figure.files().values()
    assert set(LEADERBOARD) <= set(board.columns)
    for row in board.to_dict("records"):
        chosen = found.rows[(found.rows["algorithm"] == row["algorithm"]) & found.rows["group"].isin(GROUPS)]
        assert row["cases"] == len(chosen) == 9
        assert row["mean_reached"] == sum(chosen["reached"], Fraction(0)) / 9
        assert row["mean in 5"] == sum(chosen[chosen["group"] == "5"]["reached"], Fraction(0)) / 3
    ranked = [("oracle" in row["constants"], -row["mean_reached"]) for row in board.to_dict("records")]
    assert ranked == sorted(ranked)


def test_a_figure_of_an_unknown_kind_is_refused(found: Results) -> None:
    """Once measures are known, a kind that is none of them is a slip of the suite's author."""
    with pytest.raises(InputError, match="welfair"):
        drawn(replace(found, measures=("size",)), "welfair")


class Largest(SuiteFigure):
    """A kind of figure that a test adds: one chart, one table, rows of its own in a file that figures share."""

    @classmethod
    def draw(cls, found: Results, plot: Plot, family: Family) -> Largest:
        return cls(plot, family.unit)

    @property
    def is_empty(self) -> bool:
        return False

    def files(self) -> dict[str, pd.DataFrame]:
        return {f"{self.plot.name}.csv": pd.DataFrame({"largest": [99]})}

    def shared_rows(self) -> dict[str, pd.DataFrame]:
        return {"largest_of_all.csv": pd.DataFrame({"plot": [self.plot.name]})}

    def draw_charts(self) -> list[Chart]:
        return [Chart("A & B", '<svg role="img"><text>drawn</text></svg>', "A <heading>", "A note <there>.")]

    def shown(self) -> list[Text | Table]:
        return [Table("Largest", ["name"], [[make_cell("<first>")]])]

    def details(self) -> list[Text | Table]:
        return [Text("Words & <signs>.", css="method")]

    def text(self) -> str:
        return "the largest is 99"


def test_a_kind_of_figure_is_one_class_and_one_entry(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files, page, pictures and terminal take all of it from the table of kinds; what it says is text, not markup."""
    from ratiobench.bench.cli.main import main

    plots = [Plot("mine", "Mine <here>", "largest", GROUPS, "numbers"), Plot("yours", "Yours", "largest", GROUPS, "")]
    monkeypatch.setitem(KINDS, "largest", Largest)
    monkeypatch.setattr(Results, "plots", plots)
    shutil.copy(folder / "results.sqlite", tmp_path)
    capsys.readouterr()
    assert main(["report", str(tmp_path), "--figures", str(tmp_path / "svg")]) == 0
    assert "the largest is 99\nthe largest is 99" in capsys.readouterr().out
    assert (tmp_path / "mine.csv").read_text() == "largest\n99\n"
    assert (tmp_path / "largest_of_all.csv").read_text() == "plot\nmine\nyours\n"
    assert "<text>drawn</text>" in (tmp_path / "svg" / "mine-a-b.svg").read_text()
    page = (tmp_path / "report.html").read_text()
    [section] = re.findall(r'<section class="figure" id="figure-mine">.*?</section>', page, flags=re.DOTALL)
    for part in (
        "<h3>Mine &lt;here&gt;</h3>",
        "<h4>A &lt;heading&gt;</h4><svg",
        "<text>drawn</text>",
        "A note &lt;there&gt;.",
        "<td>&lt;first&gt;</td>",
        '<p class="method">Words &amp; &lt;signs&gt;.</p>',
        'download="mine.csv"',
    ):
        assert part in section


@pytest.mark.parametrize("name", ["results", "claims", "a/b", "", "x.csv"])
def test_figures_whose_files_would_be_others_are_refused(found: Results, name: str) -> None:
    """Nothing else of the report is overwritten, nothing is written elsewhere."""
    with pytest.raises(InputError, match="no name for a file"):
        draw_figure(found, Plot(name, "It", "welfare", GROUPS, "numbers"), ToyFamily())


def test_studies_are_found_by_kind_group_and_algorithm(found: Results) -> None:
    """Rows with whose they are; a study that could not be made is a row with the reason."""
    figure = drawn(found, "curve", ("5", "20"))
    assert isinstance(figure, Curves)
    assert [(each.case, each.study.kind) for each in figure.studies] == [("5 run 0", "curve"), ("20 run 0", "curve")]
    frame = figure.files()["it.csv"]
    assert list(frame["case"]) == ["5 run 0"] * 2 + ["20 run 0"] * 2
    assert {"bid_from", "utility_to", "algorithm"} <= set(frame.columns)
    assert drawn(found, "curve", algorithms=("one",)).is_empty
    failed = StudyTable("case", "group", Study("curve", "x", 1), (), "no such task")
    assert list_studies([failed]).to_dict("records") == [
        {"case": "case", "group": "group", "algorithm": "x", "reason": "no such task"}
    ]


def piece(low: int, high: int, gains: tuple[int, int], ends: str, valuation: int = 10) -> CurvePiece:
    """A piece of a curve, as a study stores it; `ends` as in mathematics: `[)`."""
    row = {
        "valuation": str(valuation),
        "bid_from": str(low),
        "bid_to": str(high),
        "from_included": str(ends[0] == "[").lower(),
        "to_included": str(ends[1] == "]").lower(),
        "utility_from": str(gains[0]),
        "utility_to": str(gains[1]),
    }
    return read_curve([row])[0]


def gain(bid: int, utility: int, where: BidRange, other: int, closed: bool = True, endless: bool = False) -> BestBids:
    """What is expected, in integers."""
    return BestBids(Fraction(bid), Fraction(utility), where, Fraction(other), closed, endless)


@pytest.mark.parametrize(
    ("pieces", "truthful", "expected"),
    [
        # It wins and pays the same from 4 on: nothing is better than the truth.
        ([piece(0, 4, (0, 0), "[)"), piece(4, 99, (6, 6), "[]")], 6, gain(10, 6, BidRange.AT, 10)),
        # It would win above 12 only: any bid above gains.
        ([piece(0, 12, (0, 0), "[]"), piece(12, 99, (5, 5), "(]")], 0, gain(12, 5, BidRange.ABOVE, 99, endless=True)),
        # Below 8 it is served best.
        ([piece(0, 8, (7, 7), "[)"), piece(8, 99, (1, 1), "[]")], 1, gain(0, 7, BidRange.AT, 8, False)),
        ([piece(0, 8, (7, 7), "()"), piece(8, 99, (1, 1), "[]")], 1, gain(0, 7, BidRange.ABOVE, 8, False)),
        # The less it bids the more it gains, down to an end that loses.
        ([piece(0, 3, (0, 0), "[]"), piece(3, 20, (9, -8), "(]")], 2, gain(3, 9, BidRange.NEAR, 20)),
        ([piece(0, 3, (0, 0), "[)"), piece(3, 20, (9, -8), "[]")], 2, gain(3, 9, BidRange.AT, 20)),
    ],
)
def test_the_best_bid_of_a_curve_is_found_with_its_end(pieces: list[Any], truthful: int, expected: BestBids) -> None:
    """Open and closed ends, flat and falling pieces; the truth wins ties."""
    assert find_best(pieces) == (truthful, expected)
    assert 0 <= expected.mark_place(Fraction(30)) <= 30


@pytest.mark.parametrize(
    ("where", "bid", "other", "closed", "said"),
    [
        (BidRange.ABOVE, 0, 4, True, "bids above 0 and up to 4"),
        (BidRange.ABOVE, 0, 4, False, "bids above 0 and below 4"),
        (BidRange.ABOVE, 7, 99, True, "bids above 7"),
        (BidRange.BELOW, 8, 0, True, "bids below 8"),
        (BidRange.BELOW, 8, 3, True, "bids below 8 and from 3 on"),
        (BidRange.AT, 8, 9, True, "the bid 8"),
    ],
)
def test_the_best_bids_are_said_with_both_their_ends(
    where: BidRange, bid: int, other: int, closed: bool, said: str
) -> None:
    assert gain(bid, 1, where, other, closed, endless=other == 99).describe(str) == said


def test_the_sample_of_charges_is_evenly_spaced() -> None:
    """Ten of many, in order, with the first and the last; all of few."""
    rows = [{"task": str(i)} for i in range(46)]
    assert [int(row["task"]) for row in take_sample(rows)] == [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]
    assert take_sample(rows[:7]) == rows[:7]


def scaled(mean: Mean, factor: int) -> Mean:
    """The mean with its interval, times the factor."""
    ends = {name: getattr(mean, name) for name in ("lower", "upper", "low", "high")}
    return replace(mean, **{name: None if end is None else end * factor for name, end in ends.items()})


def test_only_a_sample_has_an_interval(found: Results) -> None:
    """Recipes that differ in their seed alone are one; of others each case is a circle, and no share is above 1."""
    sample = means_of(found, "reached")
    assert all(not each.parts for each in sample.means)
    intervals = [each.interval for each in sample.means if each.interval is not None]
    assert intervals
    assert all(high <= 1 for _, high in intervals)
    days = [replace(case, recipe={**case.recipe, "day": place}) for place, case in enumerate(found.cases)]
    fixed = means_of(replace(found, cases=days), "reached")
    for one, other in zip(sample.means, fixed.means, strict=True):
        assert (other.low, other.high) == (one.low, one.high)  # in the CSV file
        assert other.interval is None
        assert other.cases == 3
        assert sum(other.parts, Fraction(0)) == 3 * Fraction(other.lower or 0)
        assert list(other.parts) == sorted(other.parts)
    svg = charts.draw_group(fixed, "5", charts.find_spans(fixed)["5"])
    algorithms = sum(each.group == "5" for each in fixed.means)
    assert svg.count('<circle class="hollow"') == 3 * algorithms
    assert "span" not in svg
    assert "95 %" not in svg
    assert "cases from" in svg


def test_groups_share_an_axis_unless_they_are_far_apart(found: Results) -> None:
    """The same limits for all groups; their own where one has figures many times those of another."""
    figure = means_of(found, "welfare")
    assert len(set(charts.find_spans(figure).values())) == 1
    far = [scaled(each, 1000) if each.group == "20" else each for each in figure.means]
    spans = charts.find_spans(replace(figure, means=far))
    assert len(set(spans.values())) == 3
    assert spans["20"].high > 100 * spans["5"].high


def test_a_measure_that_one_algorithm_has_fifty_times_as_large_is_shown_by_its_logarithm(found: Results) -> None:
    """Certificates of 1.6 and 380 beside each other; welfare keeps its axis."""
    figure = means_of(found, "share")
    assert not charts.find_span(figure).log
    wide = [
        replace(each, lower=Fraction(value), upper=Fraction(value), low=float(value), high=float(value))
        for each, value in zip(figure.means, [300] + [2] * len(figure.means), strict=False)
    ]
    shown = charts.find_span(replace(figure, means=wide))
    assert shown.log
    assert shown.low < 2 < 300 < shown.high
    assert "<svg" in charts.draw_group(replace(figure, means=wide), "5", shown)
    assert not charts.find_span(replace(figure, plot=replace(figure.plot, kind="welfare"), means=wide)).log


def test_lines_are_drawn_over_numbers_only(found: Results) -> None:
    """Groups that differ in a number, three at least, and few algorithms; panels otherwise."""
    few = means_of(found, "share", algorithms=("one", "first"))
    assert charts.is_lines(few.plot, few.means)
    for groups in (("5", "10"), ("pai", "philly", "helios"), ("pai 1", "philly 2", "helios 3")):
        assert not charts.is_lines(replace(few.plot, groups=groups), few.means)
    nodes = replace(few.plot, groups=("50 nodes", "100 nodes", "150 nodes"))
    assert charts.is_lines(nodes, few.means)
    many = [*few.means, *(replace(each, algorithm=f"a{i}") for i, each in enumerate(few.means))]
    assert not charts.is_lines(few.plot, many)


@pytest.mark.parametrize("what", ["panel", "ratio", "lines", "curve", "charges"])
def test_charts_are_the_same_every_time_and_take_the_pages_colours(found: Results, what: str) -> None:
    """Two drawings are alike byte for byte; every colour is the page's; every algorithm's name is written out."""

    def draw() -> str:
        if what in ("panel", "ratio"):
            figure = means_of(found, "welfare" if what == "panel" else "ratio")
            return charts.draw_group(figure, "10", charts.find_spans(figure)["10"])
        if what == "lines":
            figure = means_of(found, "seconds")
            return charts.draw_lines(figure, charts.find_span(figure))
        study = next(each for each in found.studies if each.study.kind == what)
        if what == "curve":
            return bidding.draw_curve(read_curve(study.rows), "label", "points")
        return bidding.draw_charges(read_charges(study.rows), "label", "points")

    svg = draw()
    assert svg == draw()
    assert not re.search(r"style=|fill=|stroke=|#", svg)
    root = ElementTree.fromstring(svg)
    # What its marks say one by one is its description as well.
    titles = [mark.findtext("title") for mark in root.iter("g") if mark.get("class", "").startswith("m")]
    assert titles
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert root.findtext("desc") == "; ".join(map(str, titles))
    if what in ("panel", "ratio", "lines"):
        assert all(name in svg for name in ("first", "one", "mark=50", "mark=100"))


def test_every_colour_that_figures_use_is_defined_for_light_dark_and_paper() -> None:
    """The page's style sheet gives each of them a value three times."""
    page, sheet = (
        files("ratiobench.bench.draw").joinpath(f"{name}.css").read_text(encoding="utf-8")
        for name in ("page", "charts")
    )
    names = set(re.findall(r"var\((--\w+)\)", sheet))
    assert len(names) > 9
    for name in names:
        assert len(re.findall(rf"{name}: #", page)) == 3
    assert not re.search(r": *#|rgb", sheet)


@pytest.mark.parametrize("kind", ["welfare", "reached", "ratio", "seconds"])
@pytest.mark.parametrize("sense", Sense)
def test_the_best_mean_stands_on_top(found: Results, kind: str, sense: Sense) -> None:
    """OPT first; the largest or the least by what is shown and by the sense; whoever has no mean last."""
    figure = means_of(least(found) if sense is Sense.LEAST else found, kind)
    for group in GROUPS:
        rows = charts.sort_group(figure, group, sense)
        means = [row.upper for row in rows if row.algorithm != data.OPT_LABEL]
        known = [mean for mean in means if is_known(mean)]
        assert known == means[: len(known)]
        falls = kind == "reached" or (kind == "welfare" and sense is Sense.MOST)
        assert known == sorted(known, reverse=falls)
        assert (rows[0].algorithm == data.OPT_LABEL) is (kind == "welfare")
        svg = charts.draw_group(figure, group, charts.find_spans(figure)[group], sense)
        drawn_ = [mark.get("data-a") for mark in ElementTree.fromstring(svg).iter("g")]
        assert [name for name in drawn_ if name] == [row.algorithm for row in rows if row.algorithm != data.OPT_LABEL]


def test_ones_own_algorithm_has_a_colour_of_its_own() -> None:
    """An import path, with options or without; names of ours with options are none."""
    ends = {
        "ratio_lower": Fraction(1),
        "ratio_upper": Fraction(3, 2),
        "ratio_lower_float": 1.0,
        "ratio_upper_float": 1.5,
    }
    names = ["eris", "eft:admit=all", "mine:Rule", "a.b:Rule:margin=3/2"]
    rows = [made_row(name, state="ok", ratio_kind="interval", **ends) for name in names]
    root = ElementTree.fromstring(draw_ratios(rows, "x"))
    assert [mark.get("data-a") for mark in root.iter("g") if "own" in mark.get("class", "")] == names[2:]


def test_cases_are_sorted_by_their_values_and_ratios(found: Results) -> None:
    """The most or the least first by the sense, the smallest ratio first; what has none last, and says why."""
    rows = [row for row in found.records if row.case == "10 run 0"]
    broken = replace(rows[0], algorithm="broken", state="invalid", ratio_upper_float=None)

    def order(svg: str) -> list[str]:
        return [str(mark.get("data-a")) for mark in ElementTree.fromstring(svg).iter("g")]

    for sense in Sense:
        ranked = sorted(rows, key=lambda row: row.welfare, reverse=sense is Sense.MOST)
        svg = draw_values([broken, *rows], "x", "welfare", sense)
        assert order(svg) == [*(row.algorithm for row in ranked), "broken"]
        assert "<title>broken: invalid</title>" in svg
        assert f"<title>{ranked[0].algorithm}: {ranked[0].welfare}</title>" in svg.replace(" *:", ":")
    known = [row for row in rows if row.ratio_upper_float is not None]
    endless = [row.algorithm for row in rows if row.ratio_upper_float is None]
    ranked = sorted(known, key=lambda row: row.ratio_upper)
    assert order(draw_ratios([broken, *rows], "x")) == [*(row.algorithm for row in ranked), "broken", *endless]


def test_bars_have_a_circle_per_case_or_the_certified_interval(found: Results) -> None:
    """No interval over fixed cases; of a single case from lower to upper end; with neither, none."""
    for spread, (key, part) in zip(find_spreads(found.records), by_group(found.records).items(), strict=True):
        assert spread.low is spread.high is None, key
        assert spread.parts == sorted(row.reached for row in part)
        mean = GroupMean("g", "x", sum(spread.parts, Fraction(0)) / len(spread.parts))
        assert draw_reached([mean], "g", spreads=[spread]).count('class="hollow"') == len(part)
    single = [row for row in found.records if row.case == "5 run 0"]
    for spread, row in zip(find_spreads(single), single, strict=True):
        if row.ratio_kind == "interval":
            assert spread.low == pytest.approx(float(row.welfare / row.opt_upper))
            assert spread.high == pytest.approx(float(row.welfare / row.opt_lower))
        else:
            assert spread.low is None
    nothing = Spread(None, None, [], "0 cases")
    assert find_spreads([replace(row, ratio_kind=None) for row in single])[0] == nothing


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.97, 1.05), (-3.2e6, 8e6), (0, 7), (2, 2), (1e-9, 3e-9)])
@pytest.mark.parametrize("log", [False, True])
def test_axes_have_a_few_round_marks_inside(low: float, high: float, log: bool) -> None:
    """Within the ends, ascending, at least two where there is room, and their texts differ."""
    if log and low <= 0:
        low = high / 1000
    axis = Axis(low, high, log=log)
    values = [value for value, _ in axis.marks()]
    assert values == sorted(set(values))
    assert all(low * (1 - 1e-6) - 1e-12 <= value <= high * (1 + 1e-6) for value in values)
    assert (2 if high > low else 1) <= len(values) <= 8
    assert len({text for _, text in axis.marks()}) == len(values)


def test_money_is_drawn_in_dollars_and_told_exactly(found: Results) -> None:
    """Where a unit is worth something; files keep the family's unit, and other quantities are no money."""
    family = ToyFamily()
    family.dollars = Fraction(1, 50)
    plot = Plot("it", "It", "welfare", GROUPS, "numbers")
    rows = take_means(found, plot, family)
    assert rows.axis == "mean welfare, dollars"
    assert rows.means == means_of(found, "welfare").means
    assert [each.lower * 50 for each in rows.shown] == [each.lower for each in rows.means]
    share = take_means(found, replace(plot, kind="share"), family)
    assert share.shown is share.means
    one = [row for row in found.records if row.case == "10 run 0"][:1]
    svg = draw_values(one, "x", "welfare, dollars", scale=family.dollars, unit="points")
    assert f": {one[0].welfare} points</title>" in svg
    assert "welfare, dollars</text>" in svg


def test_figures_are_files_of_their_own_on_request(folder: Path, tmp_path: Path) -> None:
    """SVG documents with colours for light and dark, one per chart, and all means in one table with its provenance."""
    from ratiobench.bench.cli.main import main

    assert main(["report", str(folder), "--figures", str(tmp_path / "svg")]) == 0
    pictures = sorted((tmp_path / "svg").glob("*.svg"))
    assert pictures
    for picture in pictures:
        root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        used = set(re.findall(r"var\((--\w+)\)", picture.read_text(encoding="utf-8")))
        style = root.findtext("{http://www.w3.org/2000/svg}style") or ""
        assert used <= set(re.findall(r"(--\w+):", style))
        assert "prefers-color-scheme: dark" in style
    with Store.open(folder / "results.sqlite", create=False) as store:
        names = [plot.name for plot in read_results(store).plots if plot.kind not in KINDS]
    means = pd.read_csv(folder / "figures.csv", dtype=str)
    assert list(dict.fromkeys(means["plot"])) == names
    about = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    assert about["suite"] == "toy-plots"
    assert any("first" in version for version in about["versions"])


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
    assert charts.shorten_groups(groups) == labels
