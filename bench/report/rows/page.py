"""The tables of the page that have a row per run: all rows, case by case, and the verdicts of one check."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import ANOTHER, Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.rows.crosscheck import agreement_text, crosscheck_lines
from ratiobench.bench.report.shared.cells import Cell, Column, Table, exact_cell, make_cell, value_cell
from ratiobench.bench.report.shared.glossary import algorithm_place, group_place
from ratiobench.bench.report.shared.text import (
    admitted_text,
    check_text,
    check_title,
    expected_text,
    format_number,
    ratio_text,
)
from ratiobench.bench.results import ratios
from ratiobench.bench.results.ratios import share_text
from ratiobench.bench.results.read import DECIDING, Results, is_known, online_seconds
from ratiobench.bench.results.remarks import is_user_algorithm, split_overcharge
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.store import StoredCase
from ratiobench.formulations.crosscheck import CrossCheck

# Rows above which the table of all runs is packed: 3,000 rows are four megabytes, a quarter of that when packed
PACKED = 1000
LISTED = 500  # Rows of checks on a page, all checks together; the rest is in results.csv
_ORDER = (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True, slots=True)
class CaseRows:
    """The runs of a case."""

    name: str
    group: str  # group, group_place: its group, and where that is explained
    group_place: str
    size: str  # the figures of its instance, in words
    facts: Sequence[Cell]  # what is the same in all of its rows: a cell per column of `RunTable.facts`
    rows: Sequence[tuple[str, Sequence[Cell]]]  # a row per run: its id, and a cell per column of `RunTable.columns`

    @property
    def data_json(self) -> str:
        """The facts for the script of the page: text, number to sort by and tool tip of each, as JSON."""
        return json.dumps([[each.text, each.sort, each.title] for each in self.facts], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class RunTable:
    """Every run, to be sorted and filtered; row n has the id `row-n`."""

    columns: Sequence[Column]  # the columns of the rows
    shown: int  # how many of them, from the left, are shown before anyone chooses
    facts: Sequence[Column]  # the columns that are the same in all rows of a case: they stand in its heading
    cases: Sequence[CaseRows]  # in the order of the suite

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(len(case.rows) for case in self.cases)

    @property
    def is_packed(self) -> bool:
        """Whether the page carries the rows compressed, for a script to unpack where somebody gets there."""
        return self.count > PACKED

    @property
    def data_json(self) -> str:
        """The columns of facts for the script of the page: name, key, place of the explanation, as JSON."""
        return json.dumps([[each.name, each.key, each.term] for each in self.facts], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class _Field:
    """A column, and its cell in a row."""

    column: Column
    cell: Callable[[Row], Cell]


def list_rows(found: Results, family: Family, rows: Sequence[Row]) -> RunTable:
    """Every run: what is read first in the columns that are shown, the rest behind them."""
    first = _first_fields(found, family, rows)
    rest = _further_fields(found, family)
    state = _Field(Column("state", True, "state", "term-state"), _state)
    is_sound = all(row.state == "ok" for row in rows)
    fields = [*first, *rest, state] if is_sound else [*first, state, *rest]
    described = {case.name: case for case in found.cases}
    facts = _facts(found, family)
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(str(row.case), []).append(place)
    cases = [
        CaseRows(
            name,
            str(rows[mine[0]].group),
            group_place(str(rows[mine[0]].group)),
            _size(described[name]),
            [cell(rows[mine[0]], described[name]) for _, cell in facts],
            [(f"row-{place}", [field.cell(rows[place]) for field in fields]) for place in mine],
        )
        for name, mine in places.items()
    ]
    shown = len(first) + (not is_sound)
    return RunTable([field.column for field in fields], shown, [column for column, _ in facts], cases)


def _first_fields(found: Results, family: Family, rows: Sequence[Row]) -> list[_Field]:
    """What is read first, less what no family's run here can say."""
    sense, unit = found.sense, "" if family.dollars else f", {family.unit}"
    pace = _decision_seconds(found, family)

    def seconds(row: Row) -> Cell:
        each = pace.get((row.case, row.algorithm))
        return make_cell("-" if each is None else time_text(each), sort=each, numeric=True)

    fields = [
        _Field(Column("case", key="case"), lambda row: make_cell(row.case)),
        _Field(Column("algorithm", True, "algorithm", "glossary-algorithms"), _algorithm),
        _Field(Column(sense.ratio, key="ratio", term="term-ratio"), lambda row: _ratio(row, found)),
        _Field(Column("share of OPT", key="share", term="term-share"), lambda row: _share(row, found)),
        _Field(
            Column(f"{family.objective}{unit}", key="value", term="term-value"),
            lambda row: value_cell(row.welfare, family),
        ),
        _Field(Column("admitted", key="admitted", term="term-admitted"), _admitted),
    ]
    if found.accounts or any(is_known(row.revenue) for row in rows):
        fields.append(
            _Field(Column(f"revenue{unit}", key="revenue", term="term-revenue"), lambda row: _revenue(row, family))
        )
    if found.accounts:
        fields += [
            _Field(Column(f"cost{unit}", key="cost", term="term-cost"), lambda row: value_cell(_cost(row), family)),
            _Field(Column(f"profit{unit}", key="profit", term="term-profit"), lambda row: _profit(row, family)),
        ]
    if pace:
        fields.append(_Field(Column("seconds per decision", key="pace", term="term-pace"), seconds))
    return fields


def _further_fields(found: Results, family: Family) -> list[_Field]:
    spent = online_seconds(found)

    def seconds(row: Row) -> Cell:
        each = spent.get((row.case, row.algorithm))
        return make_cell("-" if each is None else f"{each:.3f}", sort=each, numeric=True)

    def measure(name: str) -> Callable[[Row], Cell]:
        return lambda row: exact_cell(row.measures.get(name))

    def bound(row: Row) -> Cell:
        return exact_cell(row.checks[check].right if check in row.checks else None)

    def money(name: str) -> Callable[[Row], Cell]:
        return lambda row: value_cell(getattr(row, name), family)

    fields = [_Field(Column(name, key=name), money(name)) for name in found.accounts if name != "profit"]
    if len(found.repetitions):
        expected = Column("E[ALG], 95 % interval", key="expected")
        fields.append(_Field(expected, lambda row: make_cell(expected_text(row), numeric=True)))
    fields += [_Field(Column(check_title(name), key=f"m-{name}"), measure(name)) for name in found.measures]
    fields += [
        _Field(
            Column("constants", False, "constants", "term-constants"),
            lambda row: make_cell(_constants(row), title=_constants_title(row)),
        ),
        _Field(
            Column("arithmetic", key="arithmetic"),
            lambda row: make_cell(row.arithmetic if is_known(row.arithmetic) else "-"),
        ),
    ]
    check = family.headline if family.headline in found.checks else ""
    if check:
        fields += [
            _Field(Column(check_title(check), True, check, f"check-{check}"), lambda row: _verdict(row, check)),
            _Field(Column("bound", key="bound"), bound),
        ]
    return [*fields, _Field(Column("seconds of the run", key="seconds"), seconds)]


def _facts(found: Results, family: Family) -> list[tuple[Column, Callable[[Row, StoredCase], Cell]]]:
    """What is the same in all rows of a case: OPT with its proof, the size of the instance."""

    def described(name: str) -> Callable[[Row, StoredCase], Cell]:
        return lambda row, case: exact_cell(_figure(case.describe.get(name)))

    def gap(row: Row, case: StoredCase) -> Cell:
        if row.opt_gap is None:
            return make_cell("-", numeric=True)
        width = "Infinity" if row.opt_gap == float("inf") else row.opt_gap
        return make_cell(ratios.percent(row.opt_gap), sort=width, numeric=True)

    unit = "" if family.dollars else f", {family.unit}"
    names = dict.fromkeys(
        name for case in found.cases for name, value in case.describe.items() if _figure(value) is not None
    )
    return [
        (Column("group", True, "group", "glossary-groups"), lambda row, case: make_cell(row.group)),
        (
            Column(f"OPT at least{unit}", key="lower", term="term-opt"),
            lambda row, _: value_cell(row.opt_lower, family, up=False),
        ),
        (
            Column(f"OPT at most{unit}", key="upper", term="term-opt"),
            lambda row, _: value_cell(row.opt_upper, family, up=True),
        ),
        (Column("gap", key="gap", term="term-gap"), gap),
        (
            Column("proof", False, "proof", "term-proof"),
            lambda row, _: make_cell(row.opt_proof if is_known(row.opt_proof) else "-"),
        ),
        *((Column(name, key=f"d-{name}"), described(name)) for name in names),
    ]


def _size(case: StoredCase) -> str:
    return ", ".join(f"{key} {value}" for key, value in case.describe.items() if _figure(value) is not None)


def _figure(value: Any) -> Any:
    """A figure of a description: an integer, or a float as the decimal that it is written as."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        return None
    return value if isinstance(value, int) else Fraction(str(value))


def _algorithm(row: Row) -> Cell:
    name = str(row.algorithm)
    label, loud = split_overcharge(row.remarks)
    label += " *" * row.is_oracle
    return Cell(
        label,
        "own" if is_user_algorithm(name) else "",
        choice=name,
        href=f"#{algorithm_place(name)}",
        small="yours" if is_user_algorithm(name) else "",
        loud=loud,
    )


def _named(algorithm: str) -> Cell:
    return Cell(algorithm, "own" if is_user_algorithm(algorithm) else "", href=f"#{algorithm_place(algorithm)}")


def _ratio(row: Row, found: Results) -> Cell:
    if row.state != "ok":
        return Cell(str(row.state), f"n {row.state}", "")
    return make_cell(ratio_text(row, found.sense), sort=_ratio_order(row), numeric=True)


def _ratio_order(row: Row) -> Any:
    """What the ratio is sorted by, as JavaScript reads numbers: without an upper end it is more than any number."""
    return "Infinity" if row.ratio_kind in (ratios.Kind.UNBOUNDED, ratios.Kind.OPEN) else row.ratio_upper_float


def _share(row: Row, found: Results) -> Cell:
    """The part of OPT that was reached, in percent, rounded outward; exactly in results.csv."""
    part = None
    if row.state == "ok" and is_known(row.opt_lower):
        part = ratios.share(row.opt_lower, row.opt_upper, row.welfare, found.sense)
    if part is None:
        return make_cell("-", numeric=True)
    low, high = part
    return make_cell(share_text(low, high), sort=float(low), numeric=True)


def _admitted(row: Row) -> Cell:
    value = row.admitted
    sort = float(value) if isinstance(value, Fraction) else value
    return make_cell(admitted_text(value), sort=sort, numeric=True)


def _cost(row: Row) -> Any:
    return row.vendors + row.energy if is_known(row.vendors) else None


def _revenue(row: Row, family: Family) -> Cell:
    """What is paid; that nobody is charged is not that nothing is known."""
    if not is_known(row.revenue) and is_known(row.admitted) and row.admitted:
        return make_cell("not charged", numeric=True)
    return value_cell(row.revenue, family)


def _profit(row: Row, family: Family) -> Cell:
    """Where nobody pays, what list prices would bring, and that is said."""
    is_listed = not is_known(row.revenue) and row.admitted
    return value_cell(row.profit, family, small="list prices" if is_listed else "")


def _verdict(row: Row, check: str) -> Cell:
    """The verdict, to choose rows by, with the bound and the assumptions of the proof where the check has them."""
    verdict = row.verdict(check)
    if verdict is None:
        return make_cell("-")
    return Cell(check_text(row, check), verdict.replace(" ", "-"), choice=verdict)


def _slack(row: Row, check: str) -> Cell:
    """The right side over the left one where the claim holds: how many times as large as it need be the bound is."""
    found = row.checks.get(check)
    if found is None or found.verdict != Verdict.HOLDS:
        return make_cell("-", numeric=True)
    left, right = found.left, found.right
    if left is None or right is None or Fraction(left) <= 0:
        return make_cell("-", numeric=True)
    return exact_cell(Fraction(right) / Fraction(left))


def _failing(row: Row, check: str) -> Cell:
    """The assumptions of the proof that fail on the run; `none` where they hold."""
    found = row.failing(check)
    return make_cell("-" if found is None else ", ".join(found) or "none", css="wrap")


def _state(row: Row) -> Cell:
    """The state to choose rows by, the reason to read."""
    if row.state == "ok":
        return Cell(f"ok; {row.reason}", "wrap", choice="ok") if row.reason else make_cell("ok", css="ok")
    return Cell(f"{row.state}: {row.reason}", f"{row.state} wrap", choice=row.state)


def _decision_seconds(found: Results, family: Family) -> dict[tuple[str, str], float]:
    """Seconds of all decisions of a run over the number of arrivals, by (case, algorithm)."""
    sizes = {case.name: case.describe.get(family.size[0]) for case in found.cases} if family.size else {}
    arrivals = {name: count for name, count in sizes.items() if isinstance(count, int) and count > 0}
    return {
        (case, algorithm): seconds / arrivals[case]
        for (case, algorithm), seconds in online_seconds(found, DECIDING).items()
        if case in arrivals
    }


def time_text(seconds: float) -> str:
    """``1.3 s``, ``5.21 ms``, ``12.4 µs``: three digits."""
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * scale >= 1 or unit == "µs":
            break
    return f"{seconds * scale:.3g} {unit}"


def _constants(row: Row) -> str:
    source = row.constants_source or "-"
    return f"{source} *" if row.is_oracle else source


def _constants_title(row: Row) -> str:
    """What the constants are, rounded; exactly in results.csv."""
    if row.constants is None:
        return ""
    return ", ".join(f"{each['name']} = {_rounded(each['value'])}" for each in json.loads(row.constants))


def _rounded(text: str) -> str:
    return format_number(Fraction(text)) if re.fullmatch(r"-?\d{1,4000}(/\d{1,4000})?", text) else text


@dataclass(frozen=True, slots=True)
class CheckRows:
    """The verdicts of one check with the exact figures behind them."""

    name: str
    table: Table  # a row per run, what was violated on top; without the runs of algorithms that the claim is not about
    summary: str  # how many runs gave each verdict
    left_out: int  # how many runs the table leaves out for want of space
    others: int  # how many runs it leaves out since the claim is about another algorithm
    is_open: bool  # whether the table is shown from the start

    @property
    def applies(self) -> bool:
        """Whether there is any run to which it applies."""
        return not re.fullmatch(rf"\d+ {Verdict.NOT_APPLICABLE}", self.summary)


def list_checks(found: Results, family: Family, rows: Sequence[Row]) -> list[CheckRows]:
    """A table per check, the headline's first."""
    names = sorted(found.checks, key=lambda check: check != family.headline)
    most = max(20, LISTED // max(1, len(names)))
    is_short = len(rows) <= 100
    return [_check(found, rows, name, most, is_short and name == family.headline) for name in names]


def _check(found: Results, rows: Sequence[Row], check: str, most: int, is_open: bool) -> CheckRows:
    results = {place: row.checks[check] for place, row in enumerate(rows) if check in row.checks}
    known = list(results)
    counts = [(verdict.value, sum(results[place].verdict == verdict for place in known)) for verdict in Verdict]
    places = [
        place
        for place in known
        if rows[place].verdict(check) != Verdict.NOT_APPLICABLE or not results[place].reason.startswith(ANOTHER)
    ]
    places.sort(key=lambda place: _ORDER.index(Verdict(results[place].verdict)))
    shown = places[:most]
    figures = [json.loads(results[place].figures) for place in shown]
    names = list(dict.fromkeys(name for each in figures for name in each))
    asks = check in found.asking
    extra = ["right / left", "assumptions that fail"] if asks else []
    head = ["case", "algorithm", "verdict", "left", "right", *extra, "claim, or why not", *names]
    body = [
        [
            Cell(str(rows[place].case), href=f"#row-{place}"),
            _named(str(rows[place].algorithm)),
            Cell(results[place].verdict, results[place].verdict.replace(" ", "-")),
            exact_cell(results[place].left),
            exact_cell(results[place].right),
            *([_slack(rows[place], check), _failing(rows[place], check)] if asks else ()),
            make_cell(results[place].reason, css="wrap"),
            *(exact_cell(each.get(name)) for name in names),
        ]
        for place, each in zip(shown, figures, strict=True)
    ]
    summary = ", ".join(f"{count} {name}" for name, count in counts if count)
    table = Table(check_title(check), head, body)
    return CheckRows(check, table, summary, len(places) - len(shown), len(known) - len(places), is_open)


def make_solvers_table(solvers: Mapping[str, CrossCheck]) -> Table | None:
    """The answers of the solvers of the program as printed, case by case, for the page; None where none were asked."""
    lines = [(case, line) for case, found in solvers.items() for line in crosscheck_lines(found)]
    if not lines:
        return None
    head = ["case", *lines[0][1]]
    rows = [[Cell(case), *(Cell(text) for text in line.values())] for case, line in lines]
    return Table("P as printed, by each solver", [Column(name) for name in head], rows, folded=agreement_text(solvers))
