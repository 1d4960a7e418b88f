"""Algorithms against each other over all cases of a page: two of them case by case, and the performance profile of all.

Both senses of an objective read alike: a share is the part of the proved bound that was certainly reached, a factor is
how many times a run is behind the best run of its case, never below 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from ratiobench.bench.draw.scales import Axis
from ratiobench.bench.draw.svg import ALONE, LINE, WIDTH, Frame, style_series
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import COUNTEREXAMPLES
from ratiobench.bench.report.shared.cells import Table, count_cell, make_cell
from ratiobench.bench.results.ratios import Kind, format_decimal, is_better
from ratiobench.bench.results.read import Results, is_known
from ratiobench.bench.results.remarks import is_user_algorithm, name_of_runs
from ratiobench.bench.results.row import Row
from ratiobench.online.remarks import Remarks

# Kinds of ratios without an upper end, in words: such a run stands at the edge
ENDLESS = {Kind.UNBOUNDED: "unbounded", Kind.OPEN: "perhaps unbounded"}
# The factors of the profile's table
FACTORS = tuple(map(Fraction, ("1", "1.05", "1.1", "1.25", "1.5", "2", "5", "10")))
COLOURED = 5  # Lines of the profile that have a colour; more cannot be told apart
WIDEST = 1000  # The largest factor that the profile is drawn to


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one algorithm did on one case."""

    state: str  # of the row: ok, invalid, failed or missing
    value: Fraction | None  # of the solution; None unless the run is valid
    part: Fraction | None  # of the proved bound, as certainly reached; None where there is none
    endless: str  # what is said of a ratio without an upper end; empty for any other


@dataclass(frozen=True)
class Comparison:
    """The runs of several algorithms on several cases."""

    cases: Sequence[str]  # cases, algorithms: in the order of the suite
    algorithms: Sequence[str]
    outcomes: Mapping[tuple[str, str], Outcome]  # by case and algorithm, of those that were to run
    sense: Sense  # whether the most or the least is best
    names: Mapping[str, str] = field(default_factory=dict)  # what tables call the algorithms
    counterexamples: int = 0  # cases that are not among them: each was searched for against one algorithm

    @cached_property
    def best(self) -> Mapping[str, Fraction]:
        """The best value of each case with a valid run."""
        found: dict[str, Fraction] = {}
        for (case, _), outcome in self.outcomes.items():
            value = outcome.value
            if value is not None and (case not in found or is_better(value, found[case], self.sense)):
                found[case] = value
        return found

    @cached_property
    def pair(self) -> tuple[str, str]:
        """Of those with most cases the two with the best means; one's own and the best other one."""

        def standing(algorithm: str) -> tuple[int, Fraction]:
            parts = [self.outcomes[case, algorithm] for case in self.cases if (case, algorithm) in self.outcomes]
            known = [each.part for each in parts if each.part is not None]
            return len(parts), sum(known, Fraction(0)) / len(known) if known else Fraction(-1)

        ranked = sorted(self.algorithms, key=standing, reverse=True)
        own = [name for name in ranked if is_user_algorithm(name)]
        if not own:
            return ranked[0], ranked[1]
        return own[0], next((name for name in ranked if not is_user_algorithm(name)), ranked[1])

    def factor(self, case: str, algorithm: str) -> Fraction | None:
        """How many times the run is behind the best one of its case, exactly; None where no factor reaches it.

        A quotient says nothing of values that are not positive: such a run is within a factor only if it is the best.
        """
        value = self.outcomes[case, algorithm].value
        if value is None:
            return None
        best = self.best[case]
        if value == best:
            return Fraction(1)
        if value <= 0 or best <= 0:
            return None
        return best / value if self.sense is Sense.MOST else value / best


def compare_runs(found: Results) -> Comparison | None:
    """The comparison of all algorithms of a page, without counterexamples; None where there is nothing to compare."""
    rows = [row for row in found.first_records if row.group != COUNTEREXAMPLES]
    cases = list(dict.fromkeys(str(row.case) for row in rows))
    algorithms = list(dict.fromkeys(str(row.algorithm) for row in rows))
    outcomes = {(str(row.case), str(row.algorithm)): _outcome(row) for row in rows}
    if len(cases) < 2 or len(algorithms) < 2 or all(each.value is None for each in outcomes.values()):
        return None
    remarks: dict[str, list[Remarks]] = {}
    for row in rows:
        remarks.setdefault(str(row.algorithm), []).append(row.remarks)
    names = {name: name_of_runs(name, mine) for name, mine in remarks.items()}
    counterexamples = {str(row.case) for row in found.first_records if row.group == COUNTEREXAMPLES}
    return Comparison(cases, algorithms, outcomes, found.sense, names, len(counterexamples))


def _outcome(row: Row) -> Outcome:
    state = str(row.state)
    is_valid = state == "ok" and is_known(row.welfare)
    part = Fraction(row.reached) if is_valid and is_known(row.reached) else None
    value = Fraction(row.welfare) if is_valid else None
    return Outcome(state, value, part, describe_endless(row.ratio_kind, part) if is_valid else "")


def describe_endless(kind: Any, part: Fraction | None) -> str:
    """What is said of a ratio without an upper end, which a loss is where OPT may be above 0; empty for any other."""
    is_loss = part is not None and part < 0
    return ENDLESS.get(kind, ENDLESS[Kind.OPEN] if is_loss else "")


# Two algorithms, case by case.


@dataclass(frozen=True, slots=True)
class Plane:
    """Where the dots of two algorithms stand: parts from `low` to 1, and a place for what is unbounded.

    It is the same for every two algorithms of a page, so that a script can move the dots.
    """

    low: Fraction
    edge: float | None

    def place(self, outcome: Outcome) -> float | None:
        """The coordinate of an outcome; None where it has none."""
        if outcome.endless and self.edge is not None:
            return self.edge
        return None if outcome.part is None else float(outcome.part)


def find_plane(comparison: Comparison) -> Plane:
    """From the smallest part that anybody reaches, in tenths; with an edge if some ratio is unbounded."""
    every = comparison.outcomes.values()
    parts = [each.part for each in every if each.part is not None and not each.endless]
    low = Fraction(math.floor(10 * min([*parts, Fraction(9, 10)])), 10)
    has_edge = any(each.endless for each in every)
    return Plane(low, round(float(low) - 0.07 * (1 - float(low)), 6) if has_edge else None)


def rank_values(comparison: Comparison, case: str) -> dict[str, int]:
    """The places of the case's valid runs by their exact values: 0 is best, equal values have equal places."""
    outcomes = ((name, comparison.outcomes.get((case, name))) for name in comparison.algorithms)
    values = {name: each.value for name, each in outcomes if each is not None and each.value is not None}
    ordered = sorted(set(values.values()), reverse=comparison.sense is Sense.MOST)
    return {name: ordered.index(value) for name, value in values.items()}


def list_parts(comparison: Comparison) -> dict[str, Any]:
    """What a script needs to compare any two, per algorithm and case.

    ``parts``: the percentage that was reached, or in words why there is none; ``ranks``: the place by value;
    ``endless``: the words for what stands at the ``edge``.
    """
    ranks = [rank_values(comparison, case) for case in comparison.cases]
    outcomes = [[comparison.outcomes.get((case, name)) for case in comparison.cases] for name in comparison.algorithms]
    return {
        "cases": list(comparison.cases),
        "algorithms": list(comparison.algorithms),
        "edge": find_plane(comparison).edge,
        "endless": list(ENDLESS.values()),
        "parts": [[_part(each) for each in row] for row in outcomes],
        "ranks": [[each.get(name) for each in ranks] for name in comparison.algorithms],
    }


def _part(outcome: Outcome | None) -> float | str:
    text = describe_outcome(outcome)
    return float(text.removesuffix(" %")) if text.endswith(" %") else text


def describe_outcome(outcome: Outcome | None) -> str:
    """The part that a run reached, rounded down, or why there is none."""
    if outcome is None:
        return "not run here"
    if outcome.state != "ok":
        return outcome.state
    if outcome.endless:
        return outcome.endless
    return "no figure" if outcome.part is None else f"{format_decimal(100 * outcome.part, 4, up=False)} %"


def describe_pair(comparison: Comparison, a: str, b: str) -> str:
    """On how many cases which of two is better, exactly, and what the figure leaves out."""
    plane = find_plane(comparison)
    wins = {"a": 0, "b": 0, "equal": 0}
    edge = missing = 0
    for case in comparison.cases:
        pair = [comparison.outcomes.get((case, name)) for name in (a, b)]
        if any(each is None or plane.place(each) is None for each in pair):
            missing += 1
            continue
        ranks = rank_values(comparison, case)
        wins["a" if ranks[a] < ranks[b] else "b" if ranks[b] < ranks[a] else "equal"] += 1
        edge += any(each is not None and each.endless != "" for each in pair)
    total = len(comparison.cases) - missing
    text = f"{total} of {len(comparison.cases)} cases: A better on {wins['a']}, B on {wins['b']}, equal {wins['equal']}"
    text += f"; {edge} at an edge (∞), where the ratio of one or both is unbounded, or may be" if edge else ""
    return text + (f"; {missing} left out, without a figure of one or both." if missing else ".")


def draw_scatter(comparison: Comparison, a: str, b: str) -> str:
    """A dot per case: the part of the proved bound that A reaches to the right, B's upwards, and the diagonal."""
    plane = find_plane(comparison)
    low = float(plane.low)
    start = low - (0.12 if plane.edge is not None else 0.03) * (1 - low)
    ticks = [value for value in Axis(low, 1.0).scale(0, 1).ticks(5) if low <= value <= 1]
    labels = [(value, f"{100 * value:.3g} %") for value in ticks]
    labels += [(plane.edge, "∞")] if plane.edge is not None else []
    span = start, 1 + 0.03 * (1 - low)
    across, up = Axis(*span, " ", labels=labels), Axis(*span, labels=labels)
    frame = Frame("Two algorithms, case by case", across, up, width=WIDTH, height=WIDTH, above=24)
    frame.text(frame.x.start, 10, f"B ↑ {b}", css="name name-b")
    frame.text(frame.x.end, frame.bottom + 24, f"A → {a}", "end", "name name-a")
    frame.line("opt dashed", *((frame.x(value), frame.y(value)) for value in (low, 1.0)))
    if plane.edge is not None:
        between = (plane.edge + low) / 2
        frame.line("grid", (frame.x(between), frame.top), (frame.x(between), frame.bottom))
        frame.line("grid", (frame.x.start, frame.y(between)), (frame.x.end, frame.y(between)))
    zero, one = frame.x(0), frame.x(1)
    frame.parts.append(f'<g class="dots" data-x="{zero:.2f} {one:.2f}" data-y="{frame.y(0):.2f} {frame.y(1):.2f}">')
    for case in comparison.cases:
        pair = [comparison.outcomes.get((case, name)) for name in (a, b)]
        x, y = (None if each is None else plane.place(each) for each in pair)
        text = f"{case}: {a} {describe_outcome(pair[0])}, {b} {describe_outcome(pair[1])}"
        if x is None or y is None:
            frame.parts.append('<g class="m" hidden=""><title></title><circle class="dot faint" r="3.5"/></g>')
            continue
        with frame.mark(text):
            frame.dot("dot faint", frame.x(x), frame.y(y), 3.5)
    frame.parts.append("</g>")
    frame.said = [f"A is {a}, B is {b}; {describe_pair(comparison, a, b)} The table of all rows has the figures."]
    return frame.render()


# All algorithms: performance profiles.


@dataclass(frozen=True)
class Profile:
    """How often an algorithm is within a factor of the best run of a case (Dolan and More, 2002)."""

    algorithm: str  # name with options
    factors: Sequence[Fraction]  # of the cases that some factor reaches, exact, in ascending order
    endless: int  # valid runs that no factor reaches, for their value is not positive where another one's is better
    broken: int  # cases whose run is invalid or failed, which no factor reaches either
    waiting: int  # cases that are not run yet; they do not count

    @property
    def cases(self) -> int:
        """Those that count."""
        return len(self.factors) + self.endless + self.broken

    def within(self, factor: Fraction) -> int:
        """The cases within a factor of the best run."""
        return sum(each <= factor for each in self.factors)


def take_profiles(comparison: Comparison) -> list[Profile]:
    """The profile of every algorithm over the cases that it was to run on."""
    found = []
    for name in comparison.algorithms:
        outcomes = {case: comparison.outcomes.get((case, name)) for case in comparison.cases}
        mine = [each for each in outcomes.values() if each is not None]
        ran = [case for case, outcome in outcomes.items() if outcome is not None and outcome.value is not None]
        factors = [comparison.factor(case, name) for case in ran]
        reached = sorted(each for each in factors if each is not None)
        waiting = sum(each.state == "missing" for each in mine)
        broken = len(mine) - len(ran) - waiting
        found.append(Profile(name, reached, len(ran) - len(reached), broken, waiting))
    return found


def draw_profile(profiles: Sequence[Profile]) -> str:
    """The share of cases within a factor of the best run, over the factor: a line of steps per algorithm."""
    shown = [each for each in profiles if each.cases]
    every = [float(factor) for each in shown for factor in each.factors]
    high = min(WIDEST, max([1.1, *every])) * 1.02
    names = [each.algorithm for each in shown]
    axis = Axis(1.0, high, "factor of the best run of the case", log=True, most=5)
    shares = Axis(0.0, 1.02, "share of cases", labels=[(part / 4, f"{25 * part} %") for part in range(5)])
    height, right = max(260.0, 50 + LINE * len(names)), [f"{name}   " for name in names]
    frame = Frame("Performance profile", axis, shares, width=ALONE, height=height, right=right)
    # Lines that end alike are named in the order of how good they are on the way.
    ends = [frame.y(each.within(Fraction(WIDEST)) / each.cases) for each in shown]
    good = [sum(1 / float(factor) for factor in each.factors) / each.cases for each in shown]
    places = frame.place_labels([end - 0.01 * share for end, share in zip(ends, good, strict=True)])
    # Own algorithms and the best have colours; the others are grey.
    ranked = sorted(range(len(shown)), key=lambda k: (not is_user_algorithm(shown[k].algorithm), -good[k]))[:COLOURED]
    colours = {k: number for number, k in enumerate(sorted(ranked, key=lambda k: -good[k]))}
    order = sorted(range(len(shown)), key=lambda k: k in colours)  # what has a colour is drawn above
    for each, place, number in ((shown[k], places[k], colours.get(k)) for k in order):
        style, name = ("series rest", "name rest") if number is None else (style_series(number), f"name s{number + 1}")
        with frame.mark(describe_profile(each), each.algorithm):
            path = _steps(frame, each, high)
            frame.line("hit-line", *path)
            frame.line(style, *path)
            beside = frame.x.end + 5
            frame.line(style, (beside, place), (beside + 16, place))
            frame.text(beside + 20, place, each.algorithm, css=name)
    return frame.render()


def _steps(frame: Frame, profile: Profile, high: float) -> list[tuple[float, float]]:
    """Corners of the steps, from factor 1 to the end of the axis; those less than half a unit apart are one."""
    points = [(frame.x(1), frame.y(profile.within(Fraction(1)) / profile.cases))]
    for number, factor in enumerate(profile.factors, 1):
        x, y = frame.x(float(factor)), frame.y(number / profile.cases)
        if 1 < factor <= high:
            if x < points[-1][0] + 0.5:
                points[-1] = points[-1][0], y
            else:
                points += [(x, points[-1][1]), (x, y)]
    return [*points, (frame.x(high), points[-1][1])]


def describe_profile(profile: Profile) -> str:
    """The profile of one algorithm in words."""
    total = profile.cases
    parts = [f"best on {profile.within(Fraction(1))} of {total} cases"]
    parts += [f"within {float(factor):g} on {profile.within(factor)}" for factor in FACTORS[2:7:2]]
    parts += [f"{profile.endless} unbounded"] if profile.endless else []
    parts += [f"{profile.broken} invalid or failed"] if profile.broken else []
    return f"{profile.algorithm}: {', '.join(parts)}"


def list_profiles(profiles: Sequence[Profile], names: Mapping[str, str]) -> Table:
    """The profiles as a table, which calls the algorithms by `names`: cases within some factors, the largest factor,
    and those that none reaches.
    """
    head = ["algorithm", "cases", "best"]
    head += [f"within {float(factor):g}" for factor in FACTORS[1:]]
    head += ["largest factor", "unbounded", "invalid or failed", "not run yet"]
    body = []
    for each in profiles:
        largest = each.factors[-1] if each.factors else None
        worst = make_cell("-", numeric=True)
        if largest is not None:
            worst = make_cell(format_decimal(largest, up=True), sort=float(largest), title=str(largest), numeric=True)
        counts = [each.cases, *(each.within(factor) for factor in FACTORS)]
        ends = [each.endless, each.broken, each.waiting]
        body.append(
            [
                make_cell(names.get(each.algorithm, each.algorithm)),
                *map(count_cell, counts),
                worst,
                *map(count_cell, ends),
            ]
        )
    return Table("Performance profile", head, body, folded="The figure as a table")
