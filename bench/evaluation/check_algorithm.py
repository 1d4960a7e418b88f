"""Is a user's algorithm fit for a benchmark? Short runs on tiny instances, each for one requirement."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ratiobench.bench.evaluation.cases import EvaluationCase, tiny_cases
from ratiobench.bench.evaluation.isolation import isolate_runs
from ratiobench.bench.family.contract import Family
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.instances.io.errors import InputError, make_printable
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.policy_file import PolicyError, PolicyFile, is_policy_file, read_policy_file
from ratiobench.online.remarks import NO_ISOLATION, isolation_text
from ratiobench.online.run_context import RunContext, UserAlgorithm, run_context

OK, FAILED, SKIPPED = "ok", "failed", "not checked"
MISSPELT = "no_such_option"
SLOW_SECONDS = 1.0  # A decision on a tiny instance that takes longer fails the check of limits
# The requirement that a broken rule of the referee belongs to; all others are rules of the problem
_OF_RULE: Mapping[str, str] = {
    "draws": "determinism", "not reproducible": "determinism", "peeks": "prefix", "timeout": "limits",
    "memory": "limits", "processes": "limits", "disk": "limits", "error": "errors", "crash": "errors",
    "changed decision": "answers", "read-only": "answers", "protocol": "answers",
}  # fmt: skip
REQUIREMENTS: Mapping[str, str] = {
    "build": "the class is built, and has the methods that decide",
    "errors": "no decision raises an error or ends the process",
    "answers": "answers have the right form and are not altered afterwards",
    "rules": "every decision keeps the rules of the problem",
    "determinism": "two runs in different processes decide the same",
    "prefix": "decisions do not change when later arrivals are taken away, and nothing forbidden is read",
    "options": "an option that does not exist is refused",
    "limits": f"a decision takes at most {SLOW_SECONDS:g} s, and memory stays within the referee's limit",
    "isolation": "all of this is so in a sandbox",
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement: whether it is met, and what failed."""

    name: str
    state: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AlgorithmCheck:
    """What came of the checks of an algorithm."""

    algorithm: str
    family: Family
    requirements: Sequence[Requirement]
    instances: int

    @property
    def ready(self) -> bool:
        """No requirement failed."""
        return all(each.state != FAILED for each in self.requirements)


def check_algorithm(text: str, family: Family, count: int = 4, seed: int = 1) -> AlgorithmCheck:
    """Run a user's algorithm on tiny instances, once for each requirement."""
    policy: PolicyFile | None = None
    name = shown = text
    if is_policy_file(text):
        try:
            policy = read_policy_file(text)
        except PolicyError as error:
            return _stopped(text, family, "build", str(error))
        name, shown = policy.name, policy.shown
    elif family.is_shipped(text):
        raise InputError("algorithm", text, f"is shipped with the family {family.name}; this checks users' algorithms")
    with contextlib.ExitStack() as stack:
        method = isolate_runs(stack, family, policy, None)
        own = {} if policy is None else {policy.path_name: policy.algorithm}
        return _check(family, tiny_cases(family, seed, count), _Algorithm(name, shown, own, policy, method))


@dataclass(frozen=True, slots=True)
class _Algorithm:
    """The algorithm that is checked."""

    name: str  # name, shown: the name under which it runs, and the one that people know
    shown: str
    own: Mapping[str, UserAlgorithm]
    policy: PolicyFile | None
    isolation: str  # how its runs are isolated


def _check(family: Family, cases: Sequence[EvaluationCase], algorithm: _Algorithm) -> AlgorithmCheck:
    runs: list[OnlineRun] = []
    shown, policy = algorithm.shown, algorithm.policy
    try:
        for case in cases:
            set_current(f"running {case.name}")
            runs.append(_run(family, case, algorithm))
    except InputError as error:
        return _stopped(shown, family, "build", _shown(policy, error.problem))
    found = {each: Requirement(each, OK) for each in REQUIREMENTS}
    broken = next(((case, run) for case, run in zip(cases, runs, strict=True) if not run.valid), None)
    if broken is not None:
        case, run = broken
        where = _OF_RULE.get(run.violations[0].rule, "rules")
        detail = f"{case.name}: {_shown(policy, str(run.violations[0]))}"
        found = {each: Requirement(each, SKIPPED, "a run is not valid") for each in REQUIREMENTS}
        found["build"] = Requirement("build", OK)
        found[where] = Requirement(where, FAILED, make_printable(detail, 400))
        return AlgorithmCheck(shown, family, list(found.values()), len(cases))
    for requirement in _more(family, cases, runs, algorithm):
        found[requirement.name] = requirement
    return AlgorithmCheck(shown, family, list(found.values()), len(cases))


def _more(
    family: Family, cases: Sequence[EvaluationCase], runs: Sequence[OnlineRun], algorithm: _Algorithm
) -> Iterator[Requirement]:
    again = [_run(family, case, algorithm) for case in cases]
    yield _compare("determinism", cases, runs, again)
    slow = max(zip(runs, cases, strict=True), key=lambda each: each[0].seconds / max(1, each[1].arrivals))
    seconds = slow[0].seconds / max(1, slow[1].arrivals)
    text = f"{1000 * seconds:.3f} ms per decision at most"
    yield Requirement("limits", FAILED if seconds > SLOW_SECONDS else OK, text)
    yield _misspelt(family, cases[0], algorithm)
    isolated = algorithm.isolation != NO_ISOLATION
    yield Requirement("isolation", OK if isolated else SKIPPED, isolation_text(algorithm.isolation))


def _run(family: Family, case: EvaluationCase, algorithm: _Algorithm) -> OnlineRun:
    with run_context(RunContext(limit=60.0, isolate=algorithm.isolation, own=algorithm.own)):
        return family.run(case.instance, algorithm.name)


def _compare(
    name: str, cases: Sequence[EvaluationCase], runs: Sequence[OnlineRun], others: Sequence[OnlineRun]
) -> Requirement:
    for case, one, other in zip(cases, runs, others, strict=True):
        if other.violations:
            return Requirement(name, FAILED, f"{case.name}: {other.violations[0]}")
        documents = [case.family.solution_document(run.decisions) for run in (one, other)]
        if documents[0] != documents[1]:
            pairs = zip(*(each["decisions"] for each in documents), strict=False)
            first = next((i for i, (a, b) in enumerate(pairs) if a != b), 0)
            return Requirement(name, FAILED, f"{case.name}: another run decides differently from arrival {first} on")
    return Requirement(name, OK)


def _misspelt(family: Family, case: EvaluationCase, algorithm: _Algorithm) -> Requirement:
    options = algorithm.name.count(":") > 1
    name = f"{algorithm.name}{',' if options else ':'}{MISSPELT}=1"
    try:
        run = _run(family, case, replace(algorithm, name=name))
    except InputError:
        return Requirement("options", OK)
    problem = f"it takes `{MISSPELT}=1`: read options by name, so that a misspelt one is noticed"
    if not run.valid:
        problem = f"with the option {MISSPELT}=1 it fails while running: {run.violations[0]}"
    return Requirement("options", FAILED, problem)


def _stopped(shown: str, family: Family, where: str, detail: str) -> AlgorithmCheck:
    found = [
        Requirement(each, FAILED, make_printable(detail, 400)) if each == where else Requirement(each, SKIPPED)
        for each in REQUIREMENTS
    ]
    return AlgorithmCheck(shown, family, found, 0)


def _shown(policy: PolicyFile | None, text: str) -> str:
    return text if policy is None else policy.with_shown_name(text)
