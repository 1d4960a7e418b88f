"""One run of an algorithm under the referee, for every family: what a family adds to it is its `Environment`."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Generic

from ratiobench.formulations.report import Exact
from ratiobench.formulations.timing import excluded_from_timing
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.io.errors import name_source
from ratiobench.online import run_context
from ratiobench.online.outcome import Constant, OnlineRun, Violation
from ratiobench.online.referee import simulator
from ratiobench.online.referee.arrival_count import counted_arrivals
from ratiobench.online.referee.simulator import Log, Simulator
from ratiobench.online.registry import Instance, Registry, require_prior
from ratiobench.online.remarks import Part, Remarks
from ratiobench.online.spec import Spec
from ratiobench.online.spec import version as version_of

__all__ = ["Environment", "Judgement", "run"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an independent verifier of the family says of the decisions of a run."""

    decisions: Any  # the family's solution, as it follows from the log
    violations: Sequence[Violation]  # those of the referee and what else the verifier found
    value: Exact  # of the objective, in the family's unit
    admitted: int  # number of admitted arrivals
    true_value: Exact | None = None  # the same by valuations; None where bidders are not asked: the value itself
    revenue: Exact | None = None  # sum of payments, or None without a payment rule
    overcharged: Part | None = None  # admitted arrivals that pay more than they bid, of all admitted; None for none
    single_node: bool = False  # every arrival had to stay on one node
    counts: Mapping[str, int] = field(default_factory=dict)  # things counted, beside those of the algorithm


class Environment(ABC, Generic[Instance]):
    """The parts of a run that a family adds; a family defines `registry` and overrides further members."""

    registry: Registry[Instance]  # the algorithms by name
    secret: tuple[type, ...] = ()  # types that show the future, beside that of instances: no algorithm may carry one

    def admit(self, instance: Instance, spec: Spec) -> tuple[Environment[Instance], Spec]:
        """Choose the environment and the algorithm of a run."""
        return self, spec

    @abstractmethod
    def arrivals(self, instance: Instance) -> int:
        """Count the arrivals."""

    @abstractmethod
    def table(self, instance: Instance, seed: str) -> Simulator:
        """Make the simulator of a run."""

    @abstractmethod
    def first_half(self, instance: Instance) -> Instance:
        """Cut the instance after the first half of the arrivals: whole questions, at least one."""

    @abstractmethod
    def judge(self, instance: Instance, log: Log, violations: Sequence[Violation]) -> Judgement:
        """Compute the figures of a run from its log, by code that the simulator does not share."""

    @abstractmethod
    def small(self) -> Instance:
        """Make an instance that is solved in a moment and calls every kernel."""

    def settled(self, algorithm: Any, constants: tuple[Constant, ...]) -> tuple[Constant, ...]:
        """Return the constants of a registered algorithm as the run reports them."""
        return constants

    def remarks(self, constants: tuple[Constant, ...]) -> tuple[str, ...]:
        """Return the remarks that constants add to a run of a registered algorithm."""
        return ()

    def trace(self, instance: Instance, exposed: Any) -> Any:
        """Check the part of its state that a user's algorithm shows, for audits."""
        return None


def cut_after_half(files: Any, instance: Instance, arrivals: str, times: IntArray) -> Instance:
    """The instance of the first half of the arrivals, at least one, and of all that arrive at the time of its last."""
    half = (len(times) + 1) // 2
    while 0 < half < len(times) and times[half] == times[half - 1]:
        half += 1
    data = files.document(instance)
    data[arrivals] = data[arrivals][:half]
    part: Instance = files.parse(data, "the first half")
    return part


def run(
    environment: Environment[Instance],
    instance: Instance,
    text: str,
    seed: str | None = None,
    prior: Instance | None = None,
) -> OnlineRun:
    """Run an algorithm on an instance under the referee; `seed` names the random stream of algorithms that draw."""
    registry = environment.registry
    environment, spec = environment.admit(instance, registry.parse(text))
    require_prior(spec, prior)
    if seed is None:
        again = run_context.current().repetition
        seed = registry.content_hash(instance) + (f" repetition {again}" if again > 1 else "")
    if spec.entry is None:
        return run_isolated(environment, instance, spec, seed, prior)
    with excluded_from_timing(), counted_arrivals(None):
        warm_once(environment, registry.choice(spec, environment.arrivals(instance)))
    with name_source(getattr(instance, "name", "")):
        return _run(environment, instance, spec, seed, prior)


def _run(
    environment: Environment[Instance], instance: Instance, spec: Spec, seed: str, prior: Instance | None = None
) -> OnlineRun:
    algorithm, constants = environment.registry.prepare(spec, instance, environment.arrivals(instance), prior)
    settled = environment.settled(algorithm, constants)
    return run_built(environment, instance, algorithm, spec.name, version_of(spec), settled, seed)


def run_built(
    environment: Environment[Instance],
    instance: Instance,
    algorithm: Any,
    name: str,
    version: str,
    constants: tuple[Constant, ...],
    seed: str,
) -> OnlineRun:
    """A run, in this process, of an algorithm of ours that is built already, with these constants."""
    values = {constant.name: constant.value for constant in constants}
    log, violations, seconds = simulator.run_in_process(environment.table(instance, seed), algorithm, values)
    label = getattr(algorithm, "label", None)
    own: Remarks | None = getattr(algorithm, "remarks", None)
    remarks = own or Remarks(name, notes=() if label is None else (str(label),))
    return _judge(
        environment, instance, log, violations,
        algorithm=name,
        version=version,
        remarks=remarks.with_notes(*environment.remarks(constants)),
        constants=constants,
        arithmetic=getattr(algorithm, "arithmetic", "integer"),
        counts=dict(getattr(algorithm, "counts", {})),
        seconds=seconds,
        trace=getattr(algorithm, "trace", None),
        history=getattr(algorithm, "history", ""),
        batch=hasattr(algorithm, "decide_batch"),
    )  # fmt: skip


def run_isolated(
    environment: Environment[Instance],
    instance: Instance,
    spec: Spec,
    seed: str,
    prior: Instance | None = None,
    *,
    once: bool = False,
) -> OnlineRun:
    """A run of an algorithm given by its import path, in its own process (`ratiobench.online.referee.isolation`)."""
    from ratiobench.online.referee import user_run

    code = version_of(spec)
    played = user_run.run_user_algorithm(
        environment.registry, spec, instance, lambda part: environment.table(part, seed), environment.first_half, prior,
        seed, once=once,
    )  # fmt: skip
    return _judge(
        environment, instance, played.log, played.violations,
        algorithm=spec.name,
        version=code,
        remarks=played.remarks,
        constants=played.constants,
        arithmetic="unknown",
        counts=dict(played.counts),
        seconds=played.seconds,
        trace=environment.trace(instance, played.exposed),
        batch=played.batch,
    )  # fmt: skip


def _judge(
    environment: Environment[Instance],
    instance: Instance,
    log: Log,
    violations: Sequence[Violation],
    *,
    remarks: Remarks,
    counts: dict[str, int],
    **facts: Any,
) -> OnlineRun:
    """The run's result, its figures taken from the independent verifier."""
    judged = environment.judge(instance, log, violations)
    return OnlineRun(
        remarks=replace(remarks, overcharged=judged.overcharged, single_node=judged.single_node),
        valid=not judged.violations,
        violations=tuple(judged.violations),
        welfare=judged.value,
        true_welfare=judged.value if judged.true_value is None else judged.true_value,
        revenue=judged.revenue,
        admitted=judged.admitted,
        arrivals=environment.arrivals(instance),
        decisions=judged.decisions,
        counts=counts | dict(judged.counts),
        **facts,
    )


@cache
def warm_once(environment: Environment[Any], choice: str) -> None:
    """Compile and load what an algorithm of ours needs, and start its solver, before any clock runs."""
    with contextlib.suppress(Exception):  # what is wrong the run itself says
        spec = environment.registry.parse(choice)
        small = environment.small()
        _run(environment, small, spec, "warm")
        if spec.entry is not None and spec.entry.warm is not None:
            spec.entry.warm(small)


def list_choices(environment: Environment[Any]) -> list[str]:
    """Every algorithm with every combination of its options: kernels may differ by them."""
    return [
        f"{entry.name}:{options}" if options else entry.name
        for entry in environment.registry.entries().values()
        for options in entry.choices()
    ]
