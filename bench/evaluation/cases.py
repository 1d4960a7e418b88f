"""The instances of an evaluation: tiny ones that a seed draws, then those of a standard set or drawn like them."""

from __future__ import annotations

import gzip
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import Entry, StandardSet, interval_of, read_set, set_of
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.running import work
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.standard import make_entry, read_certificate
from ratiobench.bench.storage.payload import json_number, read_exact
from ratiobench.formulations.report import Exact, Proof, SolveReport
from ratiobench.instances.io.disk_cache import code_mark, recall, store
from ratiobench.instances.io.errors import InputError, require_known
from ratiobench.instances.io.seeds import Stream

TINY, PARTS, DAYS = "tiny", "parts", "days"
STAGES = (TINY, PARTS, DAYS)
TRIES = 8  # So many instances are drawn for each tiny one that is wanted, at most
PUBLISHED = 1  # The seed with which the stages `parts` and `days` have the instances of the standard set


@dataclass(frozen=True, slots=True)
class EvaluationCase:
    """An instance with the interval on its OPT."""

    name: str  # name, stage: what it is called, and in which stage it is run
    stage: str
    family: Family
    instance: Any  # the family's object
    lower: Exact  # lower, upper: ends of the interval on OPT; equal where OPT is proved
    upper: Exact
    solution: Callable[[], Any]  # gives the best known solution

    @property
    def identity(self) -> str:
        """The hash of the instance's content."""
        return self.family.identity(self.instance)

    @property
    def arrivals(self) -> int:
        assert self.family.environment is not None
        return self.family.environment.arrivals(self.instance)


@lru_cache(maxsize=8)
def tiny_cases(family: Family, seed: int, count: int) -> Sequence[EvaluationCase]:
    """Draw instances whose OPT is proved and contended: not everything that pays can be served."""
    support = require_support(family)
    recipes = [support.tiny_recipe(seed, k) for k in range(TRIES * count)]
    settings = support.settings

    def solve() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        spare: list[dict[str, Any]] = []
        for number, recipe in enumerate(recipes):
            report = family.solve(family.make(recipe), settings)
            if report.lower != report.upper or report.upper <= 0 or report.time_limited:
                continue
            document = _document(family, recipe, report) | {"number": number}
            (spare if report.proof == Proof.TRIVIAL else found).append(document)
            if len(found) == count:
                break
        return sorted([*found, *spare[: count - len(found)]], key=lambda document: document["number"])

    documents = recalled(["tiny cases", family.name, recipes, count, family.solve_key(settings)], solve)
    return tuple(_restored(family, TINY, document) for document in documents)


def recalled(key: list[Any], make: Callable[[], Any]) -> Any:
    """JSON values that were kept on disk under this key, or else made now and kept."""
    key = [*key, code_mark(("ratiobench.instances",))]
    known = recall(key)
    if known is None:
        known = gzip.compress(json.dumps(make()).encode(), mtime=0)
        store(key, known)
    return json.loads(gzip.decompress(known))


def _document(family: Family, recipe: Mapping[str, Any], report: SolveReport) -> dict[str, Any]:
    """A drawn instance with the interval on OPT, as it is kept on disk."""
    return {
        "name": str(recipe["name"]),
        "recipe": dict(recipe),
        "lower": json_number(report.lower),
        "upper": json_number(report.upper),
        "solution": family.solution_document(report.solution),
    }


def _restored(family: Family, stage: str, document: Mapping[str, Any]) -> EvaluationCase:
    name, lower, upper = document["name"], read_exact(document["lower"]), read_exact(document["upper"])
    solution = partial(family.parse_solution, document["solution"], name)
    return EvaluationCase(name, stage, family, family.make(document["recipe"]), lower, upper, solution)


def draw_entries(family: Family, chosen: StandardSet, key: str) -> list[Entry]:
    """Draw counterparts of the set's instances of `parts` and `days`: other seeds, other days of the same traces."""
    support = require_support(family)
    published = [(stage, entry) for stage in (PARTS, DAYS) for entry in entries_of(family, chosen, stage)]
    drawn = []
    for number, (stage, entry) in enumerate(pair for pair in published if "seed" in pair[1].recipe):
        seed = hmac.new(bytes.fromhex(key), f"{family.name} {number}".encode(), sha256).hexdigest()
        name = f"{entry.name}_{seed[:8]}"
        # These words name the draws on which the agent of docs/examples/ppo was trained.
        recipe = support.draw_day(_with_seed(entry.recipe, ["hidden", seed]), Stream("choices", seed))
        drawn.append(Entry(name, stage, family.name, {**recipe, "name": name}))
    return drawn


def _with_seed(recipe: Any, seed: Sequence[str]) -> Any:
    if isinstance(recipe, dict):
        return {key: list(seed) if key == "seed" else _with_seed(value, seed) for key, value in recipe.items()}
    return [_with_seed(each, seed) for each in recipe] if isinstance(recipe, list) else recipe


def _drawn_case(family: Family, entry: Entry) -> EvaluationCase:
    """A drawn instance, with the interval on OPT of a solve with effort 1."""
    settings = SolveSettings()

    def solve() -> dict[str, Any]:
        set_current(f"enclosing OPT of {entry.name}")
        return _document(family, entry.recipe, family.solve(family.make(entry.recipe), settings))

    key = ["drawn case", family.name, entry.recipe, family.solve_key(settings)]
    return _restored(family, entry.tier, recalled(key, solve))


def entries_of(family: Family, chosen: StandardSet, stage: str) -> list[Entry]:
    """The set's smallest entries of a stage in the family's range of sizes; those of its tier of this name first."""
    limits, figure = require_support(family).limits[stage], family.size[0]
    able = [each for each in chosen.entries if each.family == family.name and each.best and each.tier != TINY]
    found = [entry for entry in able if limits.low <= entry.count(figure) <= limits.high]
    return sorted(found, key=lambda entry: (entry.tier != stage, entry.count(figure)))[: limits.most]


@lru_cache(maxsize=64)
def _make(chosen: str, name: str, digest: str) -> tuple[Family, Any]:
    return make_entry(read_set(chosen).find(name))


def find_cases(
    family: Family, chosen: StandardSet, stage: str, seed: int, count: int
) -> dict[str, Callable[[], EvaluationCase]]:
    """The instances of a stage by name, in the order in which an evaluation runs them."""
    if stage == TINY:
        cases = {case.name: case for case in tiny_cases(family, seed, count)}
        return {name: partial(cases.__getitem__, name) for name in cases}
    if seed == PUBLISHED:
        return {each.name: partial(set_case, chosen, each, stage) for each in entries_of(family, chosen, stage)}
    key = sha256(f"evaluate {seed}".encode()).hexdigest()
    drawn = [each for each in draw_entries(family, chosen, key) if each.tier == stage]
    return {each.name: partial(_drawn_case, family, each) for each in drawn}


def set_case(chosen: StandardSet, entry: Entry, stage: str) -> EvaluationCase:
    """An instance of the set, with the interval of its certificate, which is verified."""
    assert entry.best is not None
    family, instance = _make(str(chosen.path), entry.name, chosen.digest)
    data, _ = read_certificate(chosen, entry, entry.best)
    address = f"{chosen.name}/{entry.name}"
    piece = work.certify(family.name, family.dumps(instance).encode(), family.identity(instance), address, data, "")
    if not piece.ok:
        raise InputError(address, "", str(piece.payload["reason"]))

    def solution() -> Any:
        text = gzip.decompress(piece.solution or b"")
        return family.parse_solution(family.load_document(instance, text, address), address)

    lower, upper = (read_exact(piece.payload[end]) for end in ("lower", "upper"))
    return EvaluationCase(entry.name, stage, family, instance, lower, upper, solution)


def known_interval(family: Family, instance: Any) -> tuple[Exact, Exact] | None:
    """The interval on OPT that a shipped certificate proves for an instance of this content; None for none."""
    return _known_intervals(family.name).get(family.identity(instance))


@lru_cache(maxsize=8)
def _known_intervals(name: str) -> dict[str, tuple[Exact, Exact]]:
    entries = set_of(name).entries
    return {entry.instance: interval_of(entry.best) for entry in entries if entry.family == name and entry.best}


def require_support(family: Family) -> Any:
    if family.evaluation is None:
        raise InputError("--family", "", f"the family {family.name} has no instances for `evaluate`")
    return family.evaluation


def find_family(name: str | None = None) -> Family:
    """The family of this name that takes part, by default the first of the main set; InputError where there is none."""
    able = {family.name: family for family in families().values() if family.evaluation is not None}
    name = read_set().entries[0].family if name is None else name
    require_known(name, able, "--family")
    return able[name]
