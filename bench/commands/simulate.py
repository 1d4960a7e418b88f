"""The command `simulate`: one algorithm in full, or several side by side with their ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import InstanceOptions, folders_of, read_given, require_certificates
from ratiobench.bench.commands.texts import (
    account_of,
    account_text,
    interval_text,
    name_the_file,
    profit_text,
    proof_status_text,
    ratio_document,
    require_gantt,
    require_writable,
    run_lines,
    violation_lines,
    write_csv,
    write_solution,
    write_timeline,
)
from ratiobench.bench.family.registry import refuse_other_family, require_algorithms
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.options import SECONDS, File, option, switch
from ratiobench.bench.results import ratios
from ratiobench.bench.results.row import Row
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.options import ALGORITHM, isolation, several_algorithms
from ratiobench.bench.storage.payload import format_error, json_number, run_payload
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import read_bytes
from ratiobench.online.outcome import OnlineRun, Source
from ratiobench.online.referee import sandbox
from ratiobench.online.referee.arrival_count import ArrivalCount, counted_arrivals
from ratiobench.online.remarks import Remarks
from ratiobench.online.run_context import RunContext, UserAlgorithm, run_context

if TYPE_CHECKING:
    from ratiobench.bench.family.contract import Family
    from ratiobench.formulations.report import Exact

# Options of the table with its ratios, which the function `ratiobench.simulate` does not make
OF_TABLES = ("no_opt", "certificate", "csv")


@dataclass(frozen=True, kw_only=True)
class Simulate(InstanceOptions):
    """Options of `simulate`."""

    algorithms: tuple[str, ...] = several_algorithms(f"{ALGORITHM}; several are compared in a table")
    limit: float | None = option("time limit of a run in seconds; a run that reaches it is not valid", SECONDS, "S")
    isolate: bool | None = isolation()
    no_migration: bool = switch("keep every task on one node; the referee refuses any other decision")
    no_opt: bool = switch("do not compute OPT, and do not print ratios", either="opt")
    certificate: Path | None = option(
        "take OPT from this certificate, which is verified first; without it OPT is computed",
        File(),
        "CERT",
        either="opt",
    )
    solution: Path | None = option(
        "write the decisions, for `check`; a schedule of jobs also as FILE.swf", File(), "FILE"
    )
    csv: Path | None = option("write the table, one row per algorithm", File(), "FILE")
    timeline: Path | None = option(
        "write a page with load, prices, a Gantt chart of the nodes and the reasons of rejections; FILE.svg: only the "
        "Gantt chart of one algorithm",
        File(),
        "HTML",
        flags=("--html",),
    )
    prior: Any = None  # the other day that ``prior=yesterday`` in a name stands for
    own: Mapping[str, UserAlgorithm] = field(default_factory=dict)  # the classes and objects to which names refer

    @property
    def context(self) -> RunContext:
        """The limit, and a sandbox that does not show the folders of the files that are named."""
        hidden = folders_of(self.file, self.prior, self.certificate, self.solution, self.timeline, self.csv)
        return RunContext(self.limit, sandbox.requested(self.isolate), self.own, hidden=hidden)


@dataclass(frozen=True, slots=True)
class OptInterval:
    """OPT within [lower, upper], and the source of this interval."""

    lower: Exact
    upper: Exact
    source: str
    solution: Any = None  # worth the end that a solution verifies; None where a certificate gave the interval


@dataclass(frozen=True, slots=True)
class TableRow:
    """A run in the table of several; fields but `ratio` are columns of its CSV file."""

    label: str  # the name with its remarks, and a star where constants come from the instance itself
    state: str  # ok, invalid, or why it failed
    welfare: Fraction | None = None  # welfare, admitted, seconds: None of a run that failed
    admitted: int | None = None
    seconds: float | None = None
    profit: str | None = None  # in words; None where the family gives no accounts
    ratio: Row | None = None  # the row with the ratio and the difference from OPT; None without OPT or a valid run

    @property
    def cells(self) -> dict[str, Any]:
        """Its cells in a CSV file, by column; the columns of a ratio as in `results.csv`."""
        named = {name: getattr(self, name) for name in ("welfare", "admitted", "seconds", "profit")}
        cells = {"label": self.label, "state": self.state}
        cells |= {name: value for name, value in named.items() if value is not None}
        return cells | ({} if self.ratio is None else {name: getattr(self.ratio, name) for name in _RATIO})


_RATIO = ("ratio_kind", "ratio_lower", "ratio_upper", "behind_lower", "behind_upper")


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    """The runs by the names of their algorithms, or why one failed; of a table OPT and the rows."""

    family: Family
    instance: Any
    runs: Mapping[str, OnlineRun | str]
    opt: OptInterval | None = None
    rows: Mapping[str, TableRow] = field(default_factory=dict)  # those of the table; empty for one algorithm in full

    @property
    def ended(self) -> list[OnlineRun]:
        """Those that did not fail."""
        return [run for run in self.runs.values() if not isinstance(run, str)]


def run(options: Simulate) -> SimulationOutcome:
    """Run the algorithms; several, or with a certificate or a CSV file, as a table with OPT."""
    require_writable(options.solution, options.timeline, options.csv)
    sandbox.choose(options.isolate)
    family, instance = options.read()
    if options.no_migration:
        instance = family.without_migration(instance)
    if options.timeline and family.timeline is None:
        raise InputError("--timeline", "", f"the family {family.name} has no time lines")
    names = list(dict.fromkeys(options.algorithms))
    require_gantt(options.timeline, family, len(names))
    if len(names) > 1 or options.certificate or options.csv:
        return _compare(options, family, instance, names)
    if not options.own:
        refuse_other_family(family, names[0])
    with name_the_file(options.file, instance), run_context(options.context):
        return SimulationOutcome(family, instance, {names[0]: _run(options, family, instance, names[0])})


def _run(options: Simulate, family: Family, instance: Any, name: str) -> OnlineRun:
    other = None if options.prior is None else read_given(options.prior)[1]

    def tell(count: ArrivalCount | None) -> None:
        set_current(f"running {name}" if count is None else f"running {name}: {count.text}", again=True)

    with counted_arrivals(tell):
        return family.run(instance, name, other)


def _compare(options: Simulate, family: Family, instance: Any, names: list[str]) -> SimulationOutcome:
    runs: dict[str, OnlineRun | str] = {}
    with run_context(options.context):
        require_algorithms(family, names)
        if options.solution is not None and len(names) > 1:
            raise InputError("--solution", "", f"whose? {len(names)} algorithms are named; run the one alone")
        with name_the_file(options.file, instance):
            # What cannot run is said before OPT is looked for, which may take long.
            opt = _enclose(options, family, instance) if options.certificate else None
            for name in names:
                set_current(f"running {name}")
                try:
                    runs[name] = _run(options, family, instance, name)
                except InputError:
                    raise
                except Exception as error:
                    runs[name] = format_error(error)
            valid = any(not isinstance(each, str) and each.valid for each in runs.values())
            if valid and not options.certificate and not options.no_opt:
                opt = _enclose(options, family, instance)
    opt = None if opt is None else _tightened(opt, family, runs)
    rows = {name: _row(family, instance, opt, name, each) for name, each in runs.items()}
    return SimulationOutcome(family, instance, runs, opt, rows)


def _enclose(options: Simulate, family: Family, instance: Any) -> OptInterval:
    """OPT by a certificate that holds, or as `opt` finds it with one unit of work."""
    if options.certificate:
        set_current("checking the certificate")
        data, source = read_bytes(str(options.certificate))
        found = require_certificates(family).check(instance, family.load_document(instance, data, source), source)
        if not found["valid"]:
            raise InputError(source, "", f"NOT VALID: {found['problem']}")
        return OptInterval(found["lower"], found["upper"], "by the certificate, verified")
    set_current("looking for OPT")
    report = family.solve(instance, SolveSettings())
    source = f"proof: {report.proof}, {report.formulation} / {report.backend}"
    return OptInterval(report.lower, report.upper, source, report.solution)


def _tightened(opt: OptInterval, family: Family, runs: Mapping[str, OnlineRun | str]) -> OptInterval:
    """A valid run is a verified solution, too: the best one may move the end of the interval that it can."""
    ends, solution = {"lower": opt.lower, "upper": opt.upper}, opt.solution
    for each in runs.values():
        if isinstance(each, str) or not each.valid:
            continue
        if ratios.beats_bound(opt.lower, opt.upper, each.welfare, family.sense):
            raise AssertionError(f"{each.label} is better than the bound on OPT: one of the two is wrong")
        if ratios.is_better(each.welfare, ends[family.sense.verified], family.sense):
            ends[family.sense.verified], solution = each.welfare, each.decisions
    return OptInterval(ends["lower"], ends["upper"], opt.source, solution)


def _row(family: Family, instance: Any, opt: OptInterval | None, name: str, run: OnlineRun | str) -> TableRow:
    if isinstance(run, str):
        return TableRow(name, f"failed: {run}")
    account = account_of(family, instance, run)
    return TableRow(
        label=run.label + " *" * (Source.ORACLE in run.sources),
        state="ok" if run.valid else "invalid",
        welfare=Fraction(run.welfare),
        admitted=run.admitted,
        seconds=run.seconds,
        profit=None if account is None else profit_text(family, run, account),
        ratio=_ratio_row(family, opt, run) if opt is not None and run.valid else None,
    )


def _ratio_row(family: Family, opt: OptInterval, run: OnlineRun) -> Row:
    found = ratios.ratio(opt.lower, opt.upper, run.welfare, family.sense)
    least, most = ratios.shortfall(opt.lower, opt.upper, run.welfare, family.sense)
    return Row(
        case="",
        group="",
        algorithm="",
        remarks=Remarks(""),
        ratio_kind=found.kind.value,
        ratio_lower=found.lower,
        ratio_upper=found.upper,
        behind_lower=least,
        behind_upper=most,
    )


def text(options: Simulate, found: SimulationOutcome) -> Iterator[str]:
    """The run in full, or the table."""
    family = found.family
    if found.rows:
        yield from _table_lines(options, found)
        return
    (run,) = found.ended
    tasks = run.arrivals or len(family.solution_document(run.decisions)["decisions"])
    account = account_text(family, found.instance, run)
    yield from run_lines(run, family.objective, family.unit, tasks, account, proof_status_text(family, run))


def _table_lines(options: Simulate, found: SimulationOutcome) -> Iterator[str]:
    """OPT, a row per algorithm, what is proved of each, which rules were broken."""
    from ratiobench.bench.show import align_columns, format_number, ratio_text

    family, opt = found.family, found.opt
    lines = []
    for row in found.rows.values():
        ratio = "-" if row.ratio is None else ratio_text(row.ratio, family.sense)
        lines.append(
            {"algorithm": row.label, family.objective: format_number(row.welfare)}
            | ({} if opt is None else {family.sense.ratio: ratio})
            | ({} if family.accounts is None else {"profit": row.profit or "-"})
            | {
                "admitted": "-" if row.admitted is None else str(row.admitted),
                "seconds": "-" if row.seconds is None else f"{row.seconds:.3f}",
                "state": row.state,
            }
        )
    if opt is not None:
        yield from _opt_lines(options, family, opt)
    elif not options.no_opt:
        yield "No run is valid, so OPT was not computed."
    yield align_columns(lines).removesuffix("\n")
    if any(row.label.endswith(" *") for row in found.rows.values()):
        yield "* its constants are computed from the instance itself, future included (oracle)."
    for run in found.ended:
        if known := proof_status_text(family, run):
            yield f"{run.label}: {known}"
    for run in found.ended:
        if not run.valid:
            yield f"{run.label}:"
            yield from violation_lines(run)


def _opt_lines(options: Simulate, family: Family, opt: OptInterval) -> Iterator[str]:
    yield interval_text(opt.lower, opt.upper, family.unit, " without migration" * options.no_migration)
    yield f"  {opt.source}"


def document(options: Simulate, found: SimulationOutcome) -> dict[str, Any]:
    """The run, which is a solution document, too; or OPT and all runs."""
    if not found.rows:
        (run,) = found.ended
        return _run_document(options, found, run)
    runs = [
        {"algorithm": name, "failed": run}
        if isinstance(run, str)
        else _run_document(options, found, run) | {"ratio": _ratio(found, run)}
        for name, run in found.runs.items()
    ]
    ends = None if found.opt is None else {end: json_number(getattr(found.opt, end)) for end in ("lower", "upper")}
    return {"instance": found.family.identity(found.instance), "opt": ends, "runs": runs}


def _run_document(options: Simulate, found: SimulationOutcome, run: OnlineRun) -> dict[str, Any]:
    family = found.family
    about = {"instance": family.identity(found.instance)} | ({"migration": False} if options.no_migration else {})
    value: dict[str, Any] = {"value": json_number(run.welfare)}
    account = account_of(family, found.instance, run)
    if account is not None:
        value["accounts"] = {name: json_number(figure) for name, figure in account.items()}
    return run_payload(run) | value | about | family.solution_document(run.decisions)


def _ratio(found: SimulationOutcome, run: OnlineRun) -> dict[str, Any] | None:
    if found.opt is None or not run.valid:
        return None
    return ratio_document(ratios.ratio(found.opt.lower, found.opt.upper, run.welfare, found.family.sense))


def write(options: Simulate, found: SimulationOutcome) -> Iterator[str]:
    """The table, the decisions, the page with the time lines."""
    write_csv(options.csv, [{"algorithm": name} | row.cells for name, row in found.rows.items()])
    first = next(iter(found.runs.values()))
    if options.solution is not None and not isinstance(first, str):
        write_solution(options.solution, found.family, found.instance, first.decisions)
    if options.timeline:
        opt = found.opt
        best = None if opt is None or opt.solution is None else (opt.lower, opt.upper, opt.solution)
        write_timeline(options.timeline, found.family, found.instance, options.file, found.ended, best)
        yield f"time line: {options.timeline}"


def after(options: Simulate, found: SimulationOutcome) -> None:
    """OPT and the ratio of one run, which is printed before, since OPT may take long."""
    if options.json or options.no_opt or found.rows or not found.ended[0].valid:
        return
    (run,) = found.ended
    family = found.family
    with name_the_file(options.file, found.instance), run_context(options.context):
        opt = _tightened(_enclose(options, family, found.instance), family, {run.label: run})
    for line in _opt_lines(options, family, opt):
        print(line)
    print(f"{family.sense.ratio} = {ratios.ratio(opt.lower, opt.upper, run.welfare, family.sense)}")


SIMULATE = Command(
    Simulate,
    run,
    text=text,
    document=document,
    write=write,
    after=after,
    status=lambda found: int(len(found.ended) < len(found.runs)),
    busy="running the algorithm",
)
