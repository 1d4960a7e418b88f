"""What a worker does: make an instance, solve it or check its certificate, run, audit, study. It writes no files."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from ratiobench.bench.family.checks import Check
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.suite import SolveSettings, Study
from ratiobench.bench.results.ratios import require_bound
from ratiobench.bench.storage.payload import format_error, report_payload, restore_report, run_payload
from ratiobench.bench.storage.store import StoredResult
from ratiobench.formulations.report import SolveReport
from ratiobench.formulations.timing import Stopwatch, excluded_from_timing
from ratiobench.instances.io.disk_cache import code_mark, recall, store
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import load_json, read_bytes
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.referee.arrival_count import Tell, counted_arrivals
from ratiobench.online.run_context import RunContext, run_context

FREE = RunContext()  # Neither limit nor sandbox
# Is told in this process how many arrivals of a run are answered; the worker of a pool sets it
listener: Tell | None = None


def load_imports() -> None:
    """What fails here fails again, with its reason, in the piece."""
    with contextlib.suppress(Exception):
        families()


@dataclass(frozen=True, slots=True)
class GeneratedInstance:
    instance: str  # SHA-256 of its content
    data: bytes  # its file, gzipped
    describe: Mapping[str, Any]  # the family's figures about it
    seconds: float  # that it took, with those of prior and history
    prior: GeneratedInstance | None = None  # prior, history: others that were asked for with it
    history: GeneratedInstance | None = None
    notes: tuple[str, ...] = ()  # what must be known of how it was made


def make(
    family: str,
    recipe: Mapping[str, Any],
    prior: Mapping[str, Any] | None = None,
    given: Mapping[str, bytes] | None = None,
    history: Mapping[str, Any] | None = None,
) -> GeneratedInstance:
    """Generate the instance of a recipe, and those of its prior and its history; `given` has what `read_given` read."""
    started, contract = time.perf_counter(), families()[family]
    instance = _generate(contract, recipe, given or {})
    identity, described = contract.identity(instance), dict(contract.describe(instance))
    data, notes = _compress(contract.dumps(instance)), tuple(contract.notes(instance))
    other, earlier = (None if part is None else make(family, part, None, given) for part in (prior, history))
    seconds = time.perf_counter() - started
    return GeneratedInstance(identity, data, described, seconds, other, earlier, notes)


def read_given(*recipes: Mapping[str, Any] | None) -> dict[str, bytes]:
    """The files that recipes name, by path: instances may be made on a machine that does not have them."""
    files: dict[str, bytes] = {}
    for path in paths_of(*recipes):
        with contextlib.suppress(InputError):  # whoever makes the instance says so
            files[path] = files.get(path) or read_bytes(path)[0]
    return files


def paths_of(*recipes: Mapping[str, Any] | None) -> list[str]:
    paths: list[str] = []
    for recipe in recipes:
        if recipe is not None and recipe.get("kind") == "file":
            paths.append(str(recipe.get("path", "")))
        elif recipe is not None and recipe.get("kind") == "joined":
            paths += paths_of(*recipe["recipes"])
    return paths


def _generate(family: Family, recipe: Mapping[str, Any], given: Mapping[str, bytes]) -> Any:
    if recipe.get("kind") == "joined":
        return family.join([_generate(family, each, given) for each in recipe["recipes"]])
    path = str(recipe.get("path", ""))
    if recipe.get("kind") != "file" or path not in given:
        return family.make(recipe)
    return family.parse(load_json(given[path], path), path)


@lru_cache(maxsize=3)
def _instance(family: str, data: bytes) -> Any:
    return families()[family].parse(load_json(data, "instance"), "instance")


def _result(
    stage: str,
    family: str,
    identity: str,
    key: str,
    work: Callable[[Family], tuple[dict[str, Any], bytes | None]],
    ready: Callable[[Family], object] = lambda contract: None,
) -> StoredResult:
    """The payload and solution of a piece of work, or why it failed; `ready` loads what it needs, in no seconds."""
    watch = Stopwatch()
    try:
        with excluded_from_timing():
            contract = families()[family]
            ready(contract)
        return StoredResult(stage, identity, key, True, *work(contract), watch.seconds())
    except Exception as error:
        return make_failed(stage, identity, key, error, watch.seconds())


def _compress(text: str) -> bytes:
    return gzip.compress(text.encode(), compresslevel=6, mtime=0)


def _encode(family: Family, report: SolveReport) -> tuple[dict[str, Any], bytes]:
    return report_payload(report), _compress(json.dumps(family.solution_document(report.solution)))


def solve(family: str, data: bytes, identity: str, settings: SolveSettings, key: str) -> StoredResult:
    def find(contract: Family) -> tuple[dict[str, Any], bytes]:
        return _encode(contract, contract.solve(_instance(family, data), settings))

    return _result("opt", family, identity, key, find, lambda contract: contract.solve_key(settings))


def certify(family: str, data: bytes, identity: str, source: str, certificate: bytes, key: str) -> StoredResult:
    """The interval of a shipped certificate after the checker's word, which a disk keeps for these bytes and code."""

    def verify(contract: Family) -> tuple[dict[str, Any], bytes]:
        packages = ["ratiobench.instances", "ratiobench.formulations"]
        if contract.has_certificates:
            home = contract.verify_certificate.__module__.split(".")
            packages.append(".".join(home[:2]) if home[0] == "ratiobench" else home[0])
        marks = [hashlib.sha256(content).hexdigest() for content in (data, certificate)]
        asked = ["certified", family, source, *marks, code_mark(tuple(packages))]
        if (kept := recall(asked)) is not None:
            report, _, solution = kept.partition(b"\n")
            return json.loads(report), solution
        instance = _instance(family, data)
        document = contract.load_document(instance, certificate, source)
        payload, solution = _encode(contract, contract.read_certified(instance, document, source))
        store(asked, json.dumps(payload).encode() + b"\n" + solution)
        return payload, solution

    return _result("opt", family, identity, key, verify)


def solve_printed(family: str, data: bytes, identity: str, key: str) -> StoredResult:
    def answer(contract: Family) -> tuple[dict[str, Any], None]:
        return {"answers": [row.document() for row in contract.solve_printed(_instance(family, data))]}, None

    return _result("solvers", family, identity, key, answer, lambda contract: contract.printed_key())


def measure(
    family: str,
    data: bytes,
    identity: str,
    algorithm: str,
    online_key: str,
    audit_key: str,
    reference: StoredResult,
    terms: RunContext = FREE,
    audited: bool = True,
    prior: bytes | None = None,
) -> tuple[StoredResult, StoredResult]:
    """One online run and its audit against the reference; the audit checks nothing if not asked."""
    run: OnlineRun

    def play(contract: Family) -> tuple[dict[str, Any], None]:
        nonlocal run
        instance = _instance(family, data)
        with counted_arrivals(listener):
            run = contract.run(instance, algorithm, None if prior is None else _instance(family, prior))
        if run.valid and reference.ok:
            lower, upper = (Fraction(reference.payload[end]) for end in ("lower", "upper"))
            bound = f"the bound {reference.payload[contract.sense.bound]}"
            require_bound(lower, upper, run.welfare, contract.sense, f"{run.welfare} of a valid run", bound)
        with excluded_from_timing():
            count = contract.accounts if run.valid else None
            return run_payload(run, None if count is None else count(instance, run)), None

    def audit(contract: Family) -> tuple[dict[str, Any], None]:
        instance, checks = _instance(family, data), list[Check]()
        if audited:
            document = json.loads(gzip.decompress(reference.solution or b""))
            report = restore_report(reference, contract.parse_solution(document, "reference"))
            checks += contract.audit(instance, run, report)
        payload: dict[str, Any] = {"checks": [check.document() for check in checks]}
        if contract.measures is not None:
            values = contract.measures(instance, run, checks)
            payload["measures"] = {name: None if value is None else str(value) for name, value in values.items()}
        return payload, None

    with run_context(terms):
        load = partial(_same_code, algorithm=algorithm, key=online_key)
        online = _result("online", family, identity, online_key, play, load)
        if not online.ok or not reference.ok:
            reason = f"no OPT: {reference.payload['reason']}" if online.ok else "the online run failed"
            return online, make_failed("audit", identity, audit_key, reason)
        if not run.valid:  # the theory says nothing about it
            return online, StoredResult("audit", identity, audit_key, True, {"checks": []})
        load_claims = (lambda contract: contract.claims) if audited else (lambda contract: None)
        return online, _result("audit", family, identity, audit_key, audit, load_claims)


def study(
    family: str, data: bytes, identity: str, wanted: Study, key: str, terms: RunContext, prior: bytes | None = None
) -> StoredResult:
    def tabulate(contract: Family) -> tuple[dict[str, Any], None]:
        if contract.studies is None:
            raise InputError("suite", wanted.name, f"the family {family} makes no studies")
        other = None if prior is None else _instance(family, prior)
        return {"rows": [dict(row) for row in contract.studies.make(_instance(family, data), wanted, other)]}, None

    load = partial(_same_code, algorithm=wanted.algorithm, key=key.partition(" | ")[2])
    with run_context(terms):
        return _result("study", family, identity, key, tabulate, load)


def _same_code(family: Family, algorithm: str, key: str) -> None:
    """The algorithm is the one that the run was planned with; a user's may have been edited since."""
    family.validate_algorithm(algorithm)  # its module is loaded; anyone's own is built once
    here = family.algorithm_key(algorithm)
    if not f"{key} |".startswith(f"{here} |"):
        raise RuntimeError(f"{algorithm} is not the one that the run was planned with: {here} here, {key} there")


def make_failed(stage: str, identity: str, key: str, error: BaseException | str, seconds: float = 0.0) -> StoredResult:
    payload = {"reason": format_error(error)}
    if isinstance(error, BaseException):
        payload["traceback"] = "".join(traceback.format_exception(error))
    return StoredResult(stage, identity, key, False, payload, None, seconds)
