"""The commands `opt`, `check` and `export`."""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.cli.arguments import (
    Command,
    add_answer,
    add_file,
    add_formulation,
    add_no_migration,
    add_solving,
    read_given_instance,
    require_single_node,
    solve_settings,
)
from ratiobench.bench.cli.printing import (
    complain,
    name_the_file,
    or_dash,
    print_interval,
    print_json,
    require_writable,
    write_decisions,
)
from ratiobench.bench.family.capabilities import Certificates
from ratiobench.bench.family.contract import Family
from ratiobench.bench.storage.payload import json_number, report_payload
from ratiobench.bench.tables import ratios
from ratiobench.instances.errors import InputError
from ratiobench.instances.files import load_json, read_bytes, text_of, write_atomically

BREACHES = 20
"""So many violated constraints are shown by `check`; --json has all."""
NO_CERTIFICATE = "with --no-migration there is none: certificates prove intervals on OPT with migration"


def add_opt(command: Command) -> None:
    """The command `opt`."""
    sub = command("opt", _opt, "OPT, or a certified interval on it")
    sub.set_defaults(busy="looking for OPT")
    add_file(sub)
    add_solving(sub)
    add_no_migration(sub, "the optimum with every task on one node instead")
    add_answer(sub)
    sub.add_argument("--certificate", metavar="CERT", type=Path, help="write what proves it, for `check --certificate`")
    sub.add_argument("--log", metavar="CSV", type=Path, help="write when each end of the interval moved")


def add_check(command: Command) -> None:
    """The command `check`."""
    sub = command("check", _check, "verify a solution, or the certificate of an interval on OPT, exactly")
    sub.set_defaults(busy="checking")
    add_file(sub)
    checked = sub.add_mutually_exclusive_group(required=True)
    checked.add_argument("solution", metavar="SOLUTION", nargs="?", help="solution file; - for standard input")
    checked.add_argument("--certificate", metavar="CERT", help="certificate file instead; - for standard input")
    add_no_migration(sub, "every task has to stay on one node, too")
    sub.add_argument("--explain", action="store_true", help="with --certificate: what it proves, and all that is in it")
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")


def add_export(command: Command) -> None:
    """The command `export`."""
    sub = command("export", _export, "the model, for any other solver, on standard output")
    sub.set_defaults(busy="building the model")
    add_file(sub)
    sub.add_argument("--format", choices=["mps", "lp"], required=True, help="of the text")
    add_formulation(sub)


def _opt(options: argparse.Namespace) -> int:
    require_writable(options.solution, options.certificate, options.log)
    family, instance = read_given_instance(options.file)
    if options.no_migration and options.certificate:
        raise InputError("--certificate", "", NO_CERTIFICATE)
    with name_the_file(options.file, instance):
        if options.no_migration:
            report = require_single_node(family).solve(instance, solve_settings(options, family))
        elif options.certificate:
            report = require_certificates(family).solve(instance, solve_settings(options, family), None)
        else:
            report = family.solve(instance, solve_settings(options, family))
    document = family.solution_document(report.solution)
    proof = report.certificate
    if options.json:
        about = {"instance": family.identity(instance), "gap": ratios.gap(report.lower, report.upper)}
        if options.certificate:
            ends = None if proof is None else {end: json_number(getattr(proof, end)) for end in ("lower", "upper")}
            about["certified"] = ends
        if options.no_migration:
            about["migration"] = False
        print_json(report_payload(report) | about | document)
    else:
        print_interval(report.lower, report.upper, family.unit, " without migration" * options.no_migration)
        limited = ", time-limited" if report.time_limited else ""
        print(
            f"{family.sense.bound} bound proved by: {report.proof} ({report.formulation} / {report.backend}{limited})"
        )
        if report.solver is not None:
            print(f"the solver said: {report.solver.text()}")
        if options.no_migration:
            print(f"{family.sense.verified} bound: a verified solution that keeps every task on one node")
        if report.message:
            print(report.message)
        if options.certificate and proof and report.upper < proof.upper:
            end = ratios.grouped(proof.upper, up=True)
            print(f"the certificate proves no more than {end}: a bound by {report.proof} cannot be certified")
        print(f"{report.seconds:.3f} s")
    write_decisions(options.solution, document)
    if options.log:
        lines = [f"{seconds:.3f},{lower},{upper}\n" for seconds, lower, upper in report.trail]
        write_atomically(options.log, "".join(["seconds,lower,upper\n", *lines]).encode())
    if options.certificate and proof:
        require_certificates(family).write(proof, options.certificate)
    if options.certificate and proof is None:
        return complain(options, f"{options.certificate}: not written, no certificate was found", 1)
    return 0


def require_certificates(family: Family) -> Certificates:
    """The family's certificates; InputError where it has none."""
    if family.certificates is None:
        raise InputError("--certificate", "", f"the family {family.name} has no certificates")
    return family.certificates


def _refuse_other(data: Any, source: str, certificate: bool) -> None:
    """A certificate in a solution's place, or a solution in a certificate's, is one option away from being checked."""
    given = isinstance(data, dict) and "certificate" in str(data.get("format"))
    if given and not certificate:
        raise InputError(source, "", "it is a certificate of an interval on OPT, no solution: --certificate checks it")
    if certificate and not given and isinstance(data, dict) and "decisions" in data and "sha256" not in data:
        raise InputError(source, "", "it is a solution, no certificate: `check FILE SOLUTION` checks it")


def _check(options: argparse.Namespace) -> int:
    judged = options.certificate or options.solution
    if options.file == judged == "-":
        raise InputError("<stdin>", "", "only one of the two files can be standard input")
    family, instance = read_given_instance(options.file)
    data, source = read_bytes(judged)
    if options.certificate and options.no_migration:
        raise InputError("--certificate", "", NO_CERTIFICATE)
    if options.explain and (options.json or not options.certificate):
        raise InputError("--explain", "", "it goes with --certificate, and not with --json")
    document = load_json(data, source)
    _refuse_other(document, source, bool(options.certificate))
    if options.certificate:
        return _check_certificate(options, family, instance, document, source)
    judge = require_single_node(family).check if options.no_migration else family.check
    verdict = judge(instance, document, source)
    if options.json:
        print_json({key: json_number(v) if isinstance(v, Fraction) else v for key, v in verdict.items()})
        return 0
    print("valid" if verdict["valid"] else "NOT VALID")
    for key, value in verdict.items():
        if key not in ("valid", "violations"):
            told = ratios.truncated(value) if isinstance(value, int | Fraction) else or_dash(value)
            print(f"{family.objective if key == 'welfare' else key} {told}")
    for violation in verdict["violations"][:BREACHES]:
        print(violation)
    if len(verdict["violations"]) > BREACHES:
        print(f"{len(verdict['violations']) - BREACHES} more (--json shows all)")
    return 0


def _check_certificate(options: argparse.Namespace, family: Family, instance: Any, data: Any, source: str) -> int:
    certificates = require_certificates(family)
    sum_text, verdict = certificates.sum_text, certificates.check(instance, data, source)
    if options.json:
        print_json({key: json_number(v) if isinstance(v, Fraction) else v for key, v in verdict.items()})
    elif verdict["valid"]:
        print("valid")
        print_interval(verdict["lower"], verdict["upper"], family.unit)
    else:
        print("NOT VALID")
        print(verdict["problem"])
    if options.explain:
        sums = f"{sum_text(instance, data)}\n" if sum_text is not None and verdict["valid"] else ""
        print(f"it proves: {certificates.proves}\n{sums}{text_of(data)}", end="")
    return 0


def _export(options: argparse.Namespace) -> int:
    family, instance = read_given_instance(options.file)
    sys.stdout.write(family.export(instance, options.format, options.formulation))
    return 0
