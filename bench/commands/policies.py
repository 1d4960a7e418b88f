"""Policies that people and programs write: `evaluate`, `check-algorithm`, `play`."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from ratiobench.bench import arguments as arg
from ratiobench.bench.arguments import Outcome, Steps, command
from ratiobench.bench.commands.shared import read_given
from ratiobench.bench.evaluation.cases import STAGES, EvaluationCase, find_family, known_interval, tiny_cases
from ratiobench.bench.evaluation.evaluate import evaluate_policy
from ratiobench.bench.evaluation.isolation import isolate_runs, share_sandboxes
from ratiobench.bench.evaluation.result import Evaluation, EvaluationSettings, grade, percent, table_rows
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import read_set, set_of
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.show import align_columns
from ratiobench.formulations.report import Exact
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.online.answers import locate_error
from ratiobench.online.outcome import OnlineRun, Violation
from ratiobench.online.policy_file import Policy, PolicyError, is_policy_file, read_policy
from ratiobench.online.referee.simulator import run_in_process
from ratiobench.online.registry import require_prior
from ratiobench.online.remarks import NO_ISOLATION, isolation_text
from ratiobench.online.run import Environment
from ratiobench.online.run_context import RunContext, run_context
from ratiobench.online.spec import Spec
from ratiobench.online.user_algorithm import name_algorithms

if TYPE_CHECKING:
    import pandas as pd

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
Seed = Annotated[int, arg.Option(arg.Integer(0, 2**31), "S")]
Tiny = Annotated[int, arg.Option(arg.Integer(1, 1000), "N", "number of tiny instances")]


@command("evaluating")
def evaluate(
    policy: Annotated[Any, arg.Option(arg.Anything("text"), "POLICY")],
    *,
    family: str | None = None,
    set: Annotated[str | None, arg.Option(arg.Anything("text"), "SET")] = None,
    seed: Seed = 1,
    tiny: Tiny = 10,
    stage: Annotated[Any, arg.Option(arg.Choice(STAGES), "STAGE", several=True)] = (),
    only: arg.Patterns = (),
    last: Annotated[str | None, arg.Option(arg.Choice(STAGES), "STAGE")] = None,
    threshold: Annotated[float, arg.Option(arg.Number("a number in 0..1", lambda share: 0 <= share <= 1), "X")] = 0.3,
    budget: Annotated[Any, arg.Option(arg.Duration(), "T")] = 60,
    isolate: arg.Isolate = None,
) -> Steps[Evaluation]:
    """Evaluate a policy on graded instances: share of OPT, arrivals on which it loses.

    Parameters
    ----------
    policy : policy.py, policy.py:Class[:key=value,...], or a shipped algorithm.
    family : family of the policy; by default that of the shipped algorithm, or the first of the standard set.
    set : standard set of the larger instances, or its manifest; by default the family's first one.
    seed : seed of the tiny instances; another one than 1 also draws the larger ones anew, like those of the set.
    stage : run only these stages; by default all.
    only : run only the instances with these names (* ? [...]).
    last : end after this stage; instances of later ones count as 0; by default the last one.
    threshold : mean share of OPT on a stage from which on the next stage is run.
    budget : time limit of all runs of the policy, such as 60s; unfinished instances count as 0.

    Returns
    -------
    The evaluation: ``combined_score``, ``valid``, ``text``, ... A policy that cannot be built or breaks a rule is not
    valid and has score 0; that is no error.

    Raises
    ------
    InputError : a missing file or class, a name or a set that does not exist.

    Examples
    --------
    >>> import ratiobench
    >>> ratiobench.evaluate("greedy", stage="tiny", tiny=2).valid
    True
    """
    if not isinstance(policy, str | os.PathLike) or not str(policy):
        raise InputError("policy", "", f"{shorten(policy)} is neither a policy's file nor the name of an algorithm")
    policy = os.fspath(policy)
    stages = tuple(each for each in STAGES if each in stage) or STAGES
    if last is not None and last not in stages:
        raise InputError("--last", "", f"{last} is not one of the stages that are run: {', '.join(stages)}")
    settings = EvaluationSettings(seed, tiny, stages, threshold, float(budget), isolate, only, last or "")
    owner = _family_of(policy, family)
    evaluation = evaluate_policy(policy, owner, set_of(owner.name) if set is None else read_set(set), settings)
    yield Outcome(lambda: evaluation, evaluation.document)
    yield from _evaluation_lines(evaluation)


def _family_of(policy: str, name: str | None) -> Family:
    """The family that is named; of a shipped algorithm the first that has it, the default before all others."""
    if name is not None or is_policy_file(policy):
        return find_family(name)
    head, default = policy.partition(":")[0], find_family()
    known = (each for each in (default, *families().values()) if each.evaluation is not None)
    return next((each for each in known if head in dict(each.algorithms())), default)


def _evaluation_lines(evaluation: Evaluation) -> Iterator[str]:
    verdict = "valid" if evaluation.valid else "NOT VALID"
    isolated = "shipped" if evaluation.isolation is None else isolation_text(evaluation.isolation)
    score = f"score {evaluation.combined_score:.4f}, {verdict} ({evaluation.family.name}, {isolated})"
    yield f"{evaluation.policy}: {score}"
    if lines := table_rows(evaluation):
        yield align_columns(lines).removesuffix("\n")
    if evaluation.headroom is not None and evaluation.shipped is not None:
        best = f"{percent(evaluation.shipped.headroom)} above {evaluation.shipped.name}"
        yield f"headroom: OPT certainly leaves {percent(evaluation.headroom)} above the policy, {best}"
    if evaluation.seconds_per_decision is not None:
        per_decision = f"{1000 * evaluation.seconds_per_decision:.3f} ms per decision"
        yield f"time: {per_decision}, {evaluation.seconds:.2f} s in all"
    if evaluation.time_limited:
        yield "time-limited: the budget ended the evaluation, so the score depends on the machine"
    yield from (f"note: {note}" for note in evaluation.notes)
    yield ""
    yield from evaluation.feedback


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement, and whether an algorithm meets it."""

    name: str
    state: str
    detail: str = ""  # what failed


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
        return all(requirement.state != FAILED for requirement in self.requirements)


@command("checking")
def check_algorithm(
    algorithm: Annotated[str, arg.Option(arg.Anything("text"), "ALGORITHM")],
    *,
    family: str | None = None,
    tiny: Tiny = 4,
    seed: Seed = 1,
) -> Steps[AlgorithmCheck]:
    """Check a user's algorithm: determinism, prefix property, options, limits, isolation.

    Parameters
    ----------
    algorithm : mine.py:Class, or an import path package.module:Class.
    family : the family on whose instances the algorithm is run; by default the first of the standard set.
    seed : seed of the tiny instances.
    """
    checked = _check(algorithm, find_family(family), tiny, seed)
    document = {
        "algorithm": checked.algorithm,
        "family": checked.family.name,
        "instances": checked.instances,
        "ready": checked.ready,
        "requirements": [asdict(each) | {"detail": each.detail or None} for each in checked.requirements],
    }
    yield Outcome(lambda: checked, lambda: document, lambda: int(not checked.ready))
    for each in checked.requirements:
        detail = f" ({each.detail})" if each.detail else ""
        yield f"{each.state.ljust(11)}  {each.name.ljust(11)}  {REQUIREMENTS[each.name]}{detail}"
    failed = [each.name for each in checked.requirements if each.state == "failed"]
    yield f"{checked.algorithm}: " + (f"not ready: {', '.join(failed)}" if failed else "ready")


def _check(text: str, family: Family, count: int, seed: int) -> AlgorithmCheck:
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


def play(instances: Iterable[Any], policy: object, *, trusted: bool = True) -> pd.DataFrame:
    """Run one policy on several instances in this process, for training loops and quick experiments.

    Every decision is checked by the referee, and the value is recounted by the independent checker. What is missing
    beside `simulate` is isolation: the policy could read the instance from this process's memory, and nothing is run
    twice to see whether decisions depend on the future. So no row counts in a comparison.

    Parameters
    ----------
    instances : instances, documents' files, or both.
    policy : the name of a shipped algorithm; a class, which is built anew for every instance; or an object, whose
        `start` is called for every instance.
    trusted : False: each run is isolated and repeated, as in `simulate`.

    Returns
    -------
    DataFrame with a row per instance: instance, valid, value, lower, upper (ends of the interval on OPT where a shipped
    certificate proves one), share (of OPT that is certainly reached), admitted, arrivals, seconds, violation; and the
    exact figures as value_exact, lower_exact, upper_exact.

    Raises
    ------
    InputError : no instance, or no policy.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> ratiobench.play([named("thm5_T5_3tasks")], "greedy")["value"].tolist()
    [312.0]
    """
    import numpy as np
    import pandas as pd

    is_several = isinstance(instances, Iterable) and not isinstance(instances, str | os.PathLike | Mapping)
    listed = list(instances) if is_several else [instances]
    if not listed:
        raise InputError("instances", "", "none is given")
    if policy is None or isinstance(policy, list | tuple):
        raise InputError("policy", "", f"{shorten(policy)} is neither a name, a class nor an object of one")
    read = {id(item): read_given(item) for item in {id(item): item for item in listed}.values()}
    rows = list(_play_rows([read[id(item)] for item in listed], policy, trusted))
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    # Arrays of the final types: a column that is converted costs more than a run.
    for name in ("value", "lower", "upper"):
        exact = columns[name]
        columns[f"{name}_exact"] = np.array(exact, dtype=object if None in exact else None)
    for name in ("value", "lower", "upper", "share", "seconds"):
        columns[name] = np.array([math.nan if figure is None else float(figure) for figure in columns[name]])
    columns["valid"] = pd.array(columns["valid"], dtype="boolean")
    for name in ("admitted", "arrivals"):
        columns[name] = pd.array(columns[name], dtype="Int64")
    return pd.DataFrame(columns)


_Played = tuple[Exact, int, Sequence[Violation], int, float]  # value, admitted, violations, arrivals, seconds


def _play_rows(pairs: Sequence[tuple[Family, Any]], policy: object, trusted: bool) -> Iterator[dict[str, Any]]:
    """The figures of each instance by column, in the order of the instances."""
    plays: dict[str, Callable[[Any], _Played]] = {}
    intervals: dict[int, tuple[Exact, Exact] | None] = {}  # by instances, which are told apart by `id`
    with contextlib.ExitStack() as stack:
        if not trusted:  # processes of their own, each repeated on the first half of the arrivals
            (name,), own = name_algorithms([policy], {kind for family, _ in pairs for kind in family.secret_types()})
            stack.enter_context(run_context(RunContext(isolate=None, own=own)))
            share_sandboxes(stack, (family for family, _ in pairs), None)
        for family, instance in pairs:
            if family.name not in plays:
                plays[family.name] = _play_of(family, policy) if trusted else partial(_run, family, name)
            value, admitted, violations, arrivals, seconds = plays[family.name](instance)
            if id(instance) not in intervals:
                intervals[id(instance)] = known_interval(family, instance)
            ends = intervals[id(instance)]
            share = None if ends is None or violations else float(grade(family.sense, value, *ends)[0])
            lower, upper = ends or (None, None)
            row = {"instance": instance.name, "valid": not violations, "value": value, "lower": lower, "upper": upper}
            row |= {"share": share, "admitted": admitted, "arrivals": arrivals, "seconds": seconds}
            yield row | {"violation": str(violations[0]) if violations else ""}


def _run(family: Family, name: str, instance: Any) -> _Played:
    run = family.run(instance, name)
    return run.welfare, run.admitted, run.violations, run.arrivals, run.seconds


def _play_of(family: Family, policy: object) -> Callable[[Any], _Played]:
    """What runs the policy on an instance in this process."""
    environment = family.environment
    if environment is None:
        raise InputError("play", "", f"the family {family.name} has no referee of its own")
    registry = environment.registry
    if not isinstance(policy, str):
        kind = policy if isinstance(policy, type) else type(policy)
        return partial(_run_object, environment, registry.parse(f"policy:{kind.__name__}"), policy)
    spec = registry.parse(policy)
    require_prior(spec, None)
    if spec.entry is None:
        raise InputError("policy", policy, "an import path; give the class itself, which runs in this process")
    return partial(_run, family, spec.name)


def _run_object(environment: Environment[Any], spec: Spec, policy: Any, instance: Any) -> _Played:
    """Run a class or object of the caller; an error of its own ends the run like a broken rule."""
    registry = environment.registry
    try:
        algorithm = registry.adapt(policy() if isinstance(policy, type) else policy)
        names = tuple(getattr(algorithm, "constants", ()))
    except Exception as error:
        problem = f"cannot be built: {locate_error(error)}"
        raise InputError("policy", getattr(policy, "__name__", ""), problem) from None
    constants = registry.settle_constants(spec, names, instance)
    table = environment.table(instance, registry.content_hash(instance))
    try:
        values = {constant.name: constant.value for constant in constants}
        log, violations, seconds = run_in_process(table, algorithm, values)
        judged = environment.judge(instance, log, violations)
        return judged.value, judged.admitted, judged.violations, table.arrivals, seconds
    except InputError:
        raise
    except Exception as error:
        return 0, 0, [Violation("error", None, locate_error(error), table.noun)], table.arrivals, 0.0
