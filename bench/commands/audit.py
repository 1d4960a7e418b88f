"""The command `audit`: what the theory claims, checked on one run."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import InstanceOptions, IsolationOptions, SolveOptions, read_given, require_claims
from ratiobench.bench.commands.texts import (
    name_the_file,
    ratio_document,
    require_writable,
    verdict_of,
    violation_lines,
    write_csv,
)
from ratiobench.bench.family.capabilities import BidCurve, Bidding
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.explanation import find_used_signs
from ratiobench.bench.family.registry import require_algorithms
from ratiobench.bench.options import File, Integer, Text, option
from ratiobench.bench.results import ratios
from ratiobench.bench.running.options import ALGORITHM, one_algorithm
from ratiobench.bench.storage.payload import json_number
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import write_atomically
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run_context import run_context

READABLE = 24  # Characters up to which `audit` prints a fraction as it is


@dataclass(frozen=True, kw_only=True)
class Audit(SolveOptions, IsolationOptions, InstanceOptions):
    """Options of `audit`."""

    algorithm: str = one_algorithm(ALGORITHM)
    claim: tuple[str, ...] = option("check only these claims", Text(), "NAME", several=True)
    task: int | None = option(
        "examine the gain of this bidder (from 0) by misreports in depth; OPT is not computed",
        Integer(0, 10**9 - 1),
        "I",
    )
    curve: str | None = option(
        "also write the utility of --task over its bid; - for standard output, without other output", Text(), "CSV"
    )
    csv: Path | None = option("write the checks, one row each, with exact figures", File(), "FILE")
    prior: Any = None


@dataclass(frozen=True, slots=True)
class BidderAudit:
    """A run with its checks, and the bid curve of one bidder, where that is asked for."""

    family: Family
    instance: Any
    run: OnlineRun
    checks: Sequence[Check]
    curve: BidCurve | None = None


@dataclass(frozen=True, slots=True)
class RunAudit:
    """A run with its checks, and OPT."""

    family: Family
    instance: Any
    run: OnlineRun
    checks: Sequence[Check]
    reference: SolveReport

    @property
    def ratio(self) -> ratios.Ratio:
        """Of OPT and the run."""
        return ratios.ratio(self.reference.lower, self.reference.upper, self.run.welfare, self.family.sense)


def run(options: Audit) -> RunAudit | BidderAudit | BidCurve:
    """Run and check; with ``--curve -`` the curve of one bidder alone."""
    require_writable(options.csv, _curve_file(options))
    if options.curve is not None:
        if options.task is None:
            raise InputError("--curve", "", "needs --task I, the number of the bidder")
        if options.curve == "-" and options.claim:
            raise InputError("--curve", "", "--curve - prints the curve only, so it cannot be combined with --claim")
        if options.curve == "-" and options.json:
            raise InputError("--curve", "", "only one of CSV and JSON can be standard output")
    return audit_run(options) if options.task is None else _audit_bidder(options, options.task)


def audit_run(options: Audit) -> RunAudit:
    """Look for OPT, run the algorithm, and check the claims."""
    family, instance = options.read()
    if not family.statements():
        instead = "`explain FILE` says where its cost comes from, `check FILE` verifies schedules and certificates"
        raise InputError("audit", "", f"the family {family.name} has no claims; {instead}")
    with _prepare(options, family, instance):
        reference = family.solve(instance, options.settings(family))
        other = None if options.prior is None else read_given(options.prior)[1]
        found = family.run(instance, options.algorithm, other)
        return RunAudit(family, instance, found, family.audit(instance, found, reference, options.claim), reference)


@contextlib.contextmanager
def _prepare(options: Audit, family: Family, instance: Any) -> Iterator[None]:
    """The context of the runs; an algorithm or a claim that does not exist is refused before any work."""
    files = options.file, options.prior, options.csv, _curve_file(options)
    with run_context(options.context(family, *files)):
        require_algorithms(family, [options.algorithm])
        require_claims(options.claim, family)
        with name_the_file(options.file, instance):
            yield


def _audit_bidder(options: Audit, task: int) -> BidderAudit | BidCurve:
    """What one bidder gains by misreporting, without OPT."""
    family, instance = options.read()
    curve = None
    with _prepare(options, family, instance):
        if options.curve is not None:
            curve = _bidding("--curve", family).utility_curve(instance, options.algorithm, task)
            if options.curve == "-":
                return curve
        auctions = _bidding("--task", family)
        found = family.run(instance, options.algorithm)
        checks = auctions.audit_bidder(instance, found, task, options.claim)
    return BidderAudit(family, instance, found, checks, curve)


def _bidding(option: str, family: Family) -> Bidding:
    if family.bidding is None:
        raise InputError(option, "", f"the family {family.name} has no auctions")
    return family.bidding


def text(options: Audit, found: RunAudit | BidderAudit | BidCurve) -> Iterator[str]:
    """The verdicts, or the curve alone."""
    if not isinstance(found, RunAudit | BidderAudit):
        yield _curve_csv(found).removesuffix("\n")
        print(_curve_line(options, found), file=sys.stderr)
        return
    if isinstance(found, BidderAudit) and found.curve is not None:
        yield _curve_line(options, found.curve)
    what = f"task {options.task}" if isinstance(found, BidderAudit) else f"{found.family.sense.ratio} {found.ratio}"
    yield f"{found.run.label}: {what}" + ("" if found.run.valid else " (INVALID run)")
    yield from violation_lines(found.run)
    yield from _check_lines(_documents(found), found.family.notation(), gathered=not options.claim)


def document(options: Audit, found: RunAudit | BidderAudit) -> dict[str, Any]:
    """The verdicts with exact figures."""
    about: dict[str, Any] = {"instance": found.family.identity(found.instance), "algorithm": found.run.label}
    if isinstance(found, BidderAudit):
        about["task"] = options.task
        if found.curve is not None:
            about |= {"note": found.curve.note, "pieces": [dict(row) for row in found.curve.rows]}
    about |= verdict_of(found.run) | {"welfare": json_number(found.run.welfare)}
    if isinstance(found, RunAudit):
        about |= {end: json_number(getattr(found.reference, end)) for end in ("lower", "upper")}
        about["ratio"] = ratio_document(found.ratio)
    return about | {"checks": _documents(found)}


def write(options: Audit, found: RunAudit | BidderAudit | BidCurve) -> None:
    """The checks and the curve as CSV."""
    if isinstance(found, RunAudit | BidderAudit):
        hidden = ("figures", "witness")
        rows = [{key: value for key, value in each.items() if key not in hidden} for each in _documents(found)]
        write_csv(options.csv, rows)
    file = _curve_file(options)
    if isinstance(found, BidderAudit) and found.curve is not None and file is not None:
        write_atomically(file, _curve_csv(found.curve).encode())


def _documents(found: RunAudit | BidderAudit) -> list[dict[str, Any]]:
    return [check.document() for check in found.checks]


def _curve_file(options: Audit) -> Path | None:
    return None if options.curve in (None, "-") else Path(str(options.curve))


def _curve_csv(curve: BidCurve) -> str:
    into = io.StringIO()
    table = csv.DictWriter(into, list(curve.rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(curve.rows)
    return into.getvalue()


def _curve_line(options: Audit, curve: BidCurve) -> str:
    count = f"{len(curve.rows)} piece{'s' * (len(curve.rows) != 1)}"
    return f"{options.curve}: {count}" + (f" by {curve.note}" if curve.note else "")


def _check_lines(
    checks: Sequence[Mapping[str, Any]], signs: Sequence[tuple[str, str]], *, gathered: bool
) -> Iterator[str]:
    """The summary of several, then one by one with figures of its own and witness; last figures that they share.

    Claims about another algorithm stand in a line each, or `gathered` in one.
    """
    if len(checks) > 1:
        yield _summary(checks)
    shared = _shared_figures([check for check in checks if not check["reason"].startswith(ANOTHER)])
    elsewhere: dict[str, list[str]] = {}
    for check in checks:
        if check["reason"].startswith(ANOTHER):
            if gathered:
                elsewhere.setdefault(check["reason"], []).append(check["name"])
            else:
                yield f"{check['name']}: {check['status']} ({check['reason']})"
            continue
        sides = (
            "" if check["left"] is None else f"  {_readable(check['left'])} {_sign(check)} {_readable(check['right'])}"
        )
        yield f"{check['name']}: {check['status']}{sides}" + (f"  ({check['reason']})" if check["reason"] else "")
        for name, value in check["figures"].items():
            if shared.get(name, ...) != value:
                yield f"    {name} = {_readable(value)}"
        if check["witness"]:
            yield f"    witness: {json.dumps(check['witness'])}"
    for reason, claims in elsewhere.items():
        yield f"not applicable ({reason}): {', '.join(claims)}"
    if shared:
        yield "figures of several claims:"
        for name, value in shared.items():
            yield f"    {name} = {_readable(value)}"
        named = find_used_signs(" ".join(shared), signs)
        if named:
            yield "symbols:"
            yield from (f"    {sign}: {meaning}" for sign, meaning in named)


def _sign(check: Mapping[str, Any]) -> str:
    """The relation of the two sides as it was found; a question mark where it is undecided."""
    verdict = check["status"]
    return ">" if verdict == Verdict.VIOLATED else "<=?" if verdict == Verdict.UNDECIDED else "<="


def _summary(checks: Sequence[Mapping[str, Any]]) -> str:
    """How many checks gave each verdict; those that are violated with both sides: `1 violated: NAME 26 > 49/2`."""
    parts = []
    for verdict in (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE):
        found = [check for check in checks if check["status"] == verdict]
        message = f"{len(found)} {'hold' if verdict is Verdict.HOLDS and len(found) != 1 else verdict.value}"
        if verdict is Verdict.VIOLATED and found:
            message += ": " + ", ".join(map(_broken, found))
        elif verdict is Verdict.UNDECIDED and found:
            message += f": {', '.join(check['name'] for check in found)}"
        if found or verdict is Verdict.VIOLATED:
            parts.append(message)
    return "; ".join(parts)


def _broken(check: Mapping[str, Any]) -> str:
    """A violated claim with its sides, where it has both."""
    if check["left"] is None or check["right"] is None:
        return str(check["name"])
    return f"{check['name']} {_readable(check['left'])} > {_readable(check['right'])}"


def _shared_figures(checks: Sequence[Mapping[str, Any]]) -> dict[str, str | None]:
    values: dict[str, list[str | None]] = {}
    for check in checks:
        for name, value in check["figures"].items():
            values.setdefault(name, []).append(value)
    return {name: found[0] for name, found in values.items() if len(found) > 1 and len(set(found)) == 1}


def _readable(value: str | None) -> str:
    """An exact figure as text shows it: a long fraction as a decimal that was cut off; --json has it in full."""
    if value is None:
        return "-"
    found = re.fullmatch(r"-?[0-9]+/[0-9]+", value)
    return ratios.format_truncated(Fraction(value)) if found and len(value) > READABLE else value


AUDIT = Command(Audit, run, text=text, document=document, write=write, busy="solving, running and checking")
