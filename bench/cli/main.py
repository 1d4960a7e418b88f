"""The commands. Exit status 0; 2 for unusable input, in one line; 1 for a failure of ours; 130 after Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import logging
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from bench.family.checks import ANOTHER, Check, Verdict
from bench.family.known import families, find_suite, read_instance
from bench.family.parts import Bidding, Certifying, Claiming, Selecting, Staying, objective
from bench.family.protocol import Family
from bench.family.suite import SolveSettings
from bench.running import work
from bench.running.pool import ExecutorLost
from bench.storage.store import StoreError
from bench.tables import ratios
from formulations.report import UNLIMITED, Exact, SolveReport
from instances.errors import DEBUG, InputError, shown, tamed
from instances.files import READ_LIMIT, at_most, check_writable, load_json, read_bytes, write_atomically
from online.outcome import OnlineRun
from online.referee import sandbox
from online.terms import Terms, under

HIGH_EFFORT = 8
VIOLATIONS = 5
"""So many rules that a run broke are shown by `audit`; `online` shows all."""
BREACHES = 20
"""So many violated constraints are shown by `check`; --json has all."""
LONGEST = 1700
"""Characters of a message on standard error, whatever it is about."""
NO_CERTIFICATE = "with --no-migration there is none: certificates prove intervals on OPT with migration"
READABLE = 24
"""Characters up to which `audit` prints a fraction as it is."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {tamed(message, LONGEST)}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # algorithms by import path, also for the installed command
    options = _parser().parse_args(arguments)
    # It logs where its cache lies when the home folder cannot be written; that changes no figure.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    before = dict(os.environ)
    if options.debug:
        os.environ[DEBUG] = "1"  # also for the processes in which anyone's algorithms run
    try:
        with at_most(getattr(options, "max_bytes", READ_LIMIT)):
            status: int = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has gone; nothing is left to say, and Python must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        keeps = options.run is _run or getattr(options, "out", None) is not None
        return _complain(options, "interrupted" + ("; what was finished is kept" if keeps else ""), 130)
    except InputError as error:
        return _complain(options, str(error), 2)
    except (StoreError, ExecutorLost) as error:
        return _complain(options, str(error), 1)
    except Exception as error:
        return _complain(options, f"failed: {work.one_line(error)} (--debug shows where)", 1)
    finally:
        if options.debug and DEBUG not in before:
            del os.environ[DEBUG]


def _complain(options: argparse.Namespace, line: str, status: int) -> int:
    if options.debug:
        traceback.print_exc()
    print(f"ratiobench: {tamed(line, LONGEST)}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="ratiobench",
        description="How far an online algorithm is from the offline optimum, with proof.",
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of a failure")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Any, summary: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        sub.set_defaults(run=run)
        return sub

    sub = command("list", _list, "what there is")
    sub.add_argument("what", choices=["suites", "algorithms", "formulations", "traces", "families"])
    sub.add_argument("--json", action="store_true")

    sub = command("generate", _generate, "write the instance files of a suite")
    sub.add_argument("suite", metavar="SUITE")
    sub.add_argument("--out", metavar="DIR", type=Path, required=True)
    _part_of_suite(sub)
    sub.add_argument("--json", action="store_true")

    sub = command("opt", _opt, "OPT, or a certified interval on it")
    _file(sub)
    _solving(sub)
    _staying(sub, "the optimum with every task on one node instead")
    _answer(sub)
    sub.add_argument("--certificate", metavar="CERT", type=Path, help="write what proves it, for `check --certificate`")
    sub.add_argument("--log", metavar="CSV", type=Path, help="write when each end of the interval moved")

    sub = command("online", _online, "one online run under the referee")
    _file(sub)
    _algorithm(sub)
    sub.add_argument(
        "--limit", type=_seconds, metavar="S", help="stop the run after S seconds; it is then no valid one"
    )
    _isolating(sub)
    _staying(sub, "the algorithm's form that keeps every task on one node; the referee refuses any other decision")
    _answer(sub)

    sub = command("audit", _audit, "what the theory claims, checked on one run")
    _file(sub)
    _algorithm(sub)
    _solving(sub)
    sub.add_argument("--claim", metavar="NAME", action="append", default=[], help="this check only; may be repeated")
    sub.add_argument(
        "--task", metavar="I", type=_index, help="what this bidder (from 0) gains by misreporting, in depth; no OPT"
    )
    sub.add_argument(
        "--curve", metavar="CSV", help="no checks: write the utility of --task over its bid; - for standard output"
    )
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")

    sub = command("search", _search, "look for an instance that violates a claim, or comes closest")
    sub.add_argument("claim", metavar="CLAIM", help="theorem5, lemma3, ...; any other name lists them")
    sub.add_argument("--tasks", type=_up_to(8), default=6, metavar="N", help="most tasks (6)")
    sub.add_argument("--slots", type=_up_to(8), default=5, metavar="N", help="most slots (5)")
    sub.add_argument("--nodes", type=_up_to(4), metavar="N", help="most nodes (1 or 2, by the claim)")
    sub.add_argument("--largest", type=_up_to(10**6), default=200, metavar="N", help="largest number (200)")
    sub.add_argument("--seed", type=_natural, default=0, metavar="S", help="of everything random (0)")
    limit = sub.add_mutually_exclusive_group()
    limit.add_argument("--tries", type=_up_to(10**12), metavar="N", help="instances tried in all (100000)")
    limit.add_argument("--seconds", type=_seconds, metavar="S", help="time limit; the result depends on the machine")
    sub.add_argument("--smaller", action="store_true", help="after a violation go on for one with fewer tasks")
    sub.add_argument("--out", metavar="DIR", type=Path, help="folder of the witness and of the search's state")
    sub.add_argument("--resume", action="store_true", help="go on with the search that stands in the folder")
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")

    sub = command("check", _check, "verify a solution, or the certificate of an interval on OPT, exactly")
    _file(sub)
    checked = sub.add_mutually_exclusive_group(required=True)
    checked.add_argument("solution", metavar="SOLUTION", nargs="?", help="solution file; - for standard input")
    checked.add_argument("--certificate", metavar="CERT", help="certificate file instead; - for standard input")
    _staying(sub, "every task has to stay on one node, too")
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")

    sub = command("export", _export, "the model, for any other solver, on standard output")
    _file(sub)
    sub.add_argument("--format", choices=["mps", "lp"], required=True)
    sub.add_argument("--formulation", default="auto", metavar="F")

    sub = command("run", _run, "run a suite, resume it, report")
    sub.add_argument("suite", metavar="SUITE")
    sub.add_argument("--out", metavar="DIR", type=Path, help="folder of the results (results/SUITE)")
    sub.add_argument("--workers", type=_positive, metavar="N", help="worker processes (one per core)")
    sub.add_argument("--dask", metavar="ADDRESS", help="a dask scheduler instead of processes of this machine")
    sub.add_argument(
        "--algorithm", metavar="NAME", action="append", default=[], help="one more algorithm in every case"
    )
    _part_of_suite(sub)
    sub.add_argument(
        "--effort", type=_effort, default=1, metavar="N", help="N times the suite's work on OPT; `high` is 8 times"
    )
    sub.add_argument("--limit", type=_seconds, metavar="S", help="give a piece of work up after this many seconds")
    _isolating(sub)
    sub.add_argument(
        "--share",
        metavar="FILE",
        type=Path,
        help="where runs find each other's results (results/pieces.sqlite; with --out none)",
    )
    sub.add_argument("--fresh", action="store_true", help="forget earlier results, and take none from --share")
    sub.add_argument("--retry-failed", action="store_true", help="try failed pieces again")
    sub.add_argument("--quiet", action="store_true", help="no progress")

    sub = command("report", _report, "tables, CSV and the page, from the results in a folder")
    sub.add_argument("folder", metavar="DIR", type=Path)
    sub.add_argument("--parquet", action="store_true", help="write results.parquet as well")
    sub.add_argument("--figures", metavar="FOLDER", type=Path, help="write the suite's figures as SVG files as well")

    sub = command("compare", _compare, "two folders of results side by side, with what differs beyond noise")
    sub.add_argument("a", metavar="A", type=Path)
    sub.add_argument("b", metavar="B", type=Path)
    sub.add_argument("--csv", metavar="FILE", type=Path, help="write the rows side by side")
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")

    sub = command("perf", _perf, "speed, side by side, in one run")
    sub.add_argument("parts", metavar="PART", nargs="*", help="all parts, if none is named")
    sub.add_argument("--out", metavar="DIR", type=Path, default=Path("results/perf"), help="folder of the results")
    sub.add_argument("--quick", action="store_true", help="small sizes only")

    sub = command("warm", _warm, "compile and cache what is compiled")
    sub.add_argument("suites", metavar="SUITE", nargs="*", help="only what these suites need")
    return parser


def _part_of_suite(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--only", metavar="PATTERN", action="append", default=[], help="these cases only (* ? [...]); may be repeated"
    )
    sub.add_argument(
        "--scale", choices=["full", "small"], default="full", help="small: the suite's figures on small instances"
    )


def _file(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("file", metavar="FILE", help="instance file, .json or .json.gz; - for standard input")
    sub.add_argument(
        "--max-bytes",
        metavar="N",
        type=_up_to(2**50),
        default=READ_LIMIT,
        help=f"most bytes of a file that are read, packed or unpacked ({READ_LIMIT})",
    )


def _algorithm(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--algorithm", metavar="NAME", required=True, help="name[:key=value,...] or package.module:Class")


def _solving(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--formulation", default="auto", metavar="F")
    sub.add_argument("--backend", default="auto", metavar="B")
    sub.add_argument("--gap", type=_gap, default=0.0, metavar="G", help="relative gap at which to stop")
    sub.add_argument(
        "--effort", type=_positive, metavar="N", help="amount of work: 1, or with --seconds as much as they allow"
    )
    sub.add_argument("--seconds", type=_seconds, metavar="S", help="time limit; the result is marked time-limited")


def _staying(sub: argparse.ArgumentParser, summary: str) -> None:
    sub.add_argument("--no-migration", action="store_true", help=summary)


def _answer(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")
    sub.add_argument("--solution", metavar="FILE", type=Path, help="write the decisions, for `check`")


def _isolating(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--isolate", action="store_true", help="run anyone's own algorithm in a sandbox of bubblewrap (Linux)"
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:10]) <= 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer in 1..1000000")
    return int(text)


def _effort(text: str) -> int:
    if text == "high":
        return HIGH_EFFORT
    try:
        return _positive(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error} and not `high`") from None


def _up_to(most: int) -> Any:
    def number(text: str) -> int:
        if not text.isdecimal() or len(text) > 18 or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer in 1..{most}")
        return int(text)

    return number


def _natural(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer in 0..10^18-1")
    return int(text)


def _index(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer from 0 on")
    return int(text)


def _seconds(text: str) -> float:
    return _number(text, "a number of seconds above 0", lambda value: 0 < value < float("inf"))


def _gap(text: str) -> float:
    return _number(text, "a relative gap in [0, 1), 0 included and 1 not", lambda value: 0 <= value < 1)


def _number(text: str, what: str, allowed: Any) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not allowed(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value


def _instance(path: str) -> tuple[Family, Any]:
    """The instance in a file, and its family, known by the file's format."""
    data, source = read_bytes(path)
    return read_instance(load_json(data, source), source)


def _settings(options: argparse.Namespace) -> SolveSettings:
    effort = options.effort or (1 if options.seconds is None else UNLIMITED)
    return SolveSettings(options.formulation, options.backend, effort, options.gap, options.seconds)


def _print_json(document: Any) -> None:
    print(json.dumps(document, indent=1, allow_nan=False))


def _list(options: argparse.Namespace) -> int:
    found = [
        {"family": family.name, "name": each.name, "summary": each.summary}
        for family in families().values()
        for each in getattr(family, options.what)()
    ]
    if options.json:
        _print_json(found)
        return 0
    width = max((len(each["name"]) for each in found), default=0)
    for family in dict.fromkeys(each["family"] for each in found):
        print(f"{family}:")
        for each in found:
            if each["family"] == family:
                print(f"  {each['name'].ljust(width)}  {each['summary']}")
    return 0


def _generate(options: argparse.Namespace) -> int:
    from bench.running.runner import at_scale, generate_suite

    family, suite = find_suite(options.suite)
    written = generate_suite(family, at_scale(suite, options.scale), options.out, options.only)
    if options.json:
        _print_json(written)
    else:
        for each in written:
            print(f"{each['file']}  {each['instance']}")
    return 0


def _opt(options: argparse.Namespace) -> int:
    _writable(options.solution, options.certificate, options.log)
    family, instance = _instance(options.file)
    if options.no_migration and options.certificate:
        raise InputError("--certificate", "", NO_CERTIFICATE)
    with _named(options.file, instance):
        if options.no_migration:
            report = _keeping(family).solve_staying(instance, _settings(options))
        elif options.certificate:
            report = _certifying(family).solve_certified(instance, _settings(options))
        else:
            report = family.solve(instance, _settings(options))
    document = family.solution_document(report.solution)
    proof = report.certificate
    if options.json:
        about = {"instance": family.identity(instance), "gap": ratios.gap(report.lower, report.upper)}
        if options.certificate:
            ends = None if proof is None else {end: work.json_number(getattr(proof, end)) for end in ("lower", "upper")}
            about["certified"] = ends
        if options.no_migration:
            about["migration"] = False
        _print_json(work.report_payload(report) | about | document)
    else:
        _print_interval(report.lower, report.upper, family.unit, " without migration" * options.no_migration)
        limited = ", time-limited" if report.time_limited else ""
        print(f"upper bound proved by: {report.proof} ({report.formulation} / {report.backend}{limited})")
        if options.no_migration:
            print("lower bound: a verified solution that keeps every task on one node")
        if report.message:
            print(report.message)
        if options.certificate and proof and report.upper < proof.upper:
            end = ratios.grouped(proof.upper, up=True)
            print(f"the certificate proves no more than {end}: a bound by {report.proof} cannot be certified")
        print(f"{report.seconds:.3f} s")
    _write_decisions(options.solution, document)
    if options.log:
        lines = [f"{seconds:.3f},{lower},{upper}\n" for seconds, lower, upper in report.trail]
        write_atomically(options.log, "".join(["seconds,lower,upper\n", *lines]).encode())
    if options.certificate and proof:
        _certifying(family).write_certificate(proof, options.certificate)
    if options.certificate and proof is None:
        return _complain(options, f"{options.certificate}: not written, no certificate was found", 1)
    return 0


def _print_interval(lower: Exact, upper: Exact, unit: str, told: str = "") -> None:
    if lower == upper:
        print(f"OPT{told} = {ratios.truncated(upper)} {unit}")
    else:
        gap = ratios.percent(ratios.gap(lower, upper))
        print(f"OPT{told} in [{ratios.grouped(lower)}, {ratios.grouped(upper, up=True)}] {unit}, gap {gap}")


def _certifying(family: Family) -> Certifying:
    if not isinstance(family, Certifying):
        raise InputError("--certificate", "", f"the family {family.name} has no certificates")
    return family


def _keeping(family: Family) -> Staying:
    if not isinstance(family, Staying):
        raise InputError("--no-migration", "", f"in the family {family.name} no task moves from node to node")
    return family


def _writable(*paths: Path | None) -> None:
    """Refuse, before the work and not after it, files that cannot be written."""
    for path in paths:
        if path is not None:
            check_writable(path)


def _write_decisions(path: Path | None, document: Any) -> None:
    """After the result has been printed: where this fails after all, the result is not lost with it."""
    if path is not None:
        sys.stdout.flush()
        write_atomically(path, (json.dumps(document) + "\n").encode())


@contextlib.contextmanager
def _named(file: str, instance: Any) -> Iterator[None]:
    """An error that names the instance names its file instead, which the floors below do not know."""
    try:
        yield
    except InputError as error:
        if error.source in ("", getattr(instance, "name", None)):
            raise InputError(file, error.field, error.problem) from None
        raise


def _or_dash(value: Any) -> Any:
    """What there is none of, as text output shows it."""
    return "-" if value is None else value


def _online(options: argparse.Namespace) -> int:
    _writable(options.solution)
    if options.isolate:
        sandbox.require()
    family, instance = _instance(options.file)
    with _named(options.file, instance), under(Terms(options.limit, options.isolate)):
        if options.no_migration:
            run = _keeping(family).run_staying(instance, options.algorithm)
        else:
            run = family.run(instance, options.algorithm)
    document = family.solution_document(run.decisions)
    if options.json:
        about = {"instance": family.identity(instance)} | ({"migration": False} if options.no_migration else {})
        _print_json(work.run_payload(run) | about | document)
    else:
        _print_run(run, objective(family), family.unit, len(document["decisions"]))
    _write_decisions(options.solution, document)
    return 0


def _print_run(run: OnlineRun, called: str, unit: str, tasks: int) -> None:
    print(f"{run.label}: {called} {ratios.truncated(run.welfare)} {unit}, admitted {run.admitted} of {tasks}")
    if run.revenue is not None:
        print(f"revenue {ratios.truncated(run.revenue)} {unit}")
    for constant in run.constants:
        source = ", ".join(filter(None, (constant.source, constant.detail)))
        print(f"constant {constant.name} = {constant.value} ({source})")
    for violation in run.violations:
        print(f"INVALID: {violation}")
    print(f"arithmetic {run.arithmetic}, {run.seconds:.3f} s")


def _curve(options: argparse.Namespace, family: Family, instance: Any) -> int:
    """The utility curve of one bidder, as CSV."""
    file = None if options.curve == "-" else Path(options.curve)
    _writable(file)
    with _named(options.file, instance):
        curve = _bidding("--curve", family).utility_curve(instance, options.algorithm, options.task)
    text = io.StringIO()
    table = csv.DictWriter(text, list(curve.rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(curve.rows)
    if file is None:
        print(text.getvalue(), end="")
    else:
        write_atomically(file, text.getvalue().encode())
    if options.json:
        about = {"instance": family.identity(instance), "task": options.task, "note": curve.note}
        _print_json(about | {"pieces": [dict(row) for row in curve.rows]})
    else:
        count = f"{len(curve.rows)} piece{'s' * (len(curve.rows) != 1)}"
        line = f"{options.curve}: {count}" + (f" by {curve.note}" if curve.note else "")
        print(line, file=sys.stderr if file is None else sys.stdout)
    return 0


def _bidding(option: str, family: Family) -> Bidding:
    if not isinstance(family, Bidding):
        raise InputError(option, "", f"the family {family.name} has no auctions")
    return family


def _bidder(options: argparse.Namespace, family: Family, instance: Any) -> int:
    """What one bidder gains by misreporting; OPT is not asked for."""
    auctions = _bidding("--task", family)
    with _named(options.file, instance):
        run = family.run(instance, options.algorithm)
        checks = [check.document() for check in auctions.audit_bidder(instance, run, options.task, options.claim)]
    if options.json:
        about = {"instance": family.identity(instance), "algorithm": run.label, "task": options.task}
        _print_json(about | _judged(run) | {"welfare": work.json_number(run.welfare), "checks": checks})
        return 0
    print(f"{run.label}: task {options.task}" + ("" if run.valid else " (INVALID run)"))
    _print_violations(run)
    _print_checks(checks, gathered=not options.claim)
    return 0


def _judged(run: OnlineRun) -> dict[str, Any]:
    return {"valid": run.valid, "violations": [str(violation) for violation in run.violations]}


def _print_violations(run: OnlineRun) -> None:
    """The first rules that a run broke."""
    for violation in run.violations[:VIOLATIONS]:
        print(f"INVALID: {violation}")
    if len(run.violations) > VIOLATIONS:
        print(f"INVALID: {len(run.violations) - VIOLATIONS} more")


def _audit(options: argparse.Namespace) -> int:
    if options.curve is not None:
        if options.task is None:
            raise InputError("--curve", "", "whose? --task I says it")
        if options.claim:
            raise InputError("--curve", "", "with --claim there are checks, with --curve there are none")
        if options.curve == "-" and options.json:
            raise InputError("--curve", "", "only one of CSV and JSON can be standard output")
    family, instance = _instance(options.file)
    family.algorithm_key(options.algorithm)
    if isinstance(family, Claiming):
        _existing_claims(options, [each.name for each in family.statements() if not each.proof])
    if options.curve is not None:
        return _curve(options, family, instance)
    if options.task is not None:
        return _bidder(options, family, instance)
    with _named(options.file, instance):
        reference = family.solve(instance, _settings(options))
        run = family.run(instance, options.algorithm)
        checks = [check.document() for check in _checks(options, family, instance, run, reference)]
    ratio = ratios.ratio(reference.lower, reference.upper, run.welfare)
    if options.json:
        _print_json(
            {
                "instance": family.identity(instance),
                "algorithm": run.label,
                **_judged(run),
                "welfare": work.json_number(run.welfare),
                "lower": work.json_number(reference.lower),
                "upper": work.json_number(reference.upper),
                "ratio": {
                    "kind": ratio.kind.value,
                    "lower": None if ratio.lower is None else str(ratio.lower),
                    "upper": None if ratio.upper is None else str(ratio.upper),
                },
                "checks": checks,
            }
        )
        return 0
    print(f"{run.label}: OPT/ALG {ratio}" + ("" if run.valid else " (INVALID run)"))
    _print_violations(run)
    _print_checks(checks, gathered=not options.claim)
    return 0


def _existing_claims(options: argparse.Namespace, known: Sequence[str]) -> None:
    for name in options.claim:
        if name not in known:
            raise InputError("--claim", "", f"{shown(name)} is not one of {', '.join(known)}")


def _checks(
    options: argparse.Namespace, family: Family, instance: Any, run: OnlineRun, reference: SolveReport
) -> Sequence[Check]:
    """Those that are asked for; without the work of the others where the family can."""
    if options.claim and isinstance(family, Selecting):
        return family.audit_claims(instance, run, reference, options.claim)
    checks = {check.name: check for check in family.audit(instance, run, reference)}
    if not isinstance(family, Claiming):
        _existing_claims(options, list(checks))
    if not options.claim:
        return list(checks.values())
    other = f"{ANOTHER}another algorithm"
    return [
        checks.get(name) or Check(name, Verdict.NOT_APPLICABLE, None, None, other)
        for name in dict.fromkeys(options.claim)
    ]


def _print_checks(checks: Sequence[Mapping[str, Any]], *, gathered: bool) -> None:
    """One by one with figures and witness; claims about another algorithm in a line each, or `gathered` in one."""
    elsewhere: dict[str, list[str]] = {}
    for check in checks:
        if check["reason"].startswith(ANOTHER):
            if gathered:
                elsewhere.setdefault(check["reason"], []).append(check["name"])
            else:
                print(f"{check['name']}: {check['status']} ({check['reason']})")
            continue
        sides = "" if check["left"] is None else f"  {_readable(check['left'])} <= {_readable(check['right'])}"
        print(f"{check['name']}: {check['status']}{sides}" + (f"  ({check['reason']})" if check["reason"] else ""))
        for name, value in check["figures"].items():
            print(f"    {name} = {_readable(value)}")
        if check["witness"]:
            print(f"    witness: {json.dumps(check['witness'])}")
    for reason, claims in elsewhere.items():
        print(f"not applicable ({reason}): {', '.join(claims)}")


def _readable(value: str | None) -> str:
    """An exact figure as text shows it: a long fraction as a decimal that was cut off; --json has it in full."""
    if value is None:
        return "-"
    found = re.fullmatch(r"-?[0-9]+/[0-9]+", value)
    return ratios.truncated(Fraction(value)) if found and len(value) > READABLE else value


def _search(options: argparse.Namespace) -> int:
    from bench.cli.hunting import search

    return search(options)


def _check(options: argparse.Namespace) -> int:
    judged = options.certificate or options.solution
    if options.file == judged == "-":
        raise InputError("<stdin>", "", "only one of the two files can be standard input")
    family, instance = _instance(options.file)
    data, source = read_bytes(judged)
    if options.certificate and options.no_migration:
        raise InputError("--certificate", "", NO_CERTIFICATE)
    if options.certificate:
        return _check_certificate(options, _certifying(family), instance, load_json(data, source), source)
    judge = _keeping(family).check_staying if options.no_migration else family.check
    verdict = judge(instance, load_json(data, source), source)
    if options.json:
        _print_json({key: work.json_number(v) if isinstance(v, Fraction) else v for key, v in verdict.items()})
        return 0
    print("valid" if verdict["valid"] else "NOT VALID")
    for key, value in verdict.items():
        if key not in ("valid", "violations"):
            told = ratios.truncated(value) if isinstance(value, int | Fraction) else _or_dash(value)
            print(f"{objective(family) if key == 'welfare' else key} {told}")
    for violation in verdict["violations"][:BREACHES]:
        print(violation)
    if len(verdict["violations"]) > BREACHES:
        print(f"{len(verdict['violations']) - BREACHES} more (--json shows all)")
    return 0


def _check_certificate(options: argparse.Namespace, family: Certifying, instance: Any, data: Any, source: str) -> int:
    verdict = family.check_certificate(instance, data, source)
    if options.json:
        _print_json({key: work.json_number(v) if isinstance(v, Fraction) else v for key, v in verdict.items()})
    elif verdict["valid"]:
        print("valid")
        _print_interval(verdict["lower"], verdict["upper"], family.unit)
    else:
        print("NOT VALID")
        print(verdict["problem"])
    return 0


def _export(options: argparse.Namespace) -> int:
    family, instance = _instance(options.file)
    sys.stdout.write(family.export(instance, options.format, options.formulation))
    return 0


def _run(options: argparse.Namespace) -> int:
    from bench.running.runner import RunOptions, places, run_suite

    family, suite = find_suite(options.suite)
    out, share = places(options.out, options.share, suite.name, options.scale)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_complain(options, "terminated; what was finished is kept", 143)))
    chosen = RunOptions(
        out=out,
        workers=options.workers,
        dask=options.dask,
        fresh=options.fresh,
        retry_failed=options.retry_failed,
        quiet=options.quiet,
        limit=options.limit,
        isolate=options.isolate,
        algorithms=tuple(options.algorithm),
        share=share,
        only=tuple(options.only),
        effort=options.effort,
        scale=options.scale,
    )
    spent = run_suite(family, suite, chosen)
    return _show(out, spent)


def _report(options: argparse.Namespace) -> int:
    if not options.parquet:
        return _show(options.folder, {}, options.figures)
    from bench.api import results
    from bench.tables import parquet

    parquet.require()
    status = _show(options.folder, {}, options.figures)
    parquet.write(results(options.folder).exact, options.folder / parquet.FILE)
    return status


def _show(folder: Path, spent: dict[str, float], figures: Path | None = None) -> int:
    """Print the tables, write CSV and page; status 1 when something failed."""
    from bench.report import write_report

    return write_report(folder, spent, figures)


def _compare(options: argparse.Namespace) -> int:
    from bench.tables import compare

    _writable(options.csv)
    found = compare.compare(options.a, options.b)
    if options.json:
        _print_json(compare.document(found))
    else:
        print(compare.text(found))
    if options.csv:
        sys.stdout.flush()
        write_atomically(options.csv, compare.as_csv(found).encode())
    return 0


def _perf(options: argparse.Namespace) -> int:
    from bench.perf import command

    return command.run(options.parts, options.out, options.quick)


def _warm(options: argparse.Namespace) -> int:
    needed = {find_suite(name)[0].name for name in options.suites} or set(families())
    for name, family in families().items():
        if name in needed:
            family.warm()
    return 0
