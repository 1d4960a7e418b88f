"""`calibrate`: how often what is measured, what does not fit, how long it takes, and the file of it.

What a step does and where is a `Machine`'s (`ratiobench.bench.lora.calibrate.finetuning`); nothing here needs PyTorch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.calibration import FORMAT, Calibration, find_slowest_rate, parse

WARM, LEAST = 2, 3
"""Steps before those that count, and the fewest that count."""
_MB = 10**6
_SHARE = Fraction(9, 10)
"""Of the free memory that is used where running out of it would end the program."""


class OutOfMemory(Exception):
    """The memory ran out; its text says why in a few words."""


class Figures(NamedTuple):
    """What was measured of tasks that share a GPU.

    Parameters
    ----------
    samples_per_s : of all tasks together.
    step_s : seconds of a step.
    peak_bytes : most memory that was held, the base included.
    watts : of the board, on average; None where nobody could tell.
    """

    samples_per_s: float
    step_s: float
    peak_bytes: int
    watts: float | None


class Machine(Protocol):
    """Where steps of fine-tuning run.

    Parameters
    ----------
    about : texts and sizes of the file's ``measured``, but for the power.
    memory_bytes : of the device.
    room_bytes : may be used; None where running out of memory is an error like any other.
    base_bytes : the frozen base.
    idle_watts : of the board before anything ran; None where nobody could tell.
    power : who told the power, or why nobody did.
    """

    @property
    def about(self) -> Mapping[str, Any]: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def free_bytes(self) -> int | None: ...
    @property
    def base_bytes(self) -> int: ...
    @property
    def idle_watts(self) -> float | None: ...
    @property
    def power(self) -> str: ...

    def measure(self, tasks: int, batch: int, seconds: float) -> Figures:
        """Steps of so many tasks for about so many seconds; `OutOfMemory` where the memory does not hold them."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured.

    Parameters
    ----------
    name : of the GPU, in recipes and clusters.
    tasks, batch : co-location degrees and samples per step; every pair is a cell.
    seconds : of the steps of a cell that count.
    watts : above idle, said and not measured; None: measured.
    """

    name: str
    tasks: Sequence[int]
    batch: Sequence[int]
    seconds: float
    watts: Fraction | None = None

    @property
    def cells(self) -> list[tuple[int, int]]:
        """(tasks, batch), smallest first: what a larger one takes is best told from the one before."""
        return sorted(
            ((n, b) for n in set(self.tasks) for b in set(self.batch)), key=lambda cell: (cell[0] * cell[1], cell)
        )


@dataclass(slots=True)
class _Course:
    """What is known while cells are measured: seconds and bytes of a sample, from the last cell that fitted."""

    plan: Plan
    second: float
    byte: float
    rows: list[dict[str, int]] = field(default_factory=list)
    absent: list[dict[str, Any]] = field(default_factory=list)
    unmeasured: int = 0

    def estimate(self, cells: Sequence[tuple[int, int]]) -> float:
        """Seconds that these cells take, if samples take what they took."""
        steps = [n * b * self.second for n, b in cells]
        return sum(WARM * step + max(LEAST * step, self.plan.seconds) for step in steps)


def calibrate(machine: Machine, plan: Plan, begun: Callable[[str], None], text: Callable[[str], None]) -> Calibration:
    """Measure every cell; the calibration with its `document`.

    Parameters
    ----------
    begun : hears what is measured now, and how long the rest takes.
    text : hears what was found, a line for each cell.

    Raises
    ------
    InputError : not one cell fitted.
    """
    begun("a first step of one task with one sample; how long all takes is known after it")
    try:
        first = machine.measure(1, 1, 0)
    except OutOfMemory as error:
        raise InputError("calibrate", "", f"not even one task with one sample fits: {error}") from None
    course = _Course(plan, first.step_s, max(1, first.peak_bytes - machine.base_bytes))
    cells = plan.cells
    for number, (n, b) in enumerate(cells):
        left = duration(course.estimate(cells[number:]))
        begun(f"cell {number + 1} of {len(cells)} (tasks {n}, batch {b}), {left} to the end when it began")
        began = time.monotonic()
        try:
            _require_room(machine, course, n * b)
            found = machine.measure(n, b, plan.seconds)
        except OutOfMemory as error:
            course.absent.append({"tasks": n, "batch": b, "why": str(error)})
            text(f"tasks {n}, batch {b}: does not fit, {error}")
            continue
        course.second, course.byte = found.step_s / (n * b), (found.peak_bytes - machine.base_bytes) / (n * b)
        _take(machine, course, n, b, found)
        power = "" if found.watts is None else f", {found.watts:,.0f} W"
        held = f"peak {found.peak_bytes / _MB:,.0f} MB{power}; took {time.monotonic() - began:.0f} s"
        text(f"tasks {n}, batch {b}: {found.samples_per_s:,.2f} samples/s, {held}")
    return _finished(machine, course)


def duration(seconds: float) -> str:
    """About how long, in words."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def _require_room(machine: Machine, course: _Course, samples: int) -> None:
    if machine.free_bytes is None:
        return
    needed, free = machine.base_bytes + samples * course.byte, machine.free_bytes * _SHARE
    if needed > free:
        raise OutOfMemory(f"would need about {needed / _MB:,.0f} MB, and {float(free) / _MB:,.0f} MB are free for it")


def _take(machine: Machine, course: _Course, tasks: int, batch: int, found: Figures) -> None:
    """A row of the file, or why there is none."""
    speed, peak = round(1000 * found.samples_per_s), -(-found.peak_bytes // _MB)
    if speed < find_slowest_rate(tasks) or peak > machine.memory_bytes // _MB:
        why = (
            "a task does less than a sample in ten minutes"
            if speed < find_slowest_rate(tasks)
            else "more than the device has"
        )
        course.absent.append({"tasks": tasks, "batch": batch, "why": why})
        return
    row = {"tasks": tasks, "batch": batch, "millisamples_per_s": speed, "peak_mb": peak}
    if course.plan.watts is not None:
        row["deciwatts_above_idle"] = round(10 * course.plan.watts)
    elif found.watts is None or machine.idle_watts is None:
        course.unmeasured += 1
    else:
        row["deciwatts_above_idle"] = max(0, round(10 * (found.watts - machine.idle_watts)))
    course.rows.append(row)


def _finished(machine: Machine, course: _Course) -> Calibration:
    plan = course.plan
    if not course.rows:
        why = course.absent[0]["why"]
        problem = f"none of the {len(course.absent)} cells fitted ({why}); try fewer, --tasks 1,2 --batch 1"
        raise InputError("calibrate", "", problem)
    power, idle = machine.power, machine.idle_watts
    if plan.watts is not None:
        power, idle = f"stated with --watts, {float(plan.watts):g} W above idle, not measured", None
    elif course.unmeasured:
        power = power if idle is None else f"absent: {machine.power} gave no figure for {course.unmeasured} cells"
        for row in course.rows:
            row.pop("deciwatts_above_idle", None)
        idle = None
    base = -(-machine.base_bytes // _MB)
    for row in course.rows:
        row["peak_mb"] = max(row["peak_mb"], base + 1)  # of a tiny model less than a MB may be on top of the base
    document: dict[str, Any] = {
        "format": FORMAT,
        "name": plan.name,
        "measured": {**machine.about, "power": power},
        "memory_mb": machine.memory_bytes // _MB,
        "base_memory_mb": base,
        **({} if idle is None else {"idle_deciwatts": round(10 * idle)}),
        "rows": sorted(course.rows, key=lambda row: (row["tasks"], row["batch"])),
        "absent": sorted(course.absent, key=lambda cell: (cell["tasks"], cell["batch"])),
    }
    return parse(document, "calibrate")
