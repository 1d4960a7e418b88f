"""A run of a user's algorithm, judged; a second one, on the first half of the arrivals, shows whether it peeks."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ratiobench.formulations.processes import usable_threads
from ratiobench.formulations.timing import excluded_from_timing
from ratiobench.online import run_context
from ratiobench.online.outcome import Constant, Violation
from ratiobench.online.referee.arrival_count import Counter, start_counting
from ratiobench.online.referee.bounds import shows_the_future
from ratiobench.online.referee.isolation import Runner
from ratiobench.online.referee.limits import Echo
from ratiobench.online.referee.sandbox import choose_for
from ratiobench.online.referee.simulator import (
    LogEntry,
    RuleViolation,
    Simulator,
    Steps,
    complete,
    first_difference,
    make_altered_violation,
)
from ratiobench.online.registry import Instance, Registry
from ratiobench.online.remarks import NO_ISOLATION, Remarks
from ratiobench.online.spec import Spec, version

REPEATS = 6  # So many whole runs must agree before one that drew is taken for reproducible, or one is said to peek
Settle = Callable[[tuple[str, ...]], tuple[Constant, ...]]  # The constants of these names, with their values


def is_randomised(registry: Registry[Any], text: str) -> bool:
    """Whether repetitions of a run may differ: the algorithm says so, or has an option `seed`.

    A user's class is built once, in its own process; `InputError` if it does not exist or cannot be built.
    """
    spec = registry.parse(text)
    if spec.entry is not None:
        return spec.entry.is_randomised(spec.options)
    return _try_to_build(spec, registry.protocol, version(spec))[0] or "seed" in spec.options


def declared_constants(registry: Registry[Any], text: str) -> tuple[str, ...]:
    """The constants that an algorithm needs and that its name does not state."""
    spec = registry.parse(text)
    entry, protocol = spec.entry, registry.protocol
    declared = entry.constants(spec.options) if entry else _try_to_build(spec, protocol, version(spec))[1]
    return tuple(name for name in declared if name not in spec.given)


_TRIED: dict[tuple[str, str, str], tuple[bool, tuple[str, ...]]] = {}


def _try_to_build(spec: Spec, protocol: str, code: str) -> tuple[bool, tuple[str, ...]]:
    """Build anyone's algorithm: whether it says that it draws, and its constants. What does not exist is an error."""
    key = spec.name, protocol, code
    if key not in _TRIED:
        found: tuple[bool, tuple[str, ...]] = False, ()
        with contextlib.suppress(RuleViolation), excluded_from_timing():
            with contextlib.closing(Runner(spec, protocol, lambda path: False)) as runner:
                complete(runner.build())
            found = runner.randomised, runner.constants
        _TRIED[key] = found
    return _TRIED[key]


@dataclass(slots=True)
class UserRun:
    """A run of anyone's algorithm."""

    log: list[LogEntry]  # every question that was answered, with its answer; it ends before a violation
    violations: list[Violation]  # empty, or what ended or spoilt it
    constants: tuple[Constant, ...] = ()  # those it declares, settled
    counts: Mapping[str, int] = field(default_factory=dict)  # what it counts itself
    remarks: Remarks = field(default=Remarks(""))  # with what it says of itself, and the programs that it started
    seconds: float = 0.0  # of start and decisions; not of building it, nor of what numba compiles in its process
    exposed: Any = None  # what it shows of itself for audits, in JSON values that nobody has checked
    drew: bool = False  # something was drawn in its process from a source that nobody seeded
    batch: bool = False  # it answers all arrivals of a moment together


def _perform(
    table: Simulator, spec: Spec, make: Callable[[], Runner], settle: Settle, counter: Counter | None
) -> Steps[UserRun]:
    """One run in the process that `make` starts; `settle` gives the constants that the algorithm declares."""
    played = UserRun([], [], remarks=Remarks(spec.name))
    try:
        with excluded_from_timing():
            runner = make()
        with contextlib.closing(runner):
            with excluded_from_timing():
                yield from runner.build()
            played.constants, played.batch = settle(runner.constants), runner.batch
            values = {constant.name: constant.value for constant in played.constants}
            transcript = yield from runner.play(table, values, counter)
            played.seconds = runner.seconds
            played.log = transcript.log
            played.violations = transcript.violations  # answers that came as texts were altered by nobody since
            if not played.violations:
                changed, counts, label, played.exposed = yield from runner.end()
                played.violations = [make_altered_violation(table, i) for i in changed]
                played.counts, played.drew = counts, runner.drew
                notes = (None if spec.plugin is None else spec.plugin.origin, label)
                played.remarks = Remarks(
                    spec.name,
                    notes=tuple(note for note in notes if note is not None),
                    starts=tuple(runner.started),
                    isolated=runner.isolation,
                )
    except RuleViolation as error:
        played.violations = [error.violation(table)]
    return played


def _perform_both(first: Steps[UserRun], second: Steps[UserRun]) -> tuple[UserRun, UserRun | None]:
    """Two runs at the same time, in this thread; None for the second one if the first one has ended by a violation."""
    ended, waiting = dict[Steps[UserRun], UserRun](), dict[int, Steps[UserRun]]()
    ready = [first, second]
    with contextlib.closing(first), contextlib.closing(second):
        while True:
            for run in ready:
                try:
                    waiting[next(run)] = run
                except StopIteration as end:
                    ended[run] = end.value
            if first in ended and (second in ended or ended[first].violations):
                return ended[first], ended.get(second)
            poll = select.poll()
            for descriptor in waiting:
                poll.register(descriptor, select.POLLIN)
            ready = [waiting.pop(descriptor) for descriptor, _ in poll.poll()]


def run_user_algorithm(
    registry: Registry[Instance],
    spec: Spec,
    instance: Instance,
    table: Callable[[Instance], Simulator],
    first_half: Callable[[Instance], Instance],
    prior: Instance | None = None,
    seed: str = "",
    *,
    once: bool = False,
) -> UserRun:
    """Run a user's algorithm on all arrivals, and, at the same time or afterwards, on the first half of them.

    Up to half time the logs must be the same. If they are not, whole runs tell an algorithm that answers differently
    each time (it `draws`, or is `not reproducible` for another reason) from one that `peeks`. So they do where
    something was drawn without a seed, for two runs may agree by chance.
    """
    # `once`: the first run alone, where nothing was drawn, for a caller that has seen all that.
    shown, compiled = Echo(spec.name), [0.0]
    betrays = partial(shows_the_future, registry=registry, instance=instance)

    def perform(part: Instance, number: int, *, is_seen: bool = True) -> Steps[UserRun]:
        at = table(part)
        echo = shown if is_seen else Echo(spec.name, silent=True)
        counter = start_counting(at.arrivals, number > 0) if is_seen else None
        start = partial(Runner, spec, registry.protocol, betrays, echo, seed, number, compiled)
        return _perform(at, spec, start, settle, counter)

    def settle(names: tuple[str, ...]) -> tuple[Constant, ...]:
        return registry.settle_constants(spec, names, instance, prior)

    context, half = run_context.current(), first_half(instance)
    # Both runs at once are slower, which must not count against a limit of each run. Without isolation the second run
    # follows the first one, so that an algorithm that learns from its own files answers otherwise and is found out.
    is_limited = context.limit is not None and context.left is None
    is_isolated = choose_for(registry.protocol, context.isolate) != NO_ISOLATION
    if is_isolated and context.alone and usable_threads() > 1 and not (once or is_limited):
        played, again = _perform_both(perform(instance, 0), perform(half, 1, is_seen=False))
    else:
        played, again = complete(perform(instance, 0)), None
    if (once and not played.drew) or played.violations or not played.log:
        return played
    if again is None:
        again = complete(perform(half, 1))
    if again.violations and again.violations[0].rule == "timeout":
        played.violations = again.violations
        return played
    different = first_difference(played.log, again.log, table(half).arrivals)
    suspect = bool(again.violations) or different is not None
    drew = played.drew or again.drew
    said = f" ({again.violations[0]})" if again.violations else ""

    def spoilt(rule: str, where: LogEntry | None, detail: str) -> UserRun:
        played.violations = [RuleViolation(rule, where and where.about, detail).violation(table(instance))]
        return played

    for number in range(REPEATS if drew or suspect else 0):
        repeated = complete(perform(instance, number + 1))
        if repeated.violations or repeated.log != played.log:
            where = different or first_difference(played.log, repeated.log, len(played.log))
            detail = "a second run answers differently"
            if drew:
                return spoilt("draws", where, f"{detail}: it draws from a source without a seed")
            return spoilt("not reproducible", where, detail + said)
    if suspect:
        return spoilt("peeks", different, f"the answer differs when later arrivals are taken away{said}")
    return played
