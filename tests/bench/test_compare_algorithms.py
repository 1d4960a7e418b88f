"""Algorithms against each other: profiles and pairs of both senses against counting by hand, and their drawings."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.compare import algorithms as compare
from ratiobench.bench.report.compare.algorithms import Comparison, Outcome
from ratiobench.bench.report.compare.page import compare_algorithms
from ratiobench.bench.results import ratios
from ratiobench.bench.results.read import Results, read_results
from ratiobench.bench.storage.store import Store
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")
NAMES = ("a", "b:x=1", "my.module:Own", "d")


def drawn_at_random(seed: int, sense: Sense) -> Comparison:
    """Values of all signs, ties, invalid runs, runs that are missing, and cases that an algorithm was not to run on."""
    chance = random.Random(seed)
    outcomes = {}
    for case in (f"case {i}" for i in range(12)):
        bound = Fraction(chance.choice([0, 5, 6]))
        for name in NAMES:
            state = chance.choice(["ok"] * 8 + ["invalid", "failed", "missing", "absent"])
            if state == "absent":
                continue
            if state != "ok":
                outcomes[case, name] = Outcome(state, None, None, "")
                continue
            value = Fraction(chance.randint(-1, 5)) if sense is Sense.MOST else bound + chance.randint(0, 3)
            ends = (bound, bound) if chance.random() < 0.7 else (bound, bound + 1)
            kind = ratios.ratio(*ends, value, sense).kind
            part = ratios.certain_share(*ends, value, sense)
            outcomes[case, name] = Outcome("ok", value, part, compare.describe_endless(kind, part))
    return Comparison([f"case {i}" for i in range(12)], NAMES, outcomes, sense)


def is_within(comparison: Comparison, case: str, name: str, factor: Fraction) -> bool:
    """By definition, without a quotient: the best value is reached, or both are positive and near enough."""
    every = [each.value for (where, _), each in comparison.outcomes.items() if where == case]
    values = [each for each in every if each is not None]
    value = comparison.outcomes[case, name].value
    if value is None:
        return False
    best = max(values) if comparison.sense is Sense.MOST else min(values)
    if value == best:
        return True
    near = value * factor >= best if comparison.sense is Sense.MOST else value <= factor * best
    return value > 0 and best > 0 and near


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("seed", range(5))
def test_profiles_count_the_cases_within_a_factor(sense: Sense, seed: int) -> None:
    """For every factor, also those just below and above a step; who never reaches it is counted, who waits is not."""
    comparison = drawn_at_random(seed, sense)
    steps = {factor for each in compare.take_profiles(comparison) for factor in each.factors}
    factors = [*compare.FACTORS, *steps, *(step - Fraction(1, 10**9) for step in steps if step > 1)]
    for each in compare.take_profiles(comparison):
        mine = {case: out for (case, name), out in comparison.outcomes.items() if name == each.algorithm}
        for factor in factors:
            assert each.within(factor) == sum(is_within(comparison, case, each.algorithm, factor) for case in mine)
        assert each.waiting == sum(out.state == "missing" for out in mine.values())
        assert each.broken == sum(out.state in ("invalid", "failed") for out in mine.values())
        assert each.cases == len(mine) - each.waiting == len(each.factors) + each.endless + each.broken
        assert f"best on {each.within(Fraction(1))} of {each.cases} cases" in compare.describe_profile(each)


@pytest.mark.parametrize("sense", Sense)
def test_a_pair_is_counted_exactly_and_drawn_case_by_case(sense: Sense) -> None:
    """Who is better follows from the values; parts are coordinates, what is unbounded is at the edge, and said."""
    for seed in range(3):
        comparison = drawn_at_random(seed, sense)
        plane = compare.find_plane(comparison)
        for a, b in (("a", "d"), ("d", "my.module:Own"), ("a", "a")):
            dots = {}
            counts, edge = {"A": 0, "B": 0, "equal": 0}, 0
            for case in comparison.cases:
                one, two = (comparison.outcomes.get((case, name)) for name in (a, b))
                if one is None or two is None or one.part is two.part is None or None in (one.value, two.value):
                    continue
                if any(each.part is None and not each.endless for each in (one, two)):
                    continue
                dots[case] = [plane.edge if each.endless else float(each.part or 0) for each in (one, two)]
                edge += bool(one.endless or two.endless)
                assert one.value is not None
                assert two.value is not None
                wins = ratios.is_better(one.value, two.value, sense), ratios.is_better(two.value, one.value, sense)
                counts["A" if wins[0] else "B" if wins[1] else "equal"] += 1
            told = compare.describe_pair(comparison, a, b)
            assert told.startswith(
                f"{len(dots)} of 12 cases: A better on {counts['A']}, B on {counts['B']}, equal {counts['equal']}"
            )
            assert (f"; {edge} at an edge" in told) is (edge > 0)
            assert (f"; {12 - len(dots)} left out" in told) is (len(dots) < 12)
            assert read_dots(compare.draw_scatter(comparison, a, b)) == {
                case: [pytest.approx(part, abs=2e-4) for part in parts] for case, parts in dots.items()
            }


def read_dots(svg: str) -> dict[str, list[float]]:
    """The parts that the dots of a drawing show, by case."""
    root = ElementTree.fromstring(svg)
    [group] = [each for each in root.iter("g") if each.get("class") == "dots"]
    ends = [[float(end) for end in (group.get(f"data-{axis}") or "").split()] for axis in "xy"]
    found = {}
    for mark in group:
        circle, title = mark.find("circle"), mark.findtext("title") or ""
        if mark.get("hidden") is None and circle is not None:
            places = float(circle.get("cx") or 0), float(circle.get("cy") or 0)
            parts = [(place - low) / (high - low) for place, (low, high) in zip(places, ends, strict=True)]
            found[title.partition(":")[0]] = parts
    return found


def test_one_is_compared_with_the_best_other_one() -> None:
    """The two best by their means; one's own against the best of the others where there is one."""
    parts = {"a": (1, 2), "b": (3, 4), "c": (5, 5), "my.own:Rule": (0, 1)}
    outcomes = {
        (f"case {i}", name): Outcome("ok", Fraction(part), Fraction(part, 10), "")
        for name, both in parts.items()
        for i, part in enumerate(both)
    }
    cases = ["case 0", "case 1"]
    assert Comparison(cases, ["a", "b", "c"], outcomes, Sense.MOST).pair == ("c", "b")
    assert Comparison(cases, list(parts), outcomes, Sense.MOST).pair == ("my.own:Rule", "c")
    del outcomes["case 0", "c"]
    assert Comparison(cases, ["a", "b", "c"], outcomes, Sense.MOST).pair == ("b", "a")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of nine cases, with an algorithm of one's own."""
    return made("toy-plots", tmp_path_factory.mktemp("toy"), "--add", "one:Mine")


@pytest.fixture
def found(folder: Path) -> Results:
    with Store.open(folder / "results.sqlite", create=False) as store:
        return read_results(store)


def test_the_section_follows_from_the_rows(folder: Path, found: Results) -> None:
    """Values, parts and the default pair are those of results.csv; the page has all of it."""
    rows = pd.read_csv(folder / "results.csv", dtype=str)
    compared = compare_algorithms(found)
    assert compared is not None
    means = rows.assign(part=rows["reached"].map(Fraction)).groupby("algorithm")["part"].mean()
    assert compared.a == "one:Mine"
    assert compared.b == means.drop("one:Mine").sort_values().index[-1]
    endless = rows["ratio_kind"] == "unbounded"
    assert 0 < endless.sum() < len(rows)
    for name, parts, ranks in zip(
        compared.data["algorithms"], compared.data["parts"], compared.data["ranks"], strict=True
    ):
        mine = rows[rows["algorithm"] == name].set_index("case")
        for case, part, rank in zip(compared.data["cases"], parts, ranks, strict=True):
            row = mine.loc[case]
            better = rows[(rows["case"] == case)]["welfare"].map(int)
            assert rank == len({value for value in better if value > int(row["welfare"])})
            if row["ratio_kind"] == "unbounded":
                assert part == "unbounded"
            else:
                assert 0 <= 100 * Fraction(row["reached"]) - Fraction(str(part)) < Fraction(1, 10**4)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert compared.said in page
    assert 'class="m own"' in page
    for each in compared.table.rows:
        assert f"<td>{each[0].text}</td>" in page


@pytest.mark.parametrize("what", ["case", "algorithm"])
def test_one_case_or_one_algorithm_is_no_comparison(found: Results, what: str) -> None:
    rows = [row for row in found.records if getattr(row, what) == getattr(found.records[0], what)]
    assert compare_algorithms(replace(found, records=rows)) is None


def test_steps_of_the_profile_are_drawn_where_the_factors_are(found: Results) -> None:
    """The line of an algorithm is as high as its share at factor 1, and ends at the share that is ever reached."""
    comparison = compare.compare_runs(found)
    assert comparison is not None
    profiles = compare.take_profiles(comparison)
    root = ElementTree.fromstring(compare.draw_profile(profiles))
    lines = {
        group.get("data-a"): [
            [float(place) for place in corner.split(",")] for corner in (group[1].get("points") or "").split()
        ]
        for group in root
        if group.get("data-a")
    }
    assert set(lines) == {each.algorithm for each in profiles}
    marks = [each for each in root.iter("text") if re.fullmatch(r"(0|100) %", each.text or "")]
    heights = [float(each.get("y") or 0) - 3.5 for each in marks]
    bottom, top = max(heights), min(heights)
    for each in profiles:
        points = lines[each.algorithm]
        start, end = ((bottom - points[place][1]) / (bottom - top) for place in (0, -1))
        assert start == pytest.approx(each.within(Fraction(1)) / each.cases, abs=1e-3)
        assert end == pytest.approx(len(each.factors) / each.cases, abs=1e-3)
        assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in itertools.pairwise(points))


def test_five_lines_of_a_profile_have_a_colour() -> None:
    """An own algorithm's whatever it reaches, and the best others'; the rest is grey, below them, and still named."""
    names = [*(f"a{k}" for k in range(11)), "mine:Own"]
    profiles = [compare.Profile(name, (Fraction(k + 1),), 0, 0, 0) for k, name in enumerate(names)]
    parts = compare.draw_profile(profiles).split("<g class=")[1:]
    grey = [part for part in parts if "series rest" in part]
    coloured = {name for name in names for part in parts if f'data-a="{name}"' in part and part not in grey}
    assert coloured == {"a0", "a1", "a2", "a3", "mine:Own"}
    assert len(grey) == len(names) - 5
    assert parts[: len(grey)] == grey
    assert all(f">{name}</text>" in "".join(parts) for name in names)
