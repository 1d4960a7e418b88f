"""The command `search`: files, progress and output around a family's search for counterexamples."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import IsolationOptions, select_fields
from ratiobench.bench.family.capabilities import SearchResult, SearchSettings
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_claim_search, find_worst_case_search, require_algorithms
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.options import SECONDS, File, Integer, Text, argument, option, switch
from ratiobench.bench.results import ratios
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.options import ALGORITHM, one_algorithm
from ratiobench.instances.io.errors import InputError, make_printable
from ratiobench.instances.io.files import check_writable, load_json, make_folder, read_bytes, write_atomically
from ratiobench.online.remarks import isolation_text
from ratiobench.online.run_context import run_context

TRIES = 100_000  # Instances tried where neither --tries nor --seconds is given
RUNS = 3000  # The same where an algorithm runs on each
WORST = "worst"  # The name of the files of a search for an algorithm's worst ratio


@dataclass(frozen=True, kw_only=True)
class Search(IsolationOptions):
    """Options of `search`."""

    claim: str = argument("name of a claim", Text(), "CLAIM", default="")
    algorithm: str = one_algorithm(
        f"search for the worst ratio of this algorithm, in place of a claim: {ALGORITHM}", ""
    )
    against: str = option(
        "with --algorithm: compare with the value of this algorithm in place of OPT", Text(), "NAME", default=""
    )
    bounded: bool = switch("with --algorithm: skip instances on which the algorithm earns nothing")
    tasks: int = option("largest number of tasks", Integer(1, 8), "N", default=6)
    slots: int = option("largest number of slots", Integer(1, 8), "N", default=5)
    nodes: int | None = option("largest number of nodes", Integer(1, 4), "N", told="1 or 2, by the claim")
    largest: int = option("largest number in an instance", Integer(1, 10**6), "N", default=200)
    seed: int = option("seed of the random streams", Integer(0, 10**18 - 1), "S", default=0)
    tries: int | None = option(
        "number of instances to try", Integer(1, 10**12), "N", told="100000; with --algorithm 3000", either="limit"
    )
    seconds: float | None = option(
        "time limit in seconds; the result depends on the machine", SECONDS, "S", either="limit"
    )
    smaller: bool = switch("after a violation continue for one with fewer tasks")
    exact: bool = switch(
        "compute the largest ratio over all instances with at most --tasks, --slots, --nodes (1) and --largest",
        either="limit",
    )
    out: Path | None = option("folder of the witness and of the search's state", File(), "DIR")
    resume: bool = switch("continue the search whose state is in the folder")


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What was found, and the file of the witness."""

    family: Family
    result: SearchResult
    witness: Path | None


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(options: Search, say: Callable[[str], None] = _report) -> SearchOutcome:
    """Search, keeping the state in the folder; progress goes to `say`."""
    if bool(options.claim) == bool(options.algorithm):
        raise InputError("search", "", "needs either a claim or --algorithm NAME")
    if options.against and options.claim:
        raise InputError("--against", options.against, "goes with --algorithm NAME, not with a claim")
    if options.bounded and options.claim:
        raise InputError("--bounded", "", "goes with --algorithm NAME, not with a claim")
    about = options.claim or options.algorithm
    family, search = find_claim_search(about) if options.claim else find_worst_case_search()
    names = [] if options.claim else [about, *filter(None, [options.against])]
    context = options.context(family, options.out and options.out / WORST)
    with run_context(context):
        require_algorithms(family, names)
    if options.exact and (options.resume or options.smaller):
        raise InputError("--exact", "", "has neither a state to go on from nor a violation to make smaller")
    tries = options.tries or (TRIES if options.claim else RUNS)
    settings = select_fields(SearchSettings, options, tries=tries if options.seconds is None else None)
    if options.resume and options.out is None:
        raise InputError("--resume", "", "needs --out DIR, the folder of the search")
    name = options.claim or WORST
    path = None if options.out is None else options.out / f"{name}.state.json"
    state, source = _state(path, options.resume)

    def keep(document: Mapping[str, Any]) -> None:
        if path is not None:
            write_atomically(path, (json.dumps(document) + "\n").encode())

    with run_context(context):
        found = search(about, settings, state, source, keep, say)
    if any(map(family.runs_user_code, names)):
        found = replace(found, isolation=str(context.isolate))
    witness = None
    if options.out is not None and found.instance is not None:
        witness = options.out / f"{name}.json"
        write_atomically(witness, family.dumps(found.instance).encode())
    return SearchOutcome(family, found, witness)


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


def text(options: Search, searched: SearchOutcome) -> Iterator[str]:
    """What was found, and its instance or the name of its file."""
    family, found = searched.family, searched.result
    yield from _claim_lines(found) if options.claim else _worst_lines(family, found, options.exact)
    if found.instance is None or (found.score is None if options.claim else None in (found.left, found.right)):
        return
    yield "  " + ", ".join(f"{key} {value}" for key, value in family.describe(found.instance).items())
    if options.claim:
        yield _audited(found)
    yield family.dumps(found.instance).removesuffix("\n") if searched.witness is None else f"  {searched.witness}"


def _rate(found: SearchResult) -> str:
    return f", {found.fresh / found.seconds:,.0f} a second" if found.seconds > 0 and found.fresh else ""


def _claim_lines(found: SearchResult) -> Iterator[str]:
    yield f"{found.claim}: {found.statement}"
    yield f"{'VIOLATED' if found.violated else 'not violated'} after {found.tries:,} tries{_rate(found)}"
    yield from found.notes
    if found.instance is None or found.score is None:
        yield "no instance was found to which the claim applies"
        return
    what = "witness" if found.violated else "closest"
    sign = ">" if found.violated else "<="
    yield f"{what}: {found.left} {sign} {found.right}, left side over right side {float(found.score):.4f}"


def _audited(found: SearchResult) -> str:
    if found.check is None:
        return f"  the audit has no check named {found.claim}"
    from ratiobench.bench.show import assumptions_text

    failing = found.check.failing
    proof = "" if failing is None else f" (proof of the claim: {assumptions_text(failing)})"
    return f"  audited with {found.algorithm}: {found.check.status}{proof}"


def _worst_lines(family: Family, found: SearchResult, is_exact: bool) -> Iterator[str]:
    isolated = f" ({isolation_text(found.isolation)})" if found.isolation else ""
    yield f"{found.algorithm}{isolated}: {found.tries:,} instances tried{_rate(found)}"
    if found.instance is None or found.left is None or found.right is None:
        yield f"no instance was found on which {found.against or 'OPT'} is more than 0"
        return
    ratio = "unbounded" if found.score is None else ratios.format_truncated(found.score)
    opt, alg = ratios.format_truncated(found.left), ratios.format_truncated(found.right)
    if found.against:
        yield f"largest ratio of the values of {found.against} and {found.algorithm} found: {ratio} ({opt} to {alg})"
    else:
        yield f"largest {family.sense.ratio} found: {ratio} (OPT = {opt}, ALG = {alg})"
    if not is_exact:
        yield "A local search over small instances: it gives a lower bound on the worst ratio, and no upper bound."
    for note in found.notes:
        yield make_printable(note, 600)


def document(options: Search, searched: SearchOutcome) -> dict[str, Any]:
    """The result, exact, with the instance."""
    family, found = searched.family, searched.result
    sides = ("left", "right", "score")
    return {
        "claim": found.claim,
        "statement": found.statement,
        "algorithm": found.algorithm,
        **({"against": found.against} if found.against else {}),
        "violated": found.violated,
        **{side: None if getattr(found, side) is None else str(getattr(found, side)) for side in sides},
        "tries": found.tries,
        "time_limited": options.seconds is not None,
        "seconds": found.seconds,
        "instance": None if found.instance is None else json.loads(family.dumps(found.instance)),
        "check": None if found.check is None else found.check.document(),
        **({"notes": list(found.notes)} if found.notes else {}),
        **({"isolation": found.isolation} if found.isolation else {}),
    }


def after(options: Search, searched: SearchOutcome) -> None:
    """Of a worst ratio OPT with its certificate, and the explanation: files beside the witness, and text."""
    family, found, witness = searched.family, searched.result, searched.witness
    if options.claim or found.instance is None:
        return
    set_current("proving OPT and explaining")
    into = sys.stderr if options.json else sys.stdout
    if witness is not None and family.certificates is not None:
        report = family.certificates.solve(found.instance, SolveSettings(), None)
        if report.certificate is not None:
            path = witness.with_name(f"{WORST}.certificate.json")
            family.certificates.write(report.certificate, path)
            print(f"  {path}: proves OPT", file=into)
    if family.explainer is None or (options.json and witness is None):
        return
    from ratiobench.bench.report import explain as explanations

    with run_context(options.context(family, witness)):
        explained = explanations.explain(family, found.instance, found.algorithm)
    if witness is not None:
        from ratiobench.bench.report.explain import render_explanation

        path = witness.with_name(f"{WORST}.html")
        write_atomically(path, render_explanation(explained).encode())
        print(f"  {path}: step by step", file=into)
    if not options.json:
        print(f"\n{explanations.text(explained)}")


SEARCH = Command(Search, run, text=text, document=document, after=after)
