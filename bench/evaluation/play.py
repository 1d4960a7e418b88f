"""One policy on a list of instances in this process: every decision is checked, nothing is isolated."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ratiobench.bench.evaluation.cases import known_interval
from ratiobench.bench.evaluation.isolation import share_sandboxes
from ratiobench.bench.evaluation.result import grade
from ratiobench.bench.family.contract import Family
from ratiobench.formulations.report import Exact
from ratiobench.instances.io.errors import InputError
from ratiobench.online.answers import locate_error
from ratiobench.online.outcome import Violation
from ratiobench.online.referee.simulator import run_in_process
from ratiobench.online.registry import require_prior
from ratiobench.online.run import Environment
from ratiobench.online.run_context import RunContext, run_context
from ratiobench.online.spec import Spec
from ratiobench.online.user_algorithm import name_algorithms

_Played = tuple[Exact, int, Sequence[Violation], int, float]  # value, admitted, violations, arrivals, seconds


def play_rows(pairs: Sequence[tuple[Family, Any]], policy: object, trusted: bool) -> Iterator[dict[str, Any]]:
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
