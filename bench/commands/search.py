"""The command `search`: files, progress and output around a family's search for counterexamples."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from ratiobench.bench import arguments as arg
from ratiobench.bench.arguments import Outcome, Steps, command
from ratiobench.bench.commands.shared import folders_of, user_context
from ratiobench.bench.family.capabilities import SearchResult, SearchSettings
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_search, require_algorithms
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.results import ratios
from ratiobench.bench.running.heartbeat import Heartbeat, set_current
from ratiobench.bench.show import assumptions_text
from ratiobench.instances.io.errors import InputError, make_printable
from ratiobench.instances.io.files import check_writable, load_json, make_folder, read_bytes, write_atomically
from ratiobench.online.remarks import isolation_text
from ratiobench.online.run_context import run_context
from ratiobench.online.user_algorithm import name_algorithms

TRIES = 100_000  # Instances tried on the command line where neither --tries nor --seconds is given
RUNS = 3000  # The same where an algorithm runs on each, or in Python
WORST = "worst"  # The name of the files of a search for an algorithm's worst ratio
Size = Annotated[int, arg.Option(arg.Integer(1, 8), "N")]


@command(keeps=lambda values: values["out"] is not None)
def search(
    claim: Annotated[str, arg.Option(arg.Text(), "CLAIM")] = "",
    *,
    algorithm: arg.Algorithm = None,
    against: Annotated[Any, arg.Option(arg.Anything("text"), "NAME")] = "",
    isolate: arg.Isolate = None,
    bounded: bool = False,
    tasks: Size = 6,
    slots: Size = 5,
    nodes: Annotated[int | None, arg.Option(arg.Integer(1, 4), "N")] = None,
    largest: Annotated[int, arg.Option(arg.Integer(1, 10**6), "N")] = 200,
    seed: Annotated[int, arg.Option(arg.Integer(0, 10**18 - 1), "S")] = 0,
    tries: Annotated[int | None, arg.Option(arg.Integer(1, 10**12), "N", default=None)] = RUNS,
    seconds: arg.Seconds = None,
    smaller: bool = False,
    exact: bool = False,
    out: Annotated[Any, arg.Option(arg.File(), "DIR")] = None,
    resume: bool = False,
) -> Steps[SearchResult]:
    """Search for an instance that violates a claim, or on which an algorithm is furthest from OPT.

    Parameters
    ----------
    claim : name of a claim.
    algorithm : search for the worst ratio of this algorithm, in place of a claim: name[:key=value,...], as `list
        algorithms` names them, or package.module:Class. In Python also a class, or an object of one.
    against : with --algorithm: compare with the value of this algorithm in place of OPT.
    bounded : with --algorithm: skip instances on which the algorithm earns nothing.
    tasks : largest number of tasks.
    slots : largest number of slots.
    nodes : largest number of nodes; by default 1 or 2, by the claim.
    largest : largest number in an instance.
    seed : seed of the random streams.
    tries : number of instances to try; by default 100000, with --algorithm and in Python 3000.
    seconds : time limit in seconds, in place of tries; the result depends on the machine.
    smaller : after a violation continue for one with fewer tasks.
    exact : compute the largest ratio over all instances with at most --tasks, --slots, --nodes (1) and --largest.
    out : folder of the witness and of the search's state.
    resume : continue the search whose state is in the folder.

    Returns
    -------
    ``violated``, ``left``, ``right``, ``score``, ``instance``, ``check``, ``tries``, ...

    Raises
    ------
    InputError : both or neither of claim and algorithm, and what cannot be searched for.

    Examples
    --------
    >>> import ratiobench
    >>> ratiobench.search(algorithm="greedy", tries=10).tries
    10
    """
    if bool(claim) == bool(algorithm):
        raise InputError("search", "", "needs either a claim or --algorithm NAME")
    if against and claim:
        raise InputError("--against", str(against), "goes with --algorithm NAME, not with a claim")
    if bounded and claim:
        raise InputError("--bounded", "", "goes with --algorithm NAME, not with a claim")
    if exact and (resume or smaller):
        raise InputError("--exact", "", "has neither a state to go on from nor a violation to make smaller")
    if sum((seconds is not None, tries not in (None, RUNS), exact)) > 1:
        raise InputError("--exact" if exact else "--seconds", "", "not allowed with another limit of the search")
    if resume and out is None:
        raise InputError("--resume", "", "needs --out DIR, the folder of the search")
    family, look = find_search(claim)
    names, own = name_algorithms([each for each in (algorithm, against) if each], family.secret_types())
    about, stem = claim or names[0], claim or WORST
    context = user_context(family, isolate, own, out and out / WORST)
    with run_context(context):
        require_algorithms(family, names)
    settings = SearchSettings(
        tasks=tasks, slots=slots, nodes=nodes, largest=largest, seed=seed, seconds=seconds, smaller=smaller,
        tries=None if seconds is not None else tries or (TRIES if claim else RUNS),
        against=names[1] if against else "", exact=exact, bounded=bounded,
    )  # fmt: skip
    path = None if out is None else out / f"{stem}.state.json"
    state, source = _state(path, resume)

    def keep(document: Mapping[str, Any]) -> None:
        if path is not None:
            write_atomically(path, (json.dumps(document) + "\n").encode())

    with run_context(context):
        found = look(about, settings, state, source, keep, _say)
    if any(map(family.runs_user_code, names)):
        found = replace(found, isolation=str(context.isolate))
    witness = None
    if out is not None and found.instance is not None:
        witness = out / f"{stem}.json"
        write_atomically(witness, family.dumps(found.instance).encode())
    shows = yield Outcome(lambda: found, lambda: _document(family, found, seconds is not None))
    yield from _claim_lines(found) if claim else _worst_lines(family, found, exact)
    has_sides = found.score is not None if claim else None not in (found.left, found.right)
    if found.instance is None or not has_sides:
        return
    yield "  " + ", ".join(f"{key} {value}" for key, value in family.describe(found.instance).items())
    if claim and found.check is None:
        yield f"  the audit has no check named {found.claim}"
    elif claim and found.check is not None:
        failing = found.check.failing
        proof = "" if failing is None else f" (proof of the claim: {assumptions_text(failing)})"
        yield f"  audited with {found.algorithm}: {found.check.status}{proof}"
    yield family.dumps(found.instance).removesuffix("\n") if witness is None else f"  {witness}"
    if claim:
        return
    # Of a worst ratio OPT with its certificate, and the explanation: files beside the witness, and text
    set_current("proving OPT and explaining")
    if witness is not None and family.has_certificates:
        report = family.certify(found.instance, SolveSettings())
        if report.certificate is not None:
            path = witness.with_name(f"{WORST}.certificate.json")
            family.write_certificate(report.certificate, path)
            yield f"  {path}: proves OPT"
    if family.explainer is not None and (shows or witness is not None):
        from ratiobench.bench.report import explain as explanations

        with run_context(replace(context, hidden=folders_of(witness))):
            explained = explanations.explain(family, found.instance, found.algorithm)
        if witness is not None:
            path = witness.with_name(f"{WORST}.html")
            write_atomically(path, explanations.render_explanation(explained).encode())
            yield f"  {path}: step by step"
        yield f"\n{explanations.text(explained)}"


def _document(family: Family, found: SearchResult, time_limited: bool) -> dict[str, Any]:
    document = {name: getattr(found, name) for name in ("claim", "statement", "algorithm", "violated", "tries")}
    sides = {"left": found.left, "right": found.right, "score": found.score}
    document |= {side: None if value is None else str(value) for side, value in sides.items()}
    document |= {"time_limited": time_limited, "seconds": found.seconds}
    document["instance"] = None if found.instance is None else json.loads(family.dumps(found.instance))
    document["check"] = None if found.check is None else found.check.document()
    if_any = {"against": found.against, "notes": list(found.notes), "isolation": found.isolation}
    return document | {name: value for name, value in if_any.items() if value}


def _say(line: str) -> None:
    if Heartbeat.current is not None:
        print(line, file=sys.stderr, flush=True)


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
