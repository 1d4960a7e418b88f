"""What the paper says of its figures: verdicts from made-up means, and those of the committed run."""

from fractions import Fraction

import pandas as pd
import pytest

from ratiobench.bench.lora import FAMILY
from ratiobench.bench.lora.suites import suites
from ratiobench.bench.lora.theory.pdftsp.bids import utility_curve
from tests.support.lora_documents import make_instance, make_node
from tools.known_opt import from_ratios, from_reached, solve_linear
from tools.paper_sentences import (
    COLUMNS,
    OTHERS,
    OURS,
    SENTENCES,
    WELFARE,
    Means,
    Sentence,
    compare,
    judge,
    judge_outperformance,
    verdict_text,
)
from tools.readme_tables import ROOT, read_means

RUNS = ("a", "b", "c", "d", "e")


def _means(figure: str, ours: dict[str, list[int]], theirs: dict[str, list[int]], runs: bool = True) -> Means:
    """Means of five runs a column; all baselines earn the same."""
    ends, known = {}, {}
    for column in COLUMNS[figure]:
        for name in (OURS, *OTHERS):
            values = (ours if name == OURS else theirs)[column]
            ends[figure, column, name] = (Fraction(sum(values), len(values)),) * 2
            if runs:
                known[figure, column, name] = dict(zip(RUNS, map(Fraction, values), strict=True))
    return Means(ends, known)


def _sentence(figure: str, check: str) -> Sentence:
    return next(each for each in SENTENCES if (each.figure, each.check) == (figure, check))


def test_every_figure_and_column_is_one_of_the_suite() -> None:
    known = {suite.name: {case.group for case in suite.cases} for suite in suites()}
    for figure, columns in COLUMNS.items():
        assert set(columns) == known[figure]


def test_a_comparison_is_decided_by_the_interval_of_the_pairs() -> None:
    """Above in every run by about as much: holds; the other way round: fails; above and below by turns: undecided."""
    theirs = {column: [100, 200, 300, 400, 500] for column in COLUMNS["fig7"]}
    ours = {"pai": [111, 222, 333, 444, 555], "philly": [90, 181, 270, 360, 450], "helios": [150, 150, 330, 350, 560]}
    means = _means("fig7", ours, theirs)
    found = {column: means.above("fig7", column, OURS, "eft") for column in ours}
    assert {column: compare(each) for column, each in found.items()} == {
        "pai": "holds", "philly": "fails", "helios": "undecided",
    }  # fmt: skip
    assert verdict_text(found["pai"]) == "holds (+11 %)"
    assert verdict_text(found["helios"]).startswith("undecided (+3 %; ")
    alone = _means("fig7", ours, theirs, runs=False)
    assert compare(alone.above("fig7", "helios", OURS, "eft")) == "holds"
    assert judge(_sentence("fig7", "best"), means) == {
        "fig7: pai": "holds", "fig7: philly": "fails", "fig7: helios": "undecided",
    }  # fmt: skip


def test_more_improvement_with_the_load_must_rise_at_every_step() -> None:
    """10, 20, 30 % holds; 10, 30, 20 % fails; as much at two loads fails."""
    light, medium, high = COLUMNS["fig8"]
    theirs = {column: [100] * 5 for column in COLUMNS["fig8"]}
    for percents, verdict in (((10, 20, 30), "holds"), ((10, 30, 20), "fails"), ((10, 10, 20), "fails")):
        ours = {column: [100 + each] * 5 for column, each in zip((light, medium, high), percents, strict=True)}
        found = judge(_sentence("fig8", "gains"), _means("fig8", ours, theirs))
        assert set(found) == set(OTHERS)
        assert all(each.startswith(verdict) for each in found.values())


@pytest.mark.parametrize(("ends", "verdict"), [((1, 3), "holds"), ((2, 4), "undecided"), ((4, 5), "fails")])
def test_a_ratio_of_at_most_three_is_certified_or_left_open(ends: tuple[int, int], verdict: str) -> None:
    pair = (Fraction(ends[0]), Fraction(ends[1]))
    means = Means({("fig12", column, OURS): pair for column in COLUMNS["fig12"]}, {})
    assert all(each.startswith(verdict) for each in judge(_sentence("fig12", "ratio"), means).values())


def test_welfare_must_rise_with_nodes_and_fall_from_a100_to_a40() -> None:
    rising = {column: [each] * 5 for each, column in enumerate(COLUMNS["fig4"], 1)}
    flat = {column: [1] * 5 for column in COLUMNS["fig4"]}
    found = judge(_sentence("fig4", "rises"), _means("fig4", rising, flat))
    assert {name: text.partition(" ")[0] for name, text in found.items()} == {
        OURS: "holds", **dict.fromkeys(OTHERS, "fails"),
    }  # fmt: skip
    better = {"A100": [3] * 5, "A40": [2] * 5, "mixed": [1] * 5}
    worse = {"A100": [1] * 5, "A40": [2] * 5, "mixed": [3] * 5}
    found = judge(_sentence("fig6", "falls"), _means("fig6", better, worse))
    assert found[OURS].startswith("holds")
    assert found["titan"].startswith("fails")


def test_sentences_have_verdicts_on_all_that_the_committed_run_has() -> None:
    means = read_means()
    for sentence in SENTENCES:
        found = judge(sentence, means)
        assert {text.partition(" ")[0] for text in found.values()} <= {"holds", "fails", "undecided"}
        if sentence.check == "best" and sentence.figure != "fig6":
            figures = COLUMNS if sentence.figure == "fig4 to fig9" else [sentence.figure]
            run = [
                f"{figure}: {column}"
                for figure, column, _ in judge_outperformance(means, figures=WELFARE)
                if figure in figures
            ]
            assert list(found) == run
    assert judge(_sentence("fig8", "gains"), Means({}, {})) == {}
    assert judge(_sentence("fig4", "rises"), Means({}, {})) == {}
    assert judge(_sentence("fig12", "ratio"), Means({}, {})) == {}


def test_ends_of_opt_come_out_of_exact_means() -> None:
    """Three days, four algorithms: both kinds of means give back the ends; means of other days are refused."""
    lower, upper = [101, 207, 333], [103, 211, 340]
    welfare = {"w": [90, 150, 300], "x": [80, 200, 310], "y": [70, 111, 200], "z": [13, 170, 290]}

    def table(values: dict[str, tuple[Fraction, Fraction]]) -> pd.DataFrame:
        rows = [
            {"algorithm": name, "mean_lower": str(low), "mean_upper": str(high), "unbounded": "0", "left_out": "0"}
            for name, (low, high) in values.items()
        ]
        return pd.DataFrame(rows)

    def mean(values: list[Fraction]) -> Fraction:
        return sum(values, Fraction(0)) / len(values)

    ratios = table({
        name: (
            mean([Fraction(a, b) for a, b in zip(lower, earned, strict=True)]),
            mean([Fraction(a, b) for a, b in zip(upper, earned, strict=True)]),
        )
        for name, earned in welfare.items()
    })  # fmt: skip
    assert from_ratios(ratios, welfare, "lower") == lower
    assert from_ratios(ratios, welfare, "upper") == upper
    reached = table({
        name: (mean([Fraction(b, a) for a, b in zip(upper, earned, strict=True)]),) * 2
        for name, earned in welfare.items()
    })  # fmt: skip
    assert from_reached(reached, welfare) == upper
    with pytest.raises(ValueError, match="not of these days"):
        from_ratios(ratios, {**welfare, "z": [14, 170, 290]}, "upper")
    with pytest.raises(ValueError, match="more than one"):
        solve_linear([[Fraction(1), Fraction(2)]] * 2, [Fraction(1)] * 2)


def test_overbidding_gains_as_often_as_the_readme_says() -> None:
    """Every bidder of Figure 10's part of a day, with constants kept: under (14) some gain, under b - F nobody does."""
    [case] = next(suite for suite in suites() if suite.name == "fig10").cases
    instance = FAMILY.generate(case.recipe)
    gains = {}
    for study in case.studies[::2]:
        played = FAMILY.run(instance, study.algorithm)
        curves = ((int(instance.valuation[i]), utility_curve(instance, played, i)) for i in range(instance.tasks))
        gains[study.algorithm] = sum(curve.best()[1] > curve.utility(value) for value, curve in curves)
    exact, printed, critical = gains.values()
    assert critical == 0
    text = " ".join((ROOT / "docs" / "results" / "paper.md").read_text(encoding="utf-8").split())
    assert f"is so for {printed} of the {instance.tasks} tasks, with the exact search for {exact}, and" in text
    assert ["search=printed" in name for name in gains] == [False, True, False]
    assert "payment=critical" in list(gains)[2]


def test_a_bid_of_15_at_an_expense_of_10_gains_5_as_in_figure_10() -> None:
    """Two tasks, a slot, a node of 2 samples and 2 GB: the first one, of bid 10, leaves both prices at 5 a unit."""
    tasks = [{"memory_mb": 1000, "bid": bid} for bid in (10, 15)]
    instance = make_instance(1, [make_node(2, 3000)], tasks, base_memory_mb=1000)
    for search in ("exact", "printed"):
        played = FAMILY.run(instance, f"pdftsp:search={search},units=paper,alpha=2,beta=1/500")
        curve = utility_curve(instance, played, 1)
        assert curve.payment(15) == 10
        assert [curve.utility(bid) for bid in (0, 9, 10, 11, 15, 16, 1000)] == [0, 0, 0, 5, 5, 5, 5]
        assert curve.best()[1] == curve.utility(15) == 5
