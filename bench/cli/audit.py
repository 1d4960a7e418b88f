"""The command `audit`."""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.cli.arguments import (
    Command,
    add_algorithm,
    add_file,
    add_solving,
    index,
    read_given_instance,
    solve_settings,
)
from ratiobench.bench.cli.parser import claim_names, complete_by
from ratiobench.bench.cli.printing import (
    name_the_file,
    print_json,
    print_violations,
    require_writable,
    verdict_of,
    write_csv,
)
from ratiobench.bench.family.capabilities import BidCurve, Bidding
from ratiobench.bench.family.checks import ANOTHER, Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.explanation import used_signs
from ratiobench.bench.family.registry import require_algorithms
from ratiobench.bench.storage.payload import json_number
from ratiobench.bench.tables import ratios
from ratiobench.instances.errors import InputError, not_one_of
from ratiobench.instances.files import write_atomically

READABLE = 24
"""Characters up to which `audit` prints a fraction as it is."""


def add_audit(command: Command) -> None:
    """The command `audit`."""
    sub = command("audit", _audit, "what the theory claims, checked on one run")
    sub.set_defaults(busy="solving, running and checking")
    add_file(sub)
    add_algorithm(sub)
    add_solving(sub)
    complete_by(
        sub.add_argument(
            "--claim", metavar="NAME", action="append", default=[], help="this check only; may be repeated"
        ),
        claim_names,
    )
    sub.add_argument(
        "--task", metavar="I", type=index, help="what this bidder (from 0) gains by misreporting, in depth; no OPT"
    )
    sub.add_argument(
        "--curve", metavar="CSV", help="write the utility of --task over its bid, too; - for standard output, alone"
    )
    sub.add_argument("--csv", metavar="FILE", type=Path, help="write the checks, a row each, figures exact")
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")


def _write_curve(options: argparse.Namespace, family: Family, instance: Any) -> BidCurve:
    """Write the utility curve of one bidder, as CSV, and say so."""
    file = None if options.curve == "-" else Path(options.curve)
    require_writable(file)
    with name_the_file(options.file, instance):
        curve = _bidding("--curve", family).utility_curve(instance, options.algorithm, options.task)
    text = io.StringIO()
    table = csv.DictWriter(text, list(curve.rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(curve.rows)
    if file is None:
        print(text.getvalue(), end="")
    else:
        write_atomically(file, text.getvalue().encode())
    if not options.json:
        count = f"{len(curve.rows)} piece{'s' * (len(curve.rows) != 1)}"
        line = f"{options.curve}: {count}" + (f" by {curve.note}" if curve.note else "")
        print(line, file=sys.stderr if file is None else sys.stdout)
    return curve


def _bidding(option: str, family: Family) -> Bidding:
    if family.bidding is None:
        raise InputError(option, "", f"the family {family.name} has no auctions")
    return family.bidding


def _bidder(options: argparse.Namespace, family: Family, instance: Any) -> int:
    """What one bidder gains by misreporting, and its utility curve, if that is asked for; OPT is not asked for."""
    curve = None if options.curve is None else _write_curve(options, family, instance)
    if options.curve == "-":
        return 0
    auctions = _bidding("--task", family)
    with name_the_file(options.file, instance):
        run = family.run(instance, options.algorithm)
        checks = [check.document() for check in auctions.audit_bidder(instance, run, options.task, options.claim)]
    _write_checks(options.csv, checks)
    if options.json:
        about: dict[str, Any] = {"instance": family.identity(instance), "algorithm": run.label, "task": options.task}
        if curve is not None:
            about |= {"note": curve.note, "pieces": [dict(row) for row in curve.rows]}
        print_json(about | verdict_of(run) | {"welfare": json_number(run.welfare), "checks": checks})
        return 0
    print(f"{run.label}: task {options.task}" + ("" if run.valid else " (INVALID run)"))
    print_violations(run)
    _print_checks(checks, family.notation(), gathered=not options.claim)
    return 0


def _audit(options: argparse.Namespace) -> int:
    require_writable(options.csv)
    if options.curve is not None:
        if options.task is None:
            raise InputError("--curve", "", "whose? --task I says it")
        if options.curve == "-" and options.claim:
            raise InputError("--curve", "", "with --claim there are checks, with --curve - there is the curve alone")
        if options.curve == "-" and options.json:
            raise InputError("--curve", "", "only one of CSV and JSON can be standard output")
    family, instance = read_given_instance(options.file)
    require_algorithms(family, [options.algorithm])
    if family.claims is not None:
        _existing_claims(options, [each.name for each in family.statements() if not each.proof])
    if options.task is not None:
        return _bidder(options, family, instance)
    with name_the_file(options.file, instance):
        reference = family.solve(instance, solve_settings(options, family))
        run = family.run(instance, options.algorithm)
        checks = [check.document() for check in family.audit(instance, run, reference, options.claim)]
    _write_checks(options.csv, checks)
    ratio = ratios.ratio(reference.lower, reference.upper, run.welfare, family.sense)
    if options.json:
        print_json(
            {
                "instance": family.identity(instance),
                "algorithm": run.label,
                **verdict_of(run),
                "welfare": json_number(run.welfare),
                "lower": json_number(reference.lower),
                "upper": json_number(reference.upper),
                "ratio": {
                    "kind": ratio.kind.value,
                    "lower": None if ratio.lower is None else str(ratio.lower),
                    "upper": None if ratio.upper is None else str(ratio.upper),
                },
                "checks": checks,
            }
        )
        return 0
    print(f"{run.label}: {family.sense.ratio} {ratio}" + ("" if run.valid else " (INVALID run)"))
    print_violations(run)
    _print_checks(checks, family.notation(), gathered=not options.claim)
    return 0


def _write_checks(path: Path | None, checks: Sequence[Mapping[str, Any]]) -> None:
    write_csv(
        path, [{key: value for key, value in each.items() if key not in ("figures", "witness")} for each in checks]
    )


def _existing_claims(options: argparse.Namespace, known: Sequence[str]) -> None:
    for name in options.claim:
        if name not in known:
            raise InputError("--claim", "", not_one_of(name, known, "list claims"))


def _print_checks(checks: Sequence[Mapping[str, Any]], signs: Sequence[tuple[str, str]], *, gathered: bool) -> None:
    """The summary of several, then one by one with figures of its own and witness; last figures that they share.

    Claims about another algorithm stand in a line each, or `gathered` in one.
    """
    if len(checks) > 1:
        print(_summary(checks))
    shared = _shared_figures([check for check in checks if not check["reason"].startswith(ANOTHER)])
    elsewhere: dict[str, list[str]] = {}
    for check in checks:
        if check["reason"].startswith(ANOTHER):
            if gathered:
                elsewhere.setdefault(check["reason"], []).append(check["name"])
            else:
                print(f"{check['name']}: {check['status']} ({check['reason']})")
            continue
        sides = (
            "" if check["left"] is None else f"  {_readable(check['left'])} {_sign(check)} {_readable(check['right'])}"
        )
        print(f"{check['name']}: {check['status']}{sides}" + (f"  ({check['reason']})" if check["reason"] else ""))
        for name, value in check["figures"].items():
            if shared.get(name, ...) != value:
                print(f"    {name} = {_readable(value)}")
        if check["witness"]:
            print(f"    witness: {json.dumps(check['witness'])}")
    for reason, claims in elsewhere.items():
        print(f"not applicable ({reason}): {', '.join(claims)}")
    if shared:
        print("figures of several claims:")
        for name, value in shared.items():
            print(f"    {name} = {_readable(value)}")
        named = used_signs(" ".join(shared), signs)
        for line in ["what the signs mean:", *(f"    {sign}: {meaning}" for sign, meaning in named)] if named else []:
            print(line)


def _sign(check: Mapping[str, Any]) -> str:
    """The relation of the two sides as it was found; a question mark where it is undecided."""
    verdict = check["status"]
    return ">" if verdict == Verdict.VIOLATED else "<=?" if verdict == Verdict.UNDECIDED else "<="


def _summary(checks: Sequence[Mapping[str, Any]]) -> str:
    """How many checks gave each verdict; those that are violated with both sides: `1 violated: NAME 26 > 49/2`."""
    parts = []
    for verdict in (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE):
        found = [check for check in checks if check["status"] == verdict]
        told = f"{len(found)} {'hold' if verdict is Verdict.HOLDS and len(found) != 1 else verdict.value}"
        if verdict is Verdict.VIOLATED and found:
            told += ": " + ", ".join(map(_broken, found))
        elif verdict is Verdict.UNDECIDED and found:
            told += f": {', '.join(check['name'] for check in found)}"
        if found or verdict is Verdict.VIOLATED:
            parts.append(told)
    return "; ".join(parts)


def _broken(check: Mapping[str, Any]) -> str:
    """A violated claim with its sides, where it has both."""
    if check["left"] is None or check["right"] is None:
        return str(check["name"])
    return f"{check['name']} {_readable(check['left'])} > {_readable(check['right'])}"


def _shared_figures(checks: Sequence[Mapping[str, Any]]) -> dict[str, str | None]:
    """The figures that more than one check has with one and the same value."""
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
    return ratios.truncated(Fraction(value)) if found and len(value) > READABLE else value
