"""Is a user's algorithm fit for a benchmark? Short runs on tiny instances, each for one requirement."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ratiobench.bench.evaluation.cases import EvaluationCase, tiny_cases
from ratiobench.bench.evaluation.isolation import isolate_runs
from ratiobench.bench.family.contract import Family
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.instances.io.errors import InputError, make_printable
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.policy_file import Policy, PolicyError, read_policy
from ratiobench.online.remarks import NO_ISOLATION, isolation_text
from ratiobench.online.run_context import RunContext, run_context

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
    name: str
    state: str
    detail: str = ""  # what failed


@dataclass(frozen=True, slots=True)
class AlgorithmCheck:
    algorithm: str
    family: Family
    requirements: Sequence[Requirement]
    instances: int

    @property
    def ready(self) -> bool:
        return all(requirement.state != FAILED for requirement in self.requirements)


def check_algorithm(text: str, family: Family, count: int = 4, seed: int = 1) -> AlgorithmCheck:
    """Run a user's algorithm on tiny instances, once for each requirement."""
    policy = Policy(text, text)

    def report(instances: int, known: Iterable[Requirement], state: str, detail: str = "") -> AlgorithmCheck:
        """The requirements that are known, and all others with this state."""
        by_name = {requirement.name: requirement for requirement in known}
        rows = [by_name.get(name) or Requirement(name, state, detail) for name in REQUIREMENTS]
        return AlgorithmCheck(policy.shown, family, rows, instances)

    def failure(name: str, problem: str) -> Requirement:
        return Requirement(name, FAILED, make_printable(policy.with_shown_name(problem), 400))

    try:
        policy = read_policy(text)
    except PolicyError as error:
        return report(0, [failure("build", str(error))], SKIPPED)
    if policy.algorithm is None and family.is_shipped(text):
        raise InputError("algorithm", text, f"is shipped with the family {family.name}; this checks users' algorithms")
    with contextlib.ExitStack() as stack:
        isolation = isolate_runs(stack, family, policy, None)
        cases = tiny_cases(family, seed, count)

        def run(case: EvaluationCase, algorithm: str) -> OnlineRun:
            with run_context(RunContext(limit=60.0, isolate=isolation, own=policy.own)):
                return family.run(case.instance, algorithm)

        runs = []
        try:
            for case in cases:
                set_current(f"running {case.name}")
                runs.append(run(case, policy.name))
        except InputError as error:
            return report(0, [failure("build", error.problem)], SKIPPED)
        for case, first in zip(cases, runs, strict=True):
            if not first.valid:
                where = _OF_RULE.get(first.violations[0].rule, "rules")
                known = [Requirement("build", OK), failure(where, f"{case.name}: {first.violations[0]}")]
                return report(len(cases), known, SKIPPED, "a run is not valid")
        pace = max(first.seconds / max(1, case.arrivals) for case, first in zip(cases, runs, strict=True))
        known = [
            _compare(cases, runs, [run(case, policy.name) for case in cases]),
            Requirement("limits", FAILED if pace > SLOW_SECONDS else OK, f"{1000 * pace:.3f} ms per decision at most"),
            _try_misspelt(policy.name, lambda algorithm: run(cases[0], algorithm)),
            Requirement("isolation", SKIPPED if isolation == NO_ISOLATION else OK, isolation_text(isolation)),
        ]
        return report(len(cases), known, OK)


def _compare(cases: Sequence[EvaluationCase], runs: Sequence[OnlineRun], others: Sequence[OnlineRun]) -> Requirement:
    name = "determinism"
    for case, one, other in zip(cases, runs, others, strict=True):
        if other.violations:
            return Requirement(name, FAILED, f"{case.name}: {other.violations[0]}")
        documents = [case.family.solution_document(run.decisions) for run in (one, other)]
        if documents[0] != documents[1]:
            pairs = zip(*(document["decisions"] for document in documents), strict=False)
            first = next((i for i, (a, b) in enumerate(pairs) if a != b), 0)
            return Requirement(name, FAILED, f"{case.name}: another run decides differently from arrival {first} on")
    return Requirement(name, OK)


def _try_misspelt(name: str, run: Callable[[str], OnlineRun]) -> Requirement:
    try:
        done = run(f"{name}{',' if name.count(':') > 1 else ':'}{MISSPELT}=1")
    except InputError:
        return Requirement("options", OK)
    problem = f"it takes `{MISSPELT}=1`: read options by name, so that a misspelt one is noticed"
    if not done.valid:
        problem = f"with the option {MISSPELT}=1 it fails while running: {done.violations[0]}"
    return Requirement("options", FAILED, problem)
