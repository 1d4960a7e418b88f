"""One policy on a list of instances in this process: every decision is checked, nothing is isolated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ratiobench.bench.evaluation.cases import known_interval
from ratiobench.bench.evaluation.isolation import share_sandboxes
from ratiobench.bench.evaluation.result import grade
from ratiobench.bench.family.contract import Family
from ratiobench.formulations.report import Exact
from ratiobench.formulations.timing import excluded_from_timing
from ratiobench.instances.io.errors import InputError
from ratiobench.online import run as runs
from ratiobench.online.answers import locate_error
from ratiobench.online.outcome import Constant, Violation
from ratiobench.online.referee.simulator import Simulator, run_in_process
from ratiobench.online.registry import require_prior
from ratiobench.online.run import Environment
from ratiobench.online.run_context import RunContext, run_context
from ratiobench.online.spec import Spec
from ratiobench.online.user_algorithm import name_algorithms

COLUMNS = (
    "instance", "valid", "value", "lower", "upper", "share", "admitted", "arrivals", "seconds", "violation",
)  # fmt: skip


EXACT = ("value", "lower", "upper")  # Columns of exact figures


def play_isolated(pairs: Iterable[tuple[Family, Any]], policy: object) -> Iterator[dict[str, Any]]:
    """The same rows of runs in processes of their own, each repeated on the first half of the arrivals."""
    given = list(pairs)
    (name,), own = name_algorithms([policy], {kind for family, _ in given for kind in family.secret_types()})
    with contextlib.ExitStack() as stack:
        stack.enter_context(run_context(RunContext(isolate=None, own=own)))
        share_sandboxes(stack, {id(family): family for family, _ in given}.values(), None)
        for family, instance in given:
            run = family.run(instance, name)
            played = _Run(run.welfare, run.admitted, run.violations, run.arrivals, run.seconds)
            ends = known_interval(family, instance)
            valid = ends is not None and not run.violations
            share = float(grade(family.sense, run.welfare, *ends)[0]) if valid and ends is not None else None
            yield _row(instance, played, ends, share)


def play_rows(pairs: Iterable[tuple[Family, Any]], policy: object) -> Iterator[dict[str, Any]]:
    """One row per instance, in their order, with the columns `COLUMNS`."""
    makers: dict[str, _Shipped | _Engine | _Handed] = {}
    shares: dict[tuple[int, Exact], float] = {}
    known: dict[int, tuple[Exact, Exact] | None] = {}
    given = list(pairs)  # instances are told apart by `id`: none may go away meanwhile
    for family, instance in given:
        if family.name not in makers:
            makers[family.name] = _maker(family, policy)
        run = makers[family.name].run(instance)
        key = id(instance)
        if key not in known:
            known[key] = known_interval(family, instance)
        ends, share = known[key], None
        if ends is not None and not run.violations:
            if (key, run.value) not in shares:
                shares[key, run.value] = float(grade(family.sense, run.value, *ends)[0])
            share = shares[key, run.value]
        yield _row(instance, run, ends, share)


def _maker(family: Family, policy: object) -> _Shipped | _Engine | _Handed:
    if not isinstance(policy, str):
        return _Handed(family, policy)
    is_usual = family.runner is None and type(family).run is Family.run
    return _Shipped(family, policy) if is_usual else _Engine(family, policy)


def _environment(family: Family) -> Environment[Any]:
    if family.environment is None:
        raise InputError("play", "", f"the family {family.name} has no referee of its own")
    return family.environment


def _row(instance: Any, run: _Run, ends: tuple[Exact, Exact] | None, share: float | None) -> dict[str, Any]:
    lower, upper = (None, None) if ends is None else ends
    violation = str(run.violations[0]) if run.violations else ""
    figures = (instance.name, not run.violations, run.value, lower, upper, share)
    return dict(zip(COLUMNS, (*figures, run.admitted, run.arrivals, run.seconds, violation), strict=True))


class _Run:
    """What a row tells of a run."""

    __slots__ = ("admitted", "arrivals", "seconds", "value", "violations")

    def __init__(
        self, value: Exact, admitted: int, violations: Sequence[Violation], arrivals: int, seconds: float
    ) -> None:
        self.value, self.admitted, self.violations = value, admitted, violations
        self.arrivals, self.seconds = arrivals, seconds


def _parse(family: Family, text: str) -> Spec:
    """The name of a shipped algorithm, read."""
    spec = _environment(family).registry.parse(text)
    require_prior(spec, None)
    if spec.entry is None:
        raise InputError("policy", text, "an import path; give the class itself, which runs in this process")
    return spec


class _Engine:
    """A shipped algorithm of a family that runs its own."""

    def __init__(self, family: Family, text: str) -> None:
        self._family, self._name = family, _parse(family, text).name

    def run(self, instance: Any) -> _Run:
        run = self._family.run(instance, self._name)
        return _Run(run.welfare, run.admitted, run.violations, run.arrivals, run.seconds)


class _Shipped:
    """A shipped algorithm: its name is read and its kernels are compiled once."""

    def __init__(self, family: Family, text: str) -> None:
        self._environment = _environment(family)
        self._spec = _parse(family, text)
        with excluded_from_timing():
            runs.warm_once(self._environment, self._environment.registry.choice(self._spec, 1))
        self._admitted: dict[int, tuple[Environment[Any], Any]] = {}

    def run(self, instance: Any) -> _Run:
        if id(instance) not in self._admitted:
            self._admitted[id(instance)] = self._environment.admit(instance, self._spec)
        environment, spec = self._admitted[id(instance)]
        registry = environment.registry
        arrivals = environment.arrivals(instance)
        _, algorithm, constants = registry.prepare(spec, instance, arrivals, None)
        return _checked(environment, instance, algorithm, environment.settled(algorithm, constants))


def _checked(environment: Environment[Any], instance: Any, algorithm: Any, constants: tuple[Constant, ...]) -> _Run:
    table = environment.table(instance, environment.registry.content_hash(instance))
    values = {constant.name: constant.value for constant in constants}
    log, violations, seconds = run_in_process(table, algorithm, values)
    judged = environment.judge(instance, log, violations)
    return _Run(judged.value, judged.admitted, judged.violations, table.arrivals, seconds)


class _Handed:
    """A class or object of the caller; an error of its own ends the run like a broken rule."""

    def __init__(self, family: Family, policy: Any) -> None:
        self._environment, self._policy = _environment(family), policy
        kind = policy if isinstance(policy, type) else type(policy)
        self._spec = self._environment.registry.parse(f"policy:{kind.__name__}")

    def run(self, instance: Any) -> _Run:
        environment, policy = self._environment, self._policy
        registry = environment.registry
        try:
            algorithm = registry.adapt(policy() if isinstance(policy, type) else policy)
            names = tuple(getattr(algorithm, "constants", ()))
        except Exception as error:
            problem = f"cannot be built: {locate_error(error)}"
            raise InputError("policy", getattr(policy, "__name__", ""), problem) from None
        constants = registry.settle_constants(self._spec, names, instance)
        try:
            return _checked(environment, instance, algorithm, constants)
        except InputError:
            raise
        except Exception as error:
            table: Simulator = environment.table(instance, registry.content_hash(instance))
            return _Run(0, 0, [Violation("error", None, locate_error(error), table.noun)], table.arrivals, 0.0)
