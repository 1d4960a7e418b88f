"""The command `search`: files, progress and output around a family's search for counterexamples."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ratiobench.bench.cli.arguments import ALGORITHM, Command, add_algorithm, natural, seconds, up_to
from ratiobench.bench.cli.parser import complete_by
from ratiobench.bench.family.capabilities import SearchFunction, SearchResult, SearchSettings
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import (
    claim_searches,
    find_claim_search,
    find_worst_case_search,
    require_algorithms,
)
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.running.heartbeat import now_at
from ratiobench.bench.tables import ratios
from ratiobench.instances.errors import InputError, make_printable
from ratiobench.instances.files import check_writable, load_json, make_folder, read_bytes, write_atomically

TRIES = 100_000
"""Instances tried where neither --tries nor --seconds is given."""
RUNS = 3000
"""The same where an algorithm runs on each."""
WORST = "worst"
"""The name of the files of a search for an algorithm's worst ratio."""


def add_search(command: Command) -> None:
    """The command `search`."""
    sub = command(
        "search", search, "look for an instance that violates a claim, or on which an algorithm is furthest from OPT"
    )
    complete_by(
        sub.add_argument("claim", metavar="CLAIM", nargs="?", help="name of a claim, as `list searches` prints them"),
        searchable_claims,
    )
    add_algorithm(sub, f"in place of a claim, its worst ratio is searched for: {ALGORITHM}", required=False)
    sub.add_argument("--tasks", type=up_to(8), default=6, metavar="N", help="most tasks (6)")
    sub.add_argument("--slots", type=up_to(8), default=5, metavar="N", help="most slots (5)")
    sub.add_argument("--nodes", type=up_to(4), metavar="N", help="most nodes (1 or 2, by the claim)")
    sub.add_argument("--largest", type=up_to(10**6), default=200, metavar="N", help="largest number (200)")
    sub.add_argument("--seed", type=natural, default=0, metavar="S", help="of everything random (0)")
    limit = sub.add_mutually_exclusive_group()
    limit.add_argument(
        "--tries", type=up_to(10**12), metavar="N", help="instances tried in all (100000; with --algorithm 3000)"
    )
    limit.add_argument("--seconds", type=seconds, metavar="S", help="time limit; the result depends on the machine")
    sub.add_argument("--smaller", action="store_true", help="after a violation go on for one with fewer tasks")
    sub.add_argument("--out", metavar="DIR", type=Path, help="folder of the witness and of the search's state")
    sub.add_argument("--resume", action="store_true", help="go on with the search that stands in the folder")
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")


def search(options: argparse.Namespace) -> int:
    """Run the search of the command line; the exit status."""
    if (options.claim is None) == (not options.algorithm):
        raise InputError("search", "", "needs either a claim or --algorithm NAME")
    worst = bool(options.algorithm)
    family, hunt = _worst_of(options.algorithm) if worst else find_claim_search(options.claim)
    settings = SearchSettings(
        tasks=options.tasks,
        slots=options.slots,
        nodes=options.nodes,
        largest=options.largest,
        seed=options.seed,
        tries=options.tries or ((RUNS if worst else TRIES) if options.seconds is None else None),
        seconds=options.seconds,
        smaller=options.smaller,
    )
    if options.resume and options.out is None:
        raise InputError("--resume", "", "needs --out DIR, the folder of the search")
    name = WORST if worst else options.claim
    path = None if options.out is None else options.out / f"{name}.state.json"
    state, source = _state(path, options.resume)

    def keep(document: Mapping[str, Any]) -> None:
        if path is not None:
            write_atomically(path, (json.dumps(document) + "\n").encode())

    about = options.algorithm if worst else options.claim
    found = hunt(about, settings, state, source, keep, lambda line: print(line, file=sys.stderr, flush=True))
    witness = None
    if options.out is not None and found.instance is not None:
        witness = options.out / f"{name}.json"
        write_atomically(witness, family.dumps(found.instance).encode())
    if options.json:
        print(json.dumps(_document(family, settings, found), indent=1, allow_nan=False))
    elif worst:
        _print_worst(family, found, witness)
    else:
        _print(family, found, witness)
    if worst and found.instance is not None:
        now_at("proving OPT and explaining")
        _prove_and_explain(family, found, witness, quiet=options.json)
    return 0


def _worst_of(algorithm: str) -> tuple[Family, SearchFunction]:
    """Who searches for an algorithm's worst ratio; InputError for an algorithm that does not exist."""
    family, hunt = find_worst_case_search()
    require_algorithms(family, [algorithm])
    return family, hunt


def _print_worst(family: Family, found: SearchResult, witness: Path | None) -> None:
    """What was found, and what it is."""
    rate = f", {found.fresh / found.seconds:,.0f} a second" if found.seconds > 0 and found.fresh else ""
    print(f"{found.algorithm}: {found.tries:,} instances tried{rate}")
    if found.instance is None or found.left is None or found.right is None:
        print("no instance was found on which OPT is more than 0")
        return
    ratio = "unbounded" if found.score is None else ratios.truncated(found.score)
    opt, alg = ratios.truncated(found.left), ratios.truncated(found.right)
    print(f"largest {family.sense.ratio} found: {ratio} (OPT = {opt}, ALG = {alg})")
    print("A local search over small instances: a lower bound on the worst ratio, nothing about the rest.")
    for note in found.notes:
        print(make_printable(note, 600))
    print("  " + ", ".join(f"{key} {value}" for key, value in family.describe(found.instance).items()))
    if witness is None:
        print(family.dumps(found.instance), end="")
    else:
        print(f"  {witness}")


def _prove_and_explain(family: Family, found: SearchResult, witness: Path | None, *, quiet: bool) -> None:
    """OPT with its certificate and the explanation: as files beside the witness, the explanation printed as well."""
    certificates = family.certificates
    if witness is not None and certificates is not None:
        report = certificates.solve(found.instance, SolveSettings(), None)
        if report.certificate is not None:
            path = witness.with_name(f"{WORST}.certificate.json")
            certificates.write(report.certificate, path)
            print(f"  {path}: proves OPT", file=sys.stderr if quiet else sys.stdout)
    if family.explainer is None or (quiet and witness is None):
        return
    from ratiobench.bench.tables.explanations import explain, text

    told = explain(family, found.instance, found.algorithm)
    if witness is not None:
        from ratiobench.bench.page.explanations import render_explanation

        path = witness.with_name(f"{WORST}.html")
        write_atomically(path, render_explanation(told).encode())
        print(f"  {path}: step by step", file=sys.stderr if quiet else sys.stdout)
    if not quiet:
        print(f"\n{text(told)}")


def searchable_claims() -> list[str]:
    """The claims that can be searched for."""
    return list(claim_searches())


def _state(path: Path | None, resume: bool) -> tuple[Any, str]:
    """What an earlier search kept in the folder, with the file's name; None to begin."""
    if path is None:
        return None, ""
    if resume:
        data, source = read_bytes(path)
        return load_json(data, source), source
    if path.exists():
        raise InputError(str(path), "", "holds a search; --resume goes on with it, another folder begins a new one")
    make_folder(path.parent)
    check_writable(path)
    return None, ""


def _document(family: Family, settings: SearchSettings, found: SearchResult) -> dict[str, Any]:
    return {
        "claim": found.claim,
        "statement": found.statement,
        "algorithm": found.algorithm,
        "violated": found.violated,
        "left": None if found.left is None else str(found.left),
        "right": None if found.right is None else str(found.right),
        "score": None if found.score is None else str(found.score),
        "tries": found.tries,
        "time_limited": settings.seconds is not None,
        "seconds": found.seconds,
        "instance": None if found.instance is None else json.loads(family.dumps(found.instance)),
        "check": None if found.check is None else found.check.document(),
        **({"notes": list(found.notes)} if found.notes else {}),
    }


def _print(family: Family, found: SearchResult, witness: Path | None) -> None:
    print(f"{found.claim}: {found.statement}")
    rate = f", {found.fresh / found.seconds:,.0f} a second" if found.seconds > 0 and found.fresh else ""
    verdict = "VIOLATED" if found.violated else "not violated"
    print(f"{verdict} after {found.tries:,} tries{rate}")
    if found.instance is None or found.score is None:
        print("no instance was found to which the claim applies")
        return
    print(
        f"{'witness' if found.violated else 'closest'}: {found.left} <= {found.right}, score {float(found.score):.4f}"
    )
    told = ", ".join(f"{key} {value}" for key, value in family.describe(found.instance).items())
    print(f"  {told}")
    if found.check is None:
        print(f"  the audit has no check named {found.claim}")
    else:
        from ratiobench.bench.tables.text import assumptions_text

        failing = found.check.failing
        proof = "" if failing is None else f" (of its proof: {assumptions_text(failing)})"
        print(f"  audited with {found.algorithm}: {found.check.status}{proof}")
    if witness is None:
        print(family.dumps(found.instance), end="")
    else:
        print(f"  {witness}")
