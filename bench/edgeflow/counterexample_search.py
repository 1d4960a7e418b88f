"""The search for a small instance that violates a claim: random ones, and of the first what cannot be left out.

No try depends on another one: its random words come from a stream that is named by claim, limits, seed and number, and
no decision uses a clock, so a search limited by tries finds the same on any machine, interrupted or not.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.bench.family.capabilities import CounterexampleSearch, SearchResult, SearchSettings
from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.family.suite import Listed
from ratiobench.bench.theory.claim import Case, find_claim
from ratiobench.instances.edgeflow.format import FORMAT, parse
from ratiobench.instances.edgeflow.model import Instance
from ratiobench.instances.errors import InputError, not_one_of, shorten
from ratiobench.instances.seeds import Stream

VERSION = 1
"""Of the random instances: a search begun by another version is not taken up."""
STATE = "ratiobench/edgeflow-hunt/1"
GPUS = 4
"""Most GPUs of the cloud, where `nodes` is not given."""
SHRINKING = 4000
"""Most instances that one shrinking plays."""
RIVALS = ("afs", "edf")
"""Their runs take the place of OPT in `for_good` until OPT is known."""
SEARCHED: Mapping[str, str] = {
    "edge_helps": "elasticflow:edge=any", "guarantee": "elasticflow", "for_good": "elasticflow", "aware": "elasticflow",
}  # fmt: skip
"""The claims that can be searched for, and whose runs are looked at."""

Document = dict[str, Any]


class _Found(NamedTuple):
    """A document with the claim's check of it, and how close that is: above 1 when violated."""

    document: Document
    check: Check
    score: Fraction

    @property
    def violated(self) -> bool:
        """left > right."""
        return self.check.status is Verdict.VIOLATED


def draw_document(stream: Stream, jobs: int, seconds: int, gpus: int) -> Document:
    """A random instance with at most so many jobs, seconds and GPUs; most jobs can be met when they are alone."""

    def chance(one_in: int) -> bool:
        return stream.integer(1, one_in) == 1

    cloud = stream.integer(1, gpus)
    models: list[Document] = []
    for k in range(stream.integer(1, 2)):
        shares = [share for share in (1, 2, 4, 8) if chance(2)] or [1]
        models.append(
            {
                "name": f"m{k}",
                "speed": [[share, stream.integer(1, 4 * share)] for share in shares],
                "edge_speed": stream.integer(0, 3),
                "overhead_s": stream.integer(0, 3),
                "edge_overhead_s": stream.integer(0, 2),
            }
        )
    listed: list[Document] = []
    for _ in range(stream.integer(0, jobs)):
        model = models[stream.integer(0, len(models) - 1)]
        submit = stream.integer(0, seconds - 1)
        deadline = stream.integer(submit + 1, seconds)
        fits = [pair for pair in model["speed"] if pair[0] <= cloud] or model["speed"]
        share, speed = fits[stream.integer(0, len(fits) - 1)]
        window = max(1, deadline - submit - chance(2) * model["overhead_s"])
        work = max(1, speed * window * stream.integer(20, 100) // 100)
        job = {"submit": submit, "deadline": deadline, "model": model["name"], "work": work, "gpus": share}
        listed.append(job)
    ends = sorted({stream.integer(0, seconds) for _ in range(2 * stream.integer(0, 2))})
    edge = [{"from": a, "to": b, "servers": stream.integer(1, 2)} for a, b in zip(ends[::2], ends[1::2], strict=False)]
    return {
        "format": FORMAT, "name": "tiny", "cloud": {"gpus": cloud, "node_gpus": 8}, "edge": edge, "models": models,
        "jobs": sorted(listed, key=lambda job: job["submit"]),
    }  # fmt: skip


def _check(claim: str, instance: Instance, *, exact: bool = False) -> Check:
    """The audit's check on a run of the claim's policy; unless `exact`, against rivals' runs in the place of OPT."""
    from ratiobench.bench.edgeflow.claims import CLAIMS
    from ratiobench.formulations.edgeflow.solve import solve
    from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
    from ratiobench.online.edgeflow.run import run

    audited = find_claim(CLAIMS, claim)
    own = run(instance, SEARCHED[claim])
    if exact:
        return audited.check_run(Case(instance, own, solve(instance)))
    rivals = [run(instance, name) for name in RIVALS] if claim == "for_good" else [own]
    best = max(rivals, key=lambda each: each.admitted)
    most = instance.jobs + 1  # an interval
    reference = SolveReport(
        Status.INTERVAL, best.admitted, most, best.decisions, Proof.TRIVIAL, "", "", Termination.NONE, False, 0.0
    )
    return audited.check_run(Case(instance, own, reference))


def _measure(claim: str, document: Document) -> _Found | None:
    """None for a document that is none, or to which the claim does not apply."""
    try:
        check = _check(claim, parse(document))
    except InputError:
        return None
    if check.left is None or check.right is None:
        return None
    return _Found(document, check, (Fraction(check.left) + 1) / (Fraction(check.right) + 1))


def _smaller(document: Document) -> Iterator[Document]:
    """Documents with something less: jobs, windows, models, shares, then single numbers."""

    def without(*path: Any) -> Document:
        other = copy.deepcopy(document)
        place: Any = other
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]
        return other

    for part in ("jobs", "edge", "models"):
        yield from (without(part, k) for k in range(len(document[part])))
    for k, model in enumerate(document["models"]):
        yield from (without("models", k, "speed", j) for j in range(len(model["speed"])))
    for path, value in list(_numbers(document, ())):
        for less in dict.fromkeys((0, 1, value // 2, value - 1)):
            if 0 <= less < value:
                other = copy.deepcopy(document)
                place: Any = other
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = less
                other["jobs"].sort(key=lambda job: job["submit"])
                yield other


def _numbers(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Every number with its path, but for the GPUs of a node, which change nothing here."""
    if isinstance(value, int):
        yield path, value
    elif isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "node_gpus":
                yield from _numbers(each, (*path, key))


def _shrunk(claim: str, found: _Found) -> _Found:
    """The same with less and less, as long as the claim is violated, or comes as close."""
    tried = 0
    again = True
    while again:
        again = False
        for document in _smaller(found.document):
            tried += 1
            if tried > SHRINKING:
                return found
            other = _measure(claim, document)
            if other is not None and (other.violated if found.violated else other.score >= found.score):
                found, again = other, True
                break
    return found


class _Search:
    """The state of a search: `tries` so far, the `best` of them, and at most so many `jobs` in the next one."""

    def __init__(self, claim: str, settings: SearchSettings) -> None:
        self.claim, self.settings = claim, settings
        self.tries, self.jobs = 0, settings.tasks
        self.best: _Found | None = None

    @property
    def found(self) -> bool:
        """Whether the claim fell."""
        return self.best is not None and self.best.violated

    @property
    def done(self) -> bool:
        """Whether nothing is left to look for."""
        limit = self.settings.tries
        over = limit is not None and self.tries >= limit
        return over or (self.found and (not self.settings.smaller or self.jobs < 1))

    def advance(self) -> bool:
        """One try; whether it is the best."""
        s = self.settings
        names = (self.claim, self.jobs, s.nodes or GPUS, s.largest, s.seed, self.tries)
        self.tries += 1
        stream = Stream("ratiobench/edgeflow/hunt", VERSION, *names)
        other = _measure(self.claim, draw_document(stream, self.jobs, s.largest, s.nodes or GPUS))
        if other is None or (self.found and not other.violated):
            return False
        if self.best is not None and not other.violated and other.score <= self.best.score:
            return False
        self.best = other
        if self.found:
            self.best = _shrunk(self.claim, other)
            self.jobs = len(self.best.document["jobs"]) - 1
        return True

    def document(self) -> Document:
        """As JSON values."""
        settings = {key: value for key, value in asdict(self.settings).items() if key not in ("tries", "seconds")}
        return {
            "format": STATE, "version": VERSION, "claim": self.claim, "settings": settings, "tries": self.tries,
            "jobs": self.jobs, "best": None if self.best is None else self.best.document,
        }  # fmt: skip

    def load(self, data: Any, source: str) -> None:
        """Take up a search where `document` left it; InputError naming the field that does not fit."""
        if not isinstance(data, dict):
            raise InputError(source, "", f"{shorten(data)} is not an object")
        for key, value in self.document().items():
            if key in ("tries", "jobs"):
                if type(data.get(key)) is not int or data[key] < 0:
                    raise InputError(source, key, f"{shorten(data.get(key))} is not an integer of at least 0")
            elif key != "best" and data.get(key) != value:
                raise InputError(source, key, f"{shorten(data.get(key))} is not this search's: {shorten(value)}")
        self.tries, self.jobs = data["tries"], data["jobs"]
        if data.get("best") is not None:
            parse(data["best"], source)
            self.best = _measure(self.claim, data["best"])
            if self.best is None:
                raise InputError(source, "best", "the claim does not apply to the instance")


def search_counterexample(
    claim: str,
    settings: SearchSettings,
    state: Any = None,
    source: str = "",
    keep: Callable[[Mapping[str, Any]], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> SearchResult:
    """Look for an instance that violates the claim, or comes closest to it; see
    `ratiobench.bench.family.capabilities.CounterexampleSearch`.

    An instance lasts at most `largest` seconds and has at most `nodes` GPUs; `slots` says nothing here.

    Raises
    ------
    InputError : for a claim that is not searched for, and a state that does not fit.
    """
    from ratiobench.bench.edgeflow.claims import CLAIMS

    if claim not in SEARCHED:
        raise InputError("claim", "", not_one_of(claim, SEARCHED))
    search = _Search(claim, settings)
    if state is not None:
        search.load(state, source)
    began = told = time.monotonic()
    before = search.tries
    kept = search.document()
    try:
        while not search.done and (settings.seconds is None or time.monotonic() - began < settings.seconds):
            better = search.advance()
            kept = search.document()
            if better:
                keep(kept)
            if time.monotonic() - told >= 1:
                told = time.monotonic()
                tell(f"{search.tries:,} tries, {(search.tries - before) / (told - began):,.0f}/s")
    finally:
        keep(kept)  # an interrupt in the middle of a try leaves the state before it
    statement = find_claim(CLAIMS, claim).statement
    fresh, seconds = search.tries - before, time.monotonic() - began
    hunted = SearchResult(claim, statement, SEARCHED[claim], search.found, search.tries, fresh, seconds)
    if search.best is None:
        return hunted
    best = search.best if search.found else _shrunk(claim, search.best)
    return _told(hunted, best, settings.seed)


def _told(hunted: SearchResult, best: _Found, seed: int) -> SearchResult:
    """With the instance, its name and origin, and the audit's own verdict."""
    about = f"Found by a search for {hunted.claim}: {hunted.statement}"
    document = best.document | {
        "name": f"{hunted.claim}_seed{seed}", "origin": {"about": about, "seed": seed, "tries": hunted.tries},
    }  # fmt: skip
    instance = parse(document)
    check = _check(hunted.claim, instance, exact=True)
    if hunted.violated and check.status is not Verdict.VIOLATED:
        raise AssertionError(f"the search finds {best.check} and the audit {check}: one of the two is wrong")
    left, right = best.check.left, best.check.right
    assert left is not None
    assert right is not None
    return replace(hunted, left=Fraction(left), right=Fraction(right), score=best.score, instance=instance, check=check)


def _listed() -> list[Listed]:
    from ratiobench.bench.edgeflow.claims import CLAIMS

    return [Listed(each.name, each.statement) for each in CLAIMS if each.name in SEARCHED]


COUNTEREXAMPLES = CounterexampleSearch(_listed, search_counterexample)
