"""The rows of a result store as tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot, Study
from ratiobench.bench.results import intervals, ratios
from ratiobench.bench.results.remarks import remarks_of_runs
from ratiobench.bench.results.row import ACCOUNTS, COLUMNS, KINDS, REPEATED, Row
from ratiobench.bench.storage.payload import Audit, Check, Failed, Online, Opt, Piece, Solvers, read_piece
from ratiobench.bench.storage.payload import Study as StudyPiece
from ratiobench.bench.storage.store import EMPTY, STORE, Store, StoredCase
from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow, compare_answers
from ratiobench.instances.io.documents import convert
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.remarks import Remarks

DECIDING = "deciding"  # The part of an online run that its decisions take
# Columns of the table of the runs behind means
RUN = ("case", "algorithm", "repetition", "state", "reason", "welfare", "true_welfare", "revenue", "admitted")


@dataclass(frozen=True, slots=True)
class StudyTable:
    case: str
    group: str
    study: Study  # kind, algorithm and task
    rows: Sequence[Mapping[str, str]]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    about: Mapping[str, Any]  # suite, options and provenance
    cases: Sequence[StoredCase]  # in the order of the suite
    # results.csv: a row per case and algorithm, figures as integers, fractions and, of checks, their text; columns
    # `COLUMNS`, measures, checks, `ACCOUNTS`, and `REPEATED` if there are means of runs. The same on every run.
    exact: pd.DataFrame
    seconds: pd.DataFrame  # a row per piece of work: case, algorithm, stage, seconds
    checks: Sequence[str]  # names of the checks, in the order of the audits
    measures: Sequence[str] = ()  # names of the family's measures
    accounts: Sequence[str] = ()  # the columns `ACCOUNTS`, or none where the family gives no accounts
    records: Sequence[Row] = ()  # the rows of `exact` for programs, with the facts behind them
    studies: Sequence[StudyTable] = ()  # the tables made beside the runs, in the order of the suite
    repetitions: pd.DataFrame = field(default_factory=pd.DataFrame)  # columns `RUN`: runs behind means
    solvers: Mapping[str, CrossCheck] = field(default_factory=dict)  # answers for the printed program, by case

    @property
    def sense(self) -> Sense:
        return Sense(self.about.get("sense", Sense.MOST))

    @property
    def first_records(self) -> list[Row]:
        first: dict[tuple[str, str], Row] = {}
        for row in self.records:
            first.setdefault((row.case, row.algorithm), row)
        return list(first.values())

    @property
    def is_part(self) -> bool:
        """Whether some cases or algorithms of the suite were left out (`--only`, `--rows`)."""
        return bool(self.about.get("only") or self.about.get("rows"))

    @property
    def plots(self) -> list[Plot]:
        """The figures that the suite asks for; of a part of it, without the groups that have no case."""
        plots = msgspec.convert(self.about.get("plots", ()), list[Plot])
        if not self.is_part:
            return plots
        present = {case.group for case in self.cases}
        return [replace(plot, groups=tuple(group for group in plot.groups if group in present)) for plot in plots]


class _About(msgspec.Struct):
    family: str = ""
    sense: Sense = Sense.MOST
    plots: tuple[Plot, ...] = ()


def read_results(store: Store, only: str = "") -> Results:
    """The results of all cases, or of one."""
    about, cases = store.about(), [case for case in store.cases() if only in ("", case.name)]
    run = convert(about, _About, str(store.path), "about")
    family = families().get(run.family)
    reader = _Reader(store, run.sense, family is not None and family.whole_values)
    studies: list[StudyTable] = []
    solvers: dict[str, CrossCheck] = {}
    rows: list[Row] = []
    for case in cases:
        rows.extend(reader.case_rows(case))
        studies.extend(reader.case_studies(case))
        solvers |= reader.case_solvers(case)
    checks, measures = tuple(reader.checks), tuple(reader.measures)
    accounts = ACCOUNTS if family is not None and family.accounts is not None else ()
    columns = [*COLUMNS, *measures]
    for name in checks:
        columns += [f"{name}{part}" for part in ("", "_left", "_right", "_reason", "_figures")]
        columns += [f"{name}_failing"] if any(row.failing(name) is not None for row in rows) else []
    columns += [*accounts, *(REPEATED if reader.runs else ())]
    lines = [[cells.get(name) for name in columns] for cells in map(Row.cells, rows)]
    exact = pd.DataFrame(lines, columns=columns, dtype=object)
    seconds = pd.DataFrame(reader.seconds, columns=["case", "algorithm", "stage", "seconds"])
    repetitions = pd.DataFrame(reader.runs, columns=RUN, dtype=object)
    return Results(about, cases, exact, seconds, checks, measures, accounts, rows, studies, repetitions, solvers)


def read_folder(folder: Path) -> Results:
    with Store.open(folder / STORE, create=False) as store:
        results = read_results(store)
    if not results.about:
        raise InputError(str(folder / STORE), "", EMPTY)
    return results


@dataclass(slots=True)
class _Reader:
    """Reads the pieces of cases; notes seconds, names of checks and measures, and repeated runs on the way."""

    store: Store
    sense: Sense
    whole: bool  # whether values of solutions are integers
    seconds: list[tuple[str, str, str, float]] = field(default_factory=list)  # case, algorithm, stage, seconds
    checks: dict[str, None] = field(default_factory=dict)
    measures: dict[str, None] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)

    def _get(self, case: StoredCase, stage: str, key: str, algorithm: str = "") -> Piece | None:
        """The content of a piece, None if it is not there; its seconds are noted."""
        piece = self.store.get(stage, "" if stage == "generate" else case.instance, key)
        if piece is None:
            return None
        content = read_piece(piece, self.store.path, case, whole=self.whole)
        if not isinstance(content, Online) or content.seconds is not None:
            self.seconds.append((case.name, algorithm, stage, piece.seconds))
        return content

    def case_solvers(self, case: StoredCase) -> dict[str, CrossCheck]:
        piece = self._get(case, "solvers", case.solvers_key) if case.solvers_key else None
        if not isinstance(piece, Solvers) or not piece.answers:
            return {}
        answers = [CrossCheckRow.from_document(msgspec.to_builtins(answer)) for answer in piece.answers]
        stored = self.store.get("opt", case.instance, case.solve_key)
        opt = None if stored is None else read_piece(stored, self.store.path, case, whole=self.whole)
        ends = [int(opt.lower), int(opt.upper)] if isinstance(opt, Opt) else []
        return {case.name: compare_answers(answers, *ends)}

    def case_studies(self, case: StoredCase) -> Iterator[StudyTable]:
        for kind, algorithm, task, key in case.studies:
            piece = self._get(case, "study", key, algorithm)
            rows = piece.rows if isinstance(piece, StudyPiece) else ()
            reason = piece.reason if isinstance(piece, Failed) else "" if piece else "not made yet"
            yield StudyTable(case.name, case.group, Study(kind, algorithm, task), rows, reason)

    def case_rows(self, case: StoredCase) -> Iterator[Row]:
        made, opt = self._get(case, "generate", case.name), self._get(case, "opt", case.solve_key)
        online = {key: self._get(case, "online", key, name) for name, _, key in case.runs()}
        every = [(name, run) for name, _, key in case.runs() if isinstance(run := online[key], Online)]
        head = {"case": case.name, "group": case.group, "instance": case.instance, **self._reference(case, opt, every)}
        for name, runs in groupby(case.runs(), itemgetter(0)):
            several = []
            for _, _, key in runs:
                cells = head | {"algorithm": name, "label": name, "algorithm_key": key, "remarks": Remarks(name)}
                run = online[key]
                if isinstance(run, Online):
                    cells |= _run_columns(run, head["opt_lower"], head["opt_upper"], self.sense)
                    if run.seconds is not None:
                        self.seconds.append((case.name, name, DECIDING, run.seconds))
                elif isinstance(run, Failed):
                    cells |= {"state": "failed", "reason": run.reason}
                elif isinstance(made, Failed):
                    cells |= {"state": "failed", "reason": f"no instance: {made.reason}"}
                else:
                    cells |= {"state": "missing", "reason": "not run yet"}
                cells |= self._audit(case, name, key, run, cells["reason"])
                several.append(Row(**cells))
            if len(several) > 1:
                self.runs += [row.cells() | {"repetition": number} for number, row in enumerate(several, 1)]
                several = [mean_row(several, self.sense)]
            yield several[0]

    def _reference(self, case: StoredCase, opt: Piece | None, runs: Iterable[tuple[str, Online]]) -> dict[str, Any]:
        """The interval on OPT, whose verified end the best valid run may move."""
        if not isinstance(opt, Opt):
            reason = opt.reason if isinstance(opt, Failed) else "not solved yet"
            return {"opt_status": "failed", "opt_lower": None, "opt_upper": None, "opt_lower_source": reason}
        ends, source = {"lower": opt.lower, "upper": opt.upper}, "solve"
        for name, run in runs:
            if run.valid and ratios.beats_bound(opt.lower, opt.upper, run.welfare, self.sense):
                where = f"case {shorten(case.name)}, online of {shorten(name)}, welfare"
                beyond = "above" if self.sense is Sense.MOST else "below"
                bound = shorten(getattr(opt, self.sense.bound))
                problem = f"{shorten(run.welfare)} is {beyond} the bound {bound} on OPT"
                raise InputError(str(self.store.path), where, problem)
            if run.valid and ratios.is_better(run.welfare, ends[self.sense.verified], self.sense):
                ends[self.sense.verified], source = run.welfare, name
        lower, upper = ends["lower"], ends["upper"]
        return {
            "opt_status": "optimal" if lower == upper else "interval",
            "opt_lower": lower,
            "opt_lower_source": source,
            "opt_upper": upper,
            "opt_solver": (opt.solver or {}).get("solver", ""),
            "opt_gap": ratios.gap(lower, upper),
            **{f"opt_{name}": getattr(opt, name) for name in ("proof", "formulation", "backend", "time_limited")},
        }

    def _audit(self, case: StoredCase, name: str, key: str, run: Piece | None, reason: str | None) -> dict[str, Any]:
        audit = self._get(case, "audit", case.audit_key(key), name)
        if isinstance(audit, Failed) and isinstance(run, Online):
            return {"reason": "; ".join(filter(None, [reason, f"audit: {audit.reason}"]))}
        if not isinstance(audit, Audit):
            return {}
        measures = {name: None if value is None else Fraction(value) for name, value in audit.measures.items()}
        checks = {check.name: check for check in audit.checks}
        self.measures |= dict.fromkeys(measures)
        self.checks |= dict.fromkeys(checks)
        return {"measures": measures, "checks": checks}


def _run_columns(run: Online, lower: Fraction | None, upper: Fraction | None, sense: Sense) -> dict[str, Any]:
    names = ("remarks", "welfare", "true_welfare", "revenue", "admitted", "arithmetic")
    row = {name: getattr(run, name) for name in names} | {
        "label": run.remarks.label,
        "state": "ok" if run.valid else "invalid",
        "reason": "; ".join(run.violations[:3]),
        "constants": json.dumps(msgspec.to_builtins(run.constants)),
        "constants_source": "+".join(sorted({constant.source for constant in run.constants})) or "none",
        "counts": json.dumps(run.counts),
    }
    if run.accounts is not None:
        row |= msgspec.structs.asdict(run.accounts)
        earned = row["bids"] if run.revenue is None else run.revenue
        row["profit"] = earned - row["vendors"] - row["energy"]
    if not run.valid or lower is None or upper is None:
        return row
    return row | ratios.columns(lower, upper, run.welfare, sense)


def stages(seconds: pd.DataFrame) -> pd.DataFrame:
    """Seconds of work per stage, the online runs per algorithm: stage, pieces, seconds."""
    seconds = seconds[seconds["stage"] != DECIDING]  # a part of `online`
    order = {stage: rank for rank, stage in enumerate(("generate", "opt", "solvers", "online", "audit", "study"))}
    names = seconds["stage"].where(seconds["stage"] != "online", "online " + seconds["algorithm"])
    groups = seconds.assign(rank=seconds["stage"].map(order), stage=names).groupby(["rank", "stage"], sort=False)
    table = groups["seconds"].agg(pieces="size", seconds="sum").reset_index().sort_values("rank", kind="stable")
    return table[["stage", "pieces", "seconds"]]


def online_seconds(results: Results, stage: str = "online") -> dict[tuple[str, str], float]:
    """Seconds of every online run, or of its decisions alone, by (case, algorithm); of several runs their mean."""
    chosen = results.seconds[results.seconds["stage"] == stage]
    return chosen.groupby(["case", "algorithm"], sort=False)["seconds"].mean().to_dict()  # type: ignore[return-value]


def mean_row(rows: Sequence[Row], sense: Sense) -> Row:
    """One row for the runs of an algorithm on a case: means; or, if a run is not `ok`, the first of these."""
    count = len(rows)
    reasons = [f"repetition {number} of {count}: {row.reason}" for number, row in enumerate(rows, 1)]
    for row, reason in zip(rows, reasons, strict=True):
        if row.state != "ok":
            return replace(row, reason=reason)
    first = rows[0]
    remarks = replace(first.remarks, repetitions=count)
    if len({row.remarks for row in rows}) > 1:
        text = remarks_of_runs(first.algorithm, [row.remarks for row in rows])
        remarks = Remarks(first.algorithm, notes=(text,) if text else (), repetitions=count)
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(json.loads(row.counts))
    expected = intervals.mean([Fraction(row.welfare) for row in rows])
    exact = [name for name, kind in KINDS.items() if kind == "exact"]
    figures: dict[str, Any] = {name: _mean([getattr(row, name) for row in rows]) for name in (*exact, "admitted")}
    if figures["admitted"] is not None and figures["admitted"].denominator == 1:
        figures["admitted"] = figures["admitted"].numerator
    if first.opt_lower is not None and first.opt_upper is not None:
        figures |= ratios.columns(first.opt_lower, first.opt_upper, figures["welfare"], sense)
        if figures["ratio_kind"] == ratios.Kind.INTERVAL:
            figures["ratio_kind"] = ratios.Kind.ESTIMATE.value
        low, high = _expected_ratio(float(first.opt_lower), float(first.opt_upper), expected, sense)
        figures |= {"expected_ratio_low": low, "expected_ratio_high": high}
    figures |= {"label": remarks.label, "remarks": remarks, "repetitions": count, "counts": json.dumps(counts)}
    figures |= {"reason": next((reason for row, reason in zip(rows, reasons, strict=True) if row.reason), "")}
    figures |= {"welfare_low": expected.low, "welfare_high": expected.high}
    measures = {name: _mean([row.measures.get(name) for row in rows]) for name in first.measures}
    names = dict.fromkeys(name for row in rows for name in row.checks)
    return replace(first, **figures, measures=measures, checks={name: _find_worst(rows, name) for name in names})


def _mean(values: Sequence[Any]) -> Fraction | None:
    return None if any(value is None for value in values) else sum(map(Fraction, values), Fraction(0)) / len(values)


def _find_worst(rows: Sequence[Row], check: str) -> Check:
    verdicts = [row.verdict(check) for row in rows]
    order = (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE)
    worst = next(verdict for verdict in order if verdict in verdicts)
    place = verdicts.index(worst)
    shown = rows[place].checks[check]
    if worst is Verdict.NOT_APPLICABLE:
        return shown
    runs = f"(in {verdicts.count(worst)} of {len(rows)} runs; the figures are those of run {place + 1})"
    return msgspec.structs.replace(shown, reason=f"{shown.reason} {runs}".strip())


def _expected_ratio(
    lower: float, upper: float, expected: intervals.Estimate, sense: Sense
) -> tuple[float | None, float | None]:
    """The range of the ratio of OPT and E[ALG], if both are in their intervals; at least 1."""
    low, high = expected.low, expected.high
    if low is None or high is None or lower < 0:
        return None, None
    if sense is Sense.LEAST:
        return (max(1.0, low / upper) if upper else None), (max(1.0, high / lower) if lower else None)
    return (max(1.0, lower / high) if high > 0 else None), (max(1.0, upper / low) if low > 0 else None)
