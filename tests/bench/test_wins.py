"""How often one's own algorithm beats another one: exact values, both senses, means of runs by their intervals."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.compare.wins import count_wins
from ratiobench.bench.results.row import make_row
from tests.bench.test_headline import headline, row


def values(*runs: int) -> list[dict[str, object]]:
    """Rows of one's own algorithm and of another one on a case each."""
    ours, theirs = runs[::2], runs[1::2]
    return [
        row(str(i), name, value) for i, pair in enumerate(zip(ours, theirs, strict=True))
        for name, value in zip(("mine:Own", "x"), pair, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize("sense", Sense)
def test_exact_values_decide(sense: Sense) -> None:
    """Whatever OPT is: 2 better, 1 worse, 1 equal for the most; the other way round for the least."""
    [found] = count_wins(map(make_row, values(5, 4, 50, 40, 7, 9, 3, 3)), sense)
    sides = (found.better, found.worse) if sense is Sense.MOST else (found.worse, found.better)
    assert (*sides, found.equal, found.undecided, found.left_out) == (2, 1, 1, 0, 0)


def test_runs_without_a_figure_are_left_out_and_said_to_be() -> None:
    """Invalid and missing ones; a case on which the other was not to run counts nowhere."""
    rows = [*values(5, 4, 6, 4, 1, 2), row("3", "mine:Own", 1), row("3", "x", None), row("4", "mine:Own", 9)]
    rows[2]["state"] = "invalid"
    [found] = count_wins(map(make_row, rows), Sense.MOST)
    assert (found.cases, found.better, found.worse, found.left_out) == (2, 1, 1, 2)
    assert found.describe() == "in 1 of the 2 cases that both have, worse in 1"


def test_means_of_runs_are_decided_by_their_intervals() -> None:
    rows = values(50, 40, 50, 45, 50, 50, 50, 40)
    ends: list[tuple[float | None, float | None]] = [(45.0, 55.0), (40.0, 60.0), (50.0, 50.0), (None, None)]
    for each, (low, high) in zip(rows[::2], ends, strict=True):
        each |= {"repetitions": 3, "welfare_low": low, "welfare_high": high}
    for each in rows[1::2]:
        each |= {"repetitions": float("nan"), "welfare": Fraction(str(each["welfare"]))}
    [found] = count_wins(map(make_row, rows), Sense.MOST)
    assert (found.better, found.worse, found.equal, found.undecided) == (1, 0, 1, 2)


def test_the_headline_names_the_strongest_others_and_counts_the_rest() -> None:
    """First of all, over several cases; nobody's algorithm, no sentence."""
    rows = [row(case, name, value) for case in "ab" for name, value in zip("uvwx", (60, 10, 70, 80), strict=True)]
    assert "is better than" not in " ".join(headline(rows).lines())
    rows += [row("a", "mine:Own", 65), row("b", "mine:Own", 71)]
    assert headline(rows).lines()[0] == (
        "mine:Own (yours) is better than x in 0 of 2 cases, worse in 2; than w in 1 of 2 cases, worse in 1; "
        "than u in 2 of 2 cases; the table has 1 more algorithm."
    )
    alone = [each for each in rows if each["case"] == "a"]
    assert "is better than" not in " ".join(headline(alone).lines())
