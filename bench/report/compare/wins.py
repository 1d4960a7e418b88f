"""How often one's own algorithm beats each other one, case by case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import COUNTEREXAMPLES
from ratiobench.bench.results.read import is_known
from ratiobench.bench.results.remarks import is_user_algorithm, name_of_runs
from ratiobench.bench.results.row import Row


@dataclass(frozen=True, slots=True)
class Wins:
    """One's own algorithm against another one, over the cases on which both have a valid run."""

    own: str  # own, other: names with options
    other: str
    # better, worse, equal: cases, by the exact values of both runs on the same instance; OPT does not enter.
    better: int
    worse: int
    equal: int
    undecided: int  # cases with a mean of runs that draw, where the 95 % intervals of what is expected overlap
    left_out: int  # cases on which both were to run and at least one has no valid run
    other_name: str  # what tables call the other one

    @property
    def cases(self) -> int:
        """Those that count."""
        return self.better + self.worse + self.equal + self.undecided

    def row(self) -> dict[str, str | int]:
        """A row of a table."""
        counts = {name: getattr(self, name) for name in ("cases", "better", "worse", "equal", "undecided")}
        return {"algorithm": self.own, "Against": self.other_name, **counts, "left out": self.left_out}

    def describe(self) -> str:
        """``in 24 of 32 cases, worse in 6, equal in 2``; without the others where all are better."""
        cases = f"case{'s' * (self.cases != 1)}"
        text = f"the {self.cases} {cases} that both have" if self.left_out else f"{self.cases} {cases}"
        counts = ((self.worse, "worse in"), (self.equal, "equal in"), (self.undecided, "undecided in"))
        return ", ".join([f"in {self.better} of {text}", *(f"{words} {count}" for count, words in counts if count)])


def count_wins(rows: Iterable[Row], sense: Sense) -> list[Wins]:
    """Every algorithm of one's own against all others, the strongest of these first; empty where none is one's own.

    Counterexamples do not count: each was searched for against one algorithm.
    """
    runs: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.group == COUNTEREXAMPLES:
            continue
        runs.setdefault(str(row.algorithm), {})[str(row.case)] = row
    found = []
    for own in filter(is_user_algorithm, runs):
        mine = [_count(own, other, runs, sense) for other in runs if other != own]
        found += sorted((each for each in mine if each.cases), key=lambda each: each.better - each.worse)
    return found


def _count(own: str, other: str, runs: Mapping[str, Mapping[str, Row]], sense: Sense) -> Wins:
    pairs = [(row, runs[other][case]) for case, row in runs[own].items() if case in runs[other]]
    valid = [pair for pair in pairs if all(row.state == "ok" and is_known(row.welfare) for row in pair)]
    signs = [_compare(*pair, sense) for pair in valid]
    better, worse, equal, undecided = (signs.count(sign) for sign in (1, -1, 0, None))
    name = name_of_runs(other, [row.remarks for row in runs[other].values()])
    return Wins(own, other, better, worse, equal, undecided, len(pairs) - len(valid), name)


def _compare(mine: Row, other: Row, sense: Sense) -> int | None:
    """1, -1 or 0: better, worse or equal; None where intervals leave it open."""
    one, two = _ends(mine), _ends(other)
    if one is None or two is None:
        return None
    if one == two and one[0] == one[1]:
        return 0
    above = 1 if one[0] > two[1] else -1 if one[1] < two[0] else None
    return above if above is None or sense is Sense.MOST else -above


def _ends(row: Row) -> Sequence[Fraction] | None:
    """Within what the value of a run lies: exact; of a mean of runs the 95 % interval, None where there is none."""
    if not row.is_mean:
        return [Fraction(row.welfare)] * 2
    low, high = row.welfare_low, row.welfare_high
    return None if low is None or high is None else [Fraction(low), Fraction(high)]
