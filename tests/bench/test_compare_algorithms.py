"""Performance profiles of both senses against counting by hand."""

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.compare import FACTORS, Comparison, compare_runs, list_profiles
from ratiobench.bench.results import ratios
from ratiobench.bench.results.read import Results, read_folder
from tests.support.rows import made_row
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")
NAMES = ("a", "b:x=1", "my.module:Own", "d")


def drawn_at_random(seed: int, sense: Sense) -> Comparison:
    """Values of all signs, ties, invalid runs, runs that are missing, and cases that an algorithm was not to run on."""
    chance = random.Random(seed)
    rows = {}
    for case in (f"case {i}" for i in range(12)):
        bound = Fraction(chance.choice([0, 5, 6]))
        for name in NAMES:
            state = chance.choice(["ok"] * 8 + ["invalid", "failed", "missing", "absent"])
            if state == "absent":
                continue
            cells: dict[str, Any] = {"state": state}
            if state == "ok":
                value = Fraction(chance.randint(-1, 5)) if sense is Sense.MOST else bound + chance.randint(0, 3)
                cells |= {"welfare": value, **ratios.columns(bound, bound + 1, value, sense)}
            rows[case, name] = made_row(name, case, **cells)
    return Comparison(rows, sense)


def is_within(comparison: Comparison, case: str, name: str, factor: Fraction) -> bool:
    """By definition, without a quotient: the best value is reached, or both are positive and near enough."""
    values = [value for (where, _), value in comparison.values.items() if where == case]
    value = comparison.values.get((case, name))
    if value is None:
        return False
    best = max(values) if comparison.sense is Sense.MOST else min(values)
    near = value * factor >= best if comparison.sense is Sense.MOST else value <= factor * best
    return value == best or (value > 0 and best > 0 and near)


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("seed", range(5))
def test_profiles_count_the_cases_within_a_factor(sense: Sense, seed: int) -> None:
    """For every factor, also those just below and above a step; who never reaches it is counted, who waits is not."""
    comparison = drawn_at_random(seed, sense)
    steps = {factor for name in comparison.names for factor in comparison.factors(name)}
    factors = [Fraction(1), *FACTORS, *steps, *(step - Fraction(1, 10**9) for step in steps if step > 1)]
    for name, line in zip(comparison.names, list_profiles(comparison), strict=True):
        mine = {case: row for (case, other), row in comparison.rows.items() if other == name}
        for factor in factors:
            within = sum(is_within(comparison, case, name, factor) for case in mine)
            assert sum(step <= factor for step in comparison.factors(name)) == within
        waiting = sum(row.state == "missing" for row in mine.values())
        assert int(line["not run yet"]) == waiting
        assert int(line["invalid or failed"]) == sum(row.state in ("invalid", "failed") for row in mine.values())
        assert int(line["cases"]) == len(mine) - waiting
        assert int(line["best"]) == sum(is_within(comparison, case, name, Fraction(1)) for case in mine)
        assert int(line["within 2"]) == sum(is_within(comparison, case, name, Fraction(2)) for case in mine)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Results of nine cases, with an algorithm of one's own."""
    folder = made("toy-plots", tmp_path_factory.mktemp("toy"), "--add", "one:Mine")
    return read_folder(folder)


def test_the_comparison_follows_from_the_rows(found: Results) -> None:
    comparison = compare_runs(found)
    assert comparison is not None
    for case in comparison.cases:
        values = {row.algorithm: row.welfare for row in found.records if row.case == case}
        assert comparison.best[case] == max(values.values())


@pytest.mark.parametrize("what", ["case", "algorithm"])
def test_one_case_or_one_algorithm_is_no_comparison(found: Results, what: str) -> None:
    rows = [row for row in found.records if getattr(row, what) == getattr(found.records[0], what)]
    assert compare_runs(replace(found, records=rows)) is None


def test_the_picture_is_a_line_of_steps_per_algorithm(found: Results, tmp_path: Path) -> None:
    """From the share at factor 1 to the share that is ever reached; five lines have a colour, all names are there."""
    from matplotlib.figure import Figure

    from ratiobench.bench.report.pictures import FAINT, draw_profile

    names = [*(f"a{k}" for k in range(11)), "mine:Own"]
    axes = Figure().add_subplot()
    draw_profile(axes, {name: [1.0, 1.0 + k / 4, 3.0] for k, name in enumerate(names)}, dict.fromkeys(names, 4))
    assert len(axes.lines) == len(names)
    for line in axes.lines:
        heights = [float(y) for y in line.get_ydata()]
        assert heights[0] in (25, 50)
        assert heights[-1] == 75
        assert heights == sorted(heights)
    texts = {text.get_text(): text.get_color() for text in axes.texts}
    assert set(texts) == set(names)
    assert {name for name, color in texts.items() if color != FAINT} == {"a0", "a1", "a2", "a3", "mine:Own"}
