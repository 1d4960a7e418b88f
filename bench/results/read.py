"""The rows of a result store as tables: exact figures for files, rounded ones (outward) for reading."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pandas as pd

from ratiobench.bench.family.registry import families
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot, PrintedGain, PrintedMean, Study
from ratiobench.bench.results import ratios, repetitions
from ratiobench.bench.results.means import GroupMean
from ratiobench.bench.results.remarks import label_of_runs, remarks_of_runs
from ratiobench.bench.results.row import Row, make_row
from ratiobench.bench.storage import validation
from ratiobench.bench.storage.store import Store, StoredCase, StoredResult
from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow, compare_answers
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.outcome import Source
from ratiobench.online.remarks import Remarks

# Columns of results.csv; then one per measure of the family, exact; each check adds NAME (its verdict), NAME_left,
# NAME_right, NAME_reason and NAME_figures; one that separates a claim from the assumptions of its proof adds
# NAME_failing, names of those that fail on the run as a JSON list: [] where they hold, empty where it does not say
COLUMNS = {
    "case": "name of the case in the suite",
    "group": "cases that are comparable",
    "instance": "SHA-256 of the instance's content",
    "algorithm": "name with options, as asked for",
    "label": "name with its remarks",
    "algorithm_key": "canonical name, options and code version",
    "state": "ok, invalid (the algorithm broke a rule), failed (see reason) or missing (not run yet)",
    "reason": "why it failed or is invalid",
    "opt_status": "optimal, interval or failed",
    "opt_lower": "OPT is no less: the best verified solution (the solver's, a valid run's); of costs, a proved bound",
    "opt_lower_source": "of the verified end: solve, or the algorithm whose run beat the solver's solution",
    "opt_upper": "OPT is no more: a proved bound; where the least is best, the value of a verified solution",
    "opt_proof": "where the bound comes from",
    "opt_formulation": "formulation that was solved",
    "opt_backend": "solver",
    "opt_solver": "version of the solver, of runs that stored it",
    "opt_gap": "float: (upper - lower) / |upper|",
    "opt_time_limited": "a limit in seconds may have decided the interval",
    "welfare": "the value of the algorithm's solution in the family's unit: welfare by bids (eq. 3), profit rate, ...",
    "true_welfare": "the same by valuations",
    "revenue": "sum of payments; empty without a payment rule",
    "admitted": "admitted tasks",
    "ratio_kind": "interval, open (at least ratio_lower), unbounded or undefined; estimate, of means of runs",
    "ratio_lower": "lower/ALG, exact; where the least is best, ALG/upper",
    "ratio_upper": "upper/ALG, exact; where the least is best, ALG/lower",
    "ratio_lower_float": "float: ratio_lower",
    "ratio_upper_float": "float: ratio_upper",
    "reached": "ALG/upper, exact: at least this part of OPT; where the least is best, lower/ALG",
    "reached_float": "float: reached",
    "behind_lower": "opt_lower - welfare; where the least is best, welfare - opt_upper",
    "behind_upper": "opt_upper - welfare; where the least is best, welfare - opt_lower",
    "constants": "declared constants as JSON: name, value, source, detail",
    "constants_source": "oracle (from the instance under test), prior, history (the days before), given, or none",
    "arithmetic": "exact, float or integer",
    "counts": "things counted on the way, as JSON",
}
# The last columns of results.csv, where the family gives accounts of its runs; empty for runs stored without
ACCOUNTS = {
    "vendors": "what the vendors of the admitted tasks cost, exact",
    "energy": "what their operation costs, exact",
    "bids": "sum of their bids, exact",
    "profit": "revenue (without a payment rule: bids, the list prices) - vendors - energy, exact",
}
# The part of an online run that its decisions take, without the making of the instance and the last verification
DECIDING = "deciding"


@dataclass(frozen=True, slots=True)
class StudyTable:
    """What a study found on a case: rows with the same keys, or the reason why there are none.

    Parameters
    ----------
    case : name of the case.
    group : of the case.
    study : kind, algorithm and task of the study.
    rows : mappings with the same keys; empty where the study failed.
    reason : why there are no rows; empty where there are.
    """

    case: str
    group: str
    study: Study
    rows: Sequence[Mapping[str, str]]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """The tables of one folder.

    Parameters
    ----------
    about : suite, options and provenance.
    cases : in the order of the suite.
    rows : one per case and algorithm; the columns of `COLUMNS` and of the checks. The same bytes on every run.
        `ratiobench.run` and `ratiobench.results` give them with a type per column
        (`ratiobench.bench.results.frames.apply_types`).
    seconds : one per piece of work: case, algorithm, stage, seconds.
    checks : names of the checks found, in the order of the audits.
    asking : those of them that say which assumptions of the claim's proof fail.
    measures : names of the family's measures found.
    studies : the tables made beside the runs, in the order of the suite.
    exact : the rows as results.csv has them: figures are integers, fractions and, of checks, their text.
    records : the same rows for programs, with the facts behind them.
    accounts : the columns `ACCOUNTS`, or none where the family gives no accounts.
    repetitions : one row per run of an algorithm that was run more than once on a case, in exact figures: case,
        algorithm, repetition, state, and the figures of a run. The rows of such algorithms are means (`repeated`).
    solvers : by case, what several solvers said of the program as its paper prints it, held against the interval on
        OPT; only of cases that are small enough.
    """

    about: Mapping[str, Any]
    cases: Sequence[StoredCase]
    rows: pd.DataFrame
    seconds: pd.DataFrame
    checks: Sequence[str]
    measures: Sequence[str] = ()
    studies: Sequence[StudyTable] = ()
    exact: pd.DataFrame = field(default_factory=pd.DataFrame)
    records: Sequence[Row] = ()
    accounts: Sequence[str] = ()
    repetitions: pd.DataFrame = field(default_factory=pd.DataFrame)
    solvers: Mapping[str, CrossCheck] = field(default_factory=dict)
    asking: Sequence[str] = ()

    @property
    def sense(self) -> Sense:
        """Whether the most or the least of the objective is best."""
        return sense_of(self.about)

    @property
    def first_records(self) -> list[Row]:
        """The first row of each case and algorithm."""
        found: dict[tuple[str, str], Row] = {}
        for row in self.records:
            found.setdefault((row.case, row.algorithm), row)
        return list(found.values())

    @property
    def is_part(self) -> bool:
        """Whether some cases or algorithms of the suite were left out (`--only`, `--rows`)."""
        return bool(self.about.get("only") or self.about.get("rows"))

    @property
    def plots(self) -> list[Plot]:
        """The figures that the suite asks for; of a part of it, without the groups that have no case."""
        present = {case.group for case in self.cases} if self.is_part else None
        return [
            Plot(
                **each
                | {
                    "groups": tuple(name for name in each["groups"] if present is None or name in present),
                    "algorithms": tuple(each["algorithms"]),
                    "printed": tuple(PrintedGain(**figure) for figure in each["printed"]),
                    "printed_means": tuple(PrintedMean(**figure) for figure in each.get("printed_means", ())),
                }
            )
            for each in self.about.get("plots", ())
        ]


def sense_of(about: Mapping[str, Any]) -> Sense:
    """The sense of the objective of what was run; results from before it was stored are of families of the most."""
    return Sense(about.get("sense", Sense.MOST))


def read_results(store: Store) -> Results:
    """Read the tables from a store."""
    cases = store.cases()
    about = store.about()
    family = families().get(str(about.get("family")))
    whole = family is not None and family.whole_values
    rows: list[dict[str, Any]] = []
    seconds: list[dict[str, Any]] = []
    checks: dict[str, None] = {}
    measures: dict[str, None] = {}
    studies: list[StudyTable] = []
    runs: list[dict[str, Any]] = []
    solvers: dict[str, CrossCheck] = {}
    with _sound(store, "about, sense"):
        sense = sense_of(store.about())
    for case in cases:
        with _sound(store, f"case {shorten(case.name)}"):
            rows.extend(_case_rows(store, case, sense, seconds, checks, measures, runs, whole))
            studies.extend(_case_studies(store, case, seconds))
            answers = _case_solvers(store, case, seconds)
            if answers is not None:
                solvers[case.name] = answers
    parts = ("", "_left", "_right", "_reason", "_figures")
    accounts = ACCOUNTS if family is not None and family.accounts is not None else ()
    asking = [name for name in checks if any(f"{name}_failing" in row for row in rows)]
    columns = [*COLUMNS, *measures]
    for name in checks:
        columns += [f"{name}{part}" for part in (*parts, *(["_failing"] if name in asking else []))]
    columns += accounts
    columns += repetitions.COLUMNS if runs else ()
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    records = [make_row(row, checks, measures) for row in rows]
    times = pd.DataFrame(seconds, columns=["case", "algorithm", "stage", "seconds"])
    each = pd.DataFrame(runs, columns=repetitions.EACH, dtype=object)
    found = Results(
        about, cases, frame, times, tuple(checks), tuple(measures), studies, frame, records,
        accounts=tuple(accounts), repetitions=each, solvers=solvers, asking=tuple(asking),
    )  # fmt: skip
    with _sound(store, "about, plots"):
        assert found.plots is not None
    return found


@contextlib.contextmanager
def _sound(store: Store, what: str) -> Iterator[None]:
    """What is read inside is as `run` wrote it; InputError names the store, what was read and, if known, the field."""
    try:
        yield
    except KeyError as error:
        raise InputError(str(store.path), f"{what}, {shorten(error.args[0])}", "the field is missing") from None
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(str(store.path), what, "is not as `run` stores it") from None


def _case_solvers(store: Store, case: StoredCase, seconds: list[dict[str, Any]]) -> CrossCheck | None:
    piece = store.get("solvers", case.instance, case.solvers_key) if case.solvers_key else None
    if piece is None:
        return None
    validation.check_result(piece, store.path, case)
    seconds.append({"case": case.name, "algorithm": "", "stage": "solvers", "seconds": piece.seconds})
    answers = [CrossCheckRow.from_document(each) for each in piece.payload.get("answers", ())]
    reference = store.get("opt", case.instance, case.solve_key)
    if not answers:
        return None
    known = reference is not None and reference.ok
    ends = [int(reference.payload[end]) for end in ("lower", "upper")] if reference is not None and known else []
    return compare_answers(answers, *ends)


def _case_studies(store: Store, case: StoredCase, seconds: list[dict[str, Any]]) -> Iterator[StudyTable]:
    for kind, algorithm, task, key in case.studies:
        study = Study(kind, algorithm, task)
        piece = store.get("study", case.instance, key)
        if piece is None:
            yield StudyTable(case.name, case.group, study, (), "not made yet")
            continue
        validation.check_result(piece, store.path, case)
        seconds.append({"case": case.name, "algorithm": algorithm, "stage": "study", "seconds": piece.seconds})
        yield StudyTable(case.name, case.group, study, piece.payload.get("rows", ()), piece.payload.get("reason", ""))


def _case_rows(
    store: Store,
    case: StoredCase,
    sense: Sense,
    seconds: list[dict[str, Any]],
    checks: dict[str, None],
    measures: dict[str, None],
    runs: list[dict[str, Any]],
    whole: bool,
) -> list[dict[str, Any]]:
    def timed(stage: str, algorithm: str, piece: StoredResult | None) -> StoredResult | None:
        if piece is not None:
            validation.check_result(piece, store.path, case, whole=whole)
            if piece.payload.get("seconds", 0) is not None:  # of a run that is stored with a standard set
                seconds.append({"case": case.name, "algorithm": algorithm, "stage": stage, "seconds": piece.seconds})
        return piece

    made = timed("generate", "", store.get("generate", "", case.name))
    opt = timed("opt", "", store.get("opt", case.instance, case.solve_key))
    online = {key: timed("online", name, store.get("online", case.instance, key)) for name, _, key in case.runs()}
    head: dict[str, Any] = {"case": case.name, "group": case.group, "instance": case.instance}
    every = [(name, online[key]) for name, _, key in case.runs()]
    _check_bound(opt, every, sense, store, case)
    head |= _reference(opt, every, sense)
    rows: list[list[dict[str, Any]]] = []
    for name, repetition, key in case.runs():
        row = head | {"algorithm": name, "label": name, "algorithm_key": key}
        row |= {"remarks": Remarks(name), "sources": frozenset()}
        run = online[key]
        if run is None:
            if made is None or made.ok:
                row |= {"state": "missing", "reason": "not run yet"}
            else:
                row |= {"state": "failed", "reason": f"no instance: {made.payload['reason']}"}
        elif not run.ok:
            row |= {"state": "failed", "reason": run.payload["reason"]}
        else:
            row |= _run(run.payload, head["opt_lower"], head["opt_upper"], sense)
            if (spent := run.payload["seconds"]) is not None:
                seconds.append({"case": case.name, "algorithm": name, "stage": DECIDING, "seconds": spent})
        audit = timed("audit", name, store.get("audit", case.instance, case.audit_key(key)))
        if audit is not None and audit.ok:
            for name_, value in audit.payload.get("measures", {}).items():
                measures[name_] = None
                row[name_] = None if value is None else Fraction(value)
            for check in audit.payload["checks"]:
                checks[check["name"]] = None
                row[check["name"]] = check["status"]
                for part in ("left", "right", "reason"):
                    row[f"{check['name']}_{part}"] = check[part]
                row[f"{check['name']}_figures"] = json.dumps(check["figures"])
                if check.get("failing") is not None:
                    row[f"{check['name']}_failing"] = json.dumps(check["failing"])
        elif audit is not None and run is not None and run.ok:
            row["reason"] = "; ".join(filter(None, [row.get("reason"), f"audit: {audit.payload['reason']}"]))
        if repetition == 1:
            rows.append([])
        rows[-1].append(row)
    for several in rows:
        runs.extend(repetitions.list_runs(several) if len(several) > 1 else ())
    return [repetitions.mean_row(each, sense, tuple(checks)) if len(each) > 1 else each[0] for each in rows]


def _check_bound(
    opt: StoredResult | None,
    runs: Iterable[tuple[str, StoredResult | None]],
    sense: Sense,
    store: Store,
    case: StoredCase,
) -> None:
    """Refuse a valid run that is better than the bound on OPT: one of the two must be wrong."""
    if opt is None or not opt.ok:
        return
    ends = Fraction(opt.payload["lower"]), Fraction(opt.payload["upper"])
    for name, run in runs:
        if run is None or not run.ok or not run.payload["valid"]:
            continue
        if ratios.beats_bound(*ends, Fraction(run.payload["welfare"]), sense):
            where = f"case {shorten(case.name)}, online of {shorten(name)}, welfare"
            beyond = "above" if sense is Sense.MOST else "below"
            problem = (
                f"{shorten(run.payload['welfare'])} is {beyond} the bound {shorten(opt.payload[sense.bound])} on OPT"
            )
            raise InputError(str(store.path), where, problem)


def _reference(
    opt: StoredResult | None, runs: Iterable[tuple[str, StoredResult | None]], sense: Sense
) -> dict[str, Any]:
    """The interval on OPT. A valid online run is a verified solution too: the best one may move the verified end."""
    if opt is None or not opt.ok:
        reason = "not solved yet" if opt is None else opt.payload["reason"]
        return {"opt_status": "failed", "opt_lower": None, "opt_upper": None, "opt_lower_source": reason}
    ends, source = {end: Fraction(opt.payload[end]) for end in ("lower", "upper")}, "solve"
    for name, run in runs:
        if run is not None and run.ok and run.payload["valid"]:
            value = Fraction(run.payload["welfare"])
            if ratios.is_better(value, ends[sense.verified], sense):
                ends[sense.verified], source = value, name
    lower, upper = ends["lower"], ends["upper"]
    return {
        "opt_status": "optimal" if lower == upper else "interval",
        "opt_lower": lower,
        "opt_lower_source": source,
        "opt_upper": upper,
        "opt_proof": opt.payload["proof"],
        "opt_formulation": opt.payload["formulation"],
        "opt_backend": opt.payload["backend"],
        "opt_solver": (opt.payload.get("solver") or {}).get("solver", ""),
        "opt_gap": ratios.gap(lower, upper),
        "opt_time_limited": opt.payload["time_limited"],
    }


def _run(run: Mapping[str, Any], lower: Fraction | None, upper: Fraction | None, sense: Sense) -> dict[str, Any]:
    sources = frozenset(Source(constant["source"]) for constant in run["constants"])
    remarks = Remarks.from_document(run["remarks"])
    row = {
        "label": remarks.label,
        "remarks": remarks,
        "state": "ok" if run["valid"] else "invalid",
        "reason": "; ".join(run["violations"][:3]),
        "welfare": Fraction(run["welfare"]),
        "true_welfare": Fraction(run["true_welfare"]),
        "revenue": None if run["revenue"] is None else Fraction(run["revenue"]),
        "admitted": run["admitted"],
        "constants": json.dumps(run["constants"]),
        "constants_source": "+".join(sorted(sources)) or "none",
        "sources": sources,
        "arithmetic": run["arithmetic"],
        "counts": json.dumps(run["counts"]),
    }
    if "accounts" in run:
        row |= {name: Fraction(run["accounts"][name]) for name in validation.ACCOUNTS}
        earned = row["bids"] if row["revenue"] is None else row["revenue"]
        row["profit"] = earned - row["vendors"] - row["energy"]
    if not run["valid"] or lower is None or upper is None:
        return row
    return row | ratios.columns(lower, upper, row["welfare"], sense)


def is_known(value: Any) -> bool:
    """Whether a cell of `rows` holds something."""
    return value is not None and not (isinstance(value, float) and value != value)


def by_group(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """The rows of each group and algorithm, in their order."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.group, row.algorithm), []).append(row)
    return found


def group_means(rows: Iterable[Row], sense: Sense = Sense.MOST) -> list[GroupMean]:
    """The mean of what is certainly reached, per group and algorithm, with the remarks on the runs in it."""
    found = []
    for (group, algorithm), part in by_group(rows).items():
        usable = [row for row in part if row.ratio_kind is not None]
        mean = ratios.mean([(row.opt_lower, row.opt_upper, row.welfare) for row in usable], sense)
        remarks = [row.remarks for row in usable]
        found.append(
            GroupMean(
                group=group,
                algorithm=algorithm,
                reached=mean.value,
                cases=mean.cases,
                unbounded=mean.unbounded,
                undefined=mean.undefined,
                invalid=sum(row.state == "invalid" for row in part),
                failed=sum(row.state == "failed" for row in part),
                remarks=remarks_of_runs(algorithm, remarks),
                label=label_of_runs(algorithm, remarks),
                is_oracle=any(row.is_oracle for row in part),
            )
        )
    return found


def stages(seconds: pd.DataFrame) -> pd.DataFrame:
    """Seconds of work per stage, the online runs per algorithm: stage, pieces, seconds."""
    if seconds.empty:
        return pd.DataFrame(columns=["stage", "pieces", "seconds"])
    seconds = seconds[seconds["stage"] != DECIDING]  # a part of `online`
    names = seconds["stage"].where(seconds["stage"] != "online", "online " + seconds["algorithm"])
    grouped = seconds.groupby(names, sort=False)["seconds"].agg(["size", "sum"]).reset_index()
    grouped.columns = pd.Index(["stage", "pieces", "seconds"])
    order = {stage: rank for rank, stage in enumerate(("generate", "opt", "solvers", "online", "audit", "study"))}
    grouped["rank"] = [order[str(stage).split(" ")[0]] for stage in grouped["stage"]]
    return grouped.sort_values("rank", kind="stable").drop(columns="rank").reset_index(drop=True)


def online_seconds(found: Results, stage: str = "online") -> dict[tuple[str, str], float]:
    """Seconds of every online run, or of its decisions alone, by (case, algorithm); of several runs their mean."""
    spent: dict[tuple[str, str], list[float]] = {}
    for row in found.seconds[found.seconds["stage"] == stage].to_dict("records"):
        spent.setdefault((row["case"], row["algorithm"]), []).append(float(row["seconds"]))
    return {address: sum(each) / len(each) for address, each in spent.items()}
