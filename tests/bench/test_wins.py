"""How often one's own algorithm beats another one: exact values, both senses, means of runs by their intervals."""

from dataclasses import replace

import pytest

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.compare import Comparison, count_wins
from ratiobench.bench.results.row import Row
from ratiobench.bench.show import Lines
from tests.support.rows import result_row as row


def wins(rows: list[Row], sense: Sense) -> Lines:
    """The table of wins over these rows."""
    return count_wins(Comparison({(row.case, row.algorithm): row for row in rows}, sense))


def values(*runs: int) -> list[Row]:
    """Rows of one's own algorithm and of another one on a case each."""
    ours, theirs = runs[::2], runs[1::2]
    return [
        row(str(i), name, value) for i, pair in enumerate(zip(ours, theirs, strict=True))
        for name, value in zip(("mine:Own", "x"), pair, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize("sense", Sense)
def test_exact_values_decide(sense: Sense) -> None:
    """Whatever OPT is: 2 better, 1 worse, 1 equal for the most; the other way round for the least."""
    [found] = wins(values(5, 4, 50, 40, 7, 9, 3, 3), sense)
    better, worse = ("better", "worse") if sense is Sense.MOST else ("worse", "better")
    assert [found[name] for name in (better, worse, "equal", "undecided", "left out")] == list("21100")


def test_runs_without_a_figure_are_left_out_and_said_to_be() -> None:
    """Invalid and missing ones; a case on which the other was not to run counts nowhere."""
    rows = [*values(5, 4, 6, 4, 1, 2), row("3", "mine:Own", 1), row("3", "x", None), row("4", "mine:Own", 9)]
    rows[2] = replace(rows[2], state="invalid")
    [found] = wins(rows, Sense.MOST)
    assert [found[name] for name in ("cases", "better", "worse", "left out")] == list("2112")


def test_means_of_runs_are_decided_by_their_intervals() -> None:
    rows = values(50, 40, 50, 45, 50, 50, 50, 40)
    ends: list[tuple[float | None, float | None]] = [(45.0, 55.0), (40.0, 60.0), (50.0, 50.0), (None, None)]
    rows[::2] = [
        replace(each, repetitions=3, welfare_low=low, welfare_high=high)
        for each, (low, high) in zip(rows[::2], ends, strict=True)
    ]
    [found] = wins(rows, Sense.MOST)
    assert [found[name] for name in ("better", "worse", "equal", "undecided")] == list("1012")


def test_the_strongest_others_come_first() -> None:
    """Of one's own algorithm against all others; empty where none is one's own."""
    rows = [row(case, name, value) for case in "ab" for name, value in zip("uvwx", (60, 10, 70, 80), strict=True)]
    assert not wins(rows, Sense.MOST)
    rows += [row("a", "mine:Own", 65), row("b", "mine:Own", 71)]
    lines = wins(rows, Sense.MOST)
    assert [(line["algorithm"], line["Against"], line["better"]) for line in lines] == [
        ("mine:Own", "x", "0"), ("mine:Own", "w", "1"), ("mine:Own", "u", "2"), ("mine:Own", "v", "2"),
    ]  # fmt: skip
