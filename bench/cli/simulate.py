"""The command `online`: one algorithm in full, or several side by side with their ratios."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.cli.arguments import (
    ALGORITHM,
    Command,
    add_algorithms,
    add_answer,
    add_file,
    add_isolate,
    add_no_migration,
    read_given_instance,
    require_single_node,
    seconds,
)
from ratiobench.bench.cli.opt import NO_CERTIFICATE, require_certificates
from ratiobench.bench.cli.printing import (
    account_of,
    account_text,
    name_the_file,
    print_interval,
    print_json,
    print_run,
    print_violations,
    profit_text,
    require_writable,
    standing_text,
    write_csv,
    write_decisions,
)
from ratiobench.bench.cli.timelines import add_timeline, require_timeline, write_timeline
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import refuse_other_family, require_algorithms
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.results.row import Row, make_row
from ratiobench.bench.running.heartbeat import now_at
from ratiobench.bench.storage.payload import json_number, one_line, run_payload
from ratiobench.bench.tables import ratios
from ratiobench.formulations.report import Exact
from ratiobench.instances.errors import InputError
from ratiobench.instances.files import load_json, read_bytes
from ratiobench.online.outcome import OnlineRun, Source
from ratiobench.online.referee import sandbox
from ratiobench.online.remarks import Remarks
from ratiobench.online.run_context import RunContext, run_context


@dataclass(frozen=True, slots=True)
class Enclosed:
    """OPT within [lower, upper], and what says so."""

    lower: Exact
    upper: Exact
    source: str


def add_simulate(command: Command) -> None:
    """The command `simulate`."""
    sub = command("simulate", _simulate, "online runs under the referee: one algorithm, or several side by side")
    sub.set_defaults(busy="running the algorithm")
    add_algorithms(sub, add_file(sub), f"{ALGORITHM}; of several a table", required=True)
    sub.add_argument("--limit", type=seconds, metavar="S", help="stop the run after S seconds; it is then no valid one")
    add_isolate(sub)
    add_no_migration(
        sub, "the algorithm's form that keeps every task on one node; the referee refuses any other decision"
    )
    opt = sub.add_mutually_exclusive_group()
    opt.add_argument("--no-opt", action="store_true", help="do not compute OPT, and print no ratios")
    opt.add_argument(
        "--certificate",
        metavar="CERT",
        type=Path,
        help="OPT of the table by this certificate, which is verified first; without it as `opt` finds it",
    )
    add_answer(sub, "; of one algorithm without OPT")
    sub.add_argument("--csv", metavar="FILE", type=Path, help="write the table, a row per algorithm")
    add_timeline(sub)


def _simulate(options: argparse.Namespace) -> int:
    require_writable(options.solution, options.timeline, options.csv)
    if options.isolate:
        sandbox.require()
    family, instance = read_given_instance(options.file)
    require_timeline(options, family)
    names = list(dict.fromkeys(options.algorithm))
    if len(names) > 1 or options.certificate or options.csv:
        with run_context(_terms(options)):
            require_algorithms(family, names)
        return _compare(options, family, instance, names)
    refuse_other_family(family, names[0])
    with name_the_file(options.file, instance), run_context(_terms(options)):
        run = _run(options, family, instance, names[0])
    document = family.solution_document(run.decisions)
    if options.json:
        print_json(_document(options, family, instance, run))
    else:
        told = account_text(family, instance, run)
        tasks = run.arrivals or len(document["decisions"])
        print_run(run, family.objective, family.unit, tasks, told, standing_text(family, run))
    write_decisions(options.solution, document)
    write_timeline(options, family, instance, [run])
    if not (options.json or options.no_opt):
        with name_the_file(options.file, instance), run_context(_terms(options)):
            _print_ratio(options, family, instance, run)
    return 0


def _print_ratio(options: argparse.Namespace, family: Family, instance: Any, run: OnlineRun) -> None:
    """OPT and the ratio of one run; the run is already printed, since OPT may take long."""
    sys.stdout.flush()
    opt = _tightened(_enclose(options, family, instance), family, {run.label: run})
    print_interval(opt.lower, opt.upper, family.unit, " without migration" * options.no_migration)
    print(f"  {opt.source}")
    if run.valid:
        print(f"{family.sense.ratio} = {ratios.ratio(opt.lower, opt.upper, run.welfare, family.sense)}")


def _terms(options: argparse.Namespace) -> RunContext:
    """The limit, and a sandbox that does not show the folders of the files that the command names."""
    files = [options.file, options.certificate, options.solution, options.timeline, options.csv]
    folders = {str(Path(each).absolute().parent) for each in files if each and str(each) != "-"}
    return RunContext(options.limit, options.isolate, hidden=tuple(sorted(folders)))


def _run(options: argparse.Namespace, family: Family, instance: Any, name: str) -> OnlineRun:
    if options.no_migration:
        return require_single_node(family).run(instance, name, None)
    return family.run(instance, name)


def _document(options: argparse.Namespace, family: Family, instance: Any, run: OnlineRun) -> dict[str, Any]:
    """A run as JSON values; it is a solution document, too."""
    about = {"instance": family.identity(instance)} | ({"migration": False} if options.no_migration else {})
    value: dict[str, Any] = {"value": json_number(run.welfare)}
    account = account_of(family, instance, run)
    if account is not None:
        value["accounts"] = {name: json_number(figure) for name, figure in account.items()}
    return run_payload(run) | value | about | family.solution_document(run.decisions)


def _compare(options: argparse.Namespace, family: Family, instance: Any, names: Sequence[str]) -> int:
    """Several algorithms on one instance, side by side; status 1 where one of them failed."""
    if options.solution is not None and len(names) > 1:
        raise InputError("--solution", "", f"whose? {len(names)} algorithms are named; run the one alone")
    runs: dict[str, OnlineRun | str] = {}
    with run_context(_terms(options)), name_the_file(options.file, instance):
        # What cannot run is said before OPT is looked for, which may take long.
        opt = _enclose(options, family, instance) if options.certificate else None
        for name in names:
            now_at(f"running {name}")
            try:
                runs[name] = _run(options, family, instance, name)
            except InputError:
                raise
            except Exception as error:
                runs[name] = one_line(error)
        if not options.certificate and not options.no_opt:
            opt = _enclose(options, family, instance)
    opt = None if opt is None else _tightened(opt, family, runs)
    rows = {name: _row(family, instance, opt, name, run) for name, run in runs.items()}
    if options.json:
        played = [
            {"algorithm": name, "failed": run}
            if isinstance(run, str)
            else _document(options, family, instance, run) | _ratio_document(rows[name])
            for name, run in runs.items()
        ]
        ends = None if opt is None else {end: json_number(getattr(opt, end)) for end in ("lower", "upper")}
        print_json({"instance": family.identity(instance), "opt": ends, "runs": played})
    else:
        _print_table(options, family, opt, rows)
        shown_runs = [run for run in runs.values() if not isinstance(run, str)]
        for run in shown_runs:
            if known := standing_text(family, run):
                print(f"{run.label}: {known}")
        for run in shown_runs:
            if not run.valid:
                print(f"{run.label}:")
                print_violations(run)
    write_csv(options.csv, [{"algorithm": name} | row for name, row in rows.items()])
    first = runs[names[0]]
    if not isinstance(first, str):
        write_decisions(options.solution, family.solution_document(first.decisions))
    write_timeline(options, family, instance, [run for run in runs.values() if not isinstance(run, str)])
    return int(any(isinstance(run, str) for run in runs.values()))


def _enclose(options: argparse.Namespace, family: Family, instance: Any) -> Enclosed:
    """OPT by a certificate that holds, or as `opt` finds it with one unit of work."""
    if options.certificate:
        if options.no_migration:
            raise InputError("--certificate", "", NO_CERTIFICATE)
        now_at("checking the certificate")
        data, source = read_bytes(str(options.certificate))
        found = require_certificates(family).check(instance, load_json(data, source), source)
        if not found["valid"]:
            raise InputError(source, "", f"NOT VALID: {found['problem']}")
        return Enclosed(found["lower"], found["upper"], "by the certificate, verified")
    now_at("looking for OPT")
    solve = require_single_node(family).solve if options.no_migration else family.solve
    report = solve(instance, SolveSettings())
    return Enclosed(report.lower, report.upper, f"proof: {report.proof}, {report.formulation} / {report.backend}")


def _tightened(opt: Enclosed, family: Family, runs: Mapping[str, OnlineRun | str]) -> Enclosed:
    """A valid run is a verified solution, too: the best one may move the end of the interval that it can."""
    ends = {"lower": opt.lower, "upper": opt.upper}
    for run in runs.values():
        if isinstance(run, str) or not run.valid:
            continue
        if ratios.beats_bound(opt.lower, opt.upper, run.welfare, family.sense):
            raise AssertionError(f"{run.label} is better than the bound on OPT: one of the two is wrong")
        if ratios.better(run.welfare, ends[family.sense.verified], family.sense):
            ends[family.sense.verified] = run.welfare
    return Enclosed(ends["lower"], ends["upper"], opt.source)


def _row(family: Family, instance: Any, opt: Enclosed | None, name: str, run: OnlineRun | str) -> dict[str, Any]:
    """What the table says of a run: keys as in `results.csv`."""
    if isinstance(run, str):
        return {"label": name, "state": f"failed: {run}"}
    row: dict[str, Any] = {
        "label": run.label + " *" * (Source.ORACLE in run.sources),
        "state": "ok" if run.valid else "invalid",
        "welfare": Fraction(run.welfare),
        "admitted": run.admitted,
        "seconds": run.seconds,
    }
    account = account_of(family, instance, run)
    if account is not None:
        row["profit"] = profit_text(family, run, account)
    if opt is not None and run.valid:
        found = ratios.ratio(opt.lower, opt.upper, run.welfare, family.sense)
        ends = ratios.behind(opt.lower, opt.upper, run.welfare, family.sense)
        row |= {"ratio_kind": found.kind.value, "ratio_lower": found.lower, "ratio_upper": found.upper}
        row |= dict(zip(("behind_lower", "behind_upper"), ends, strict=True))
    return row


def _ratio_row(row: Mapping[str, Any]) -> Row:
    """The figures of the ratio among those that the table says of a run."""
    return make_row({name: value for name, value in row.items() if name.startswith(("ratio_", "behind_"))} | _NAMELESS)


_NAMELESS = {"case": "", "group": "", "algorithm": "", "remarks": Remarks("")}


def _ratio_document(row: Mapping[str, Any]) -> dict[str, Any]:
    if "ratio_kind" not in row:
        return {"ratio": None}
    ends = {end: None if row[f"ratio_{end}"] is None else str(row[f"ratio_{end}"]) for end in ("lower", "upper")}
    return {"ratio": {"kind": row["ratio_kind"], **ends}}


def _print_table(
    options: argparse.Namespace, family: Family, opt: Enclosed | None, rows: Mapping[str, Mapping[str, Any]]
) -> None:
    from ratiobench.bench.tables.text import aligned, number, ratio_text

    lines = []
    for row in rows.values():
        ratio = {family.sense.ratio: ratio_text(_ratio_row(row), family.sense)} if opt is not None else {}
        lines.append(
            {"algorithm": row["label"], family.objective: number(row.get("welfare"))}
            | ratio
            | ({} if family.accounts is None else {"profit": row.get("profit", "-")})
            | {
                "admitted": str(row.get("admitted", "-")),
                "seconds": f"{row['seconds']:.3f}" if "seconds" in row else "-",
                "state": row["state"],
            }
        )
    if opt is not None:
        print_interval(opt.lower, opt.upper, family.unit, " without migration" * options.no_migration)
        print(f"  {opt.source}")
    print(aligned(lines), end="")
    if any(row["label"].endswith(" *") for row in rows.values()):
        print("* its constants are computed from the instance itself, future included (oracle).")
