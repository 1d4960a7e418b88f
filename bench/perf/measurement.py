"""How something is timed: contenders in turns, in one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Bars:
    """A figure: one positive number per row."""

    title: str
    axis: str
    bars: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Curves:
    """A figure: named curves of positive points."""

    title: str
    x: str
    y: str
    curves: Sequence[tuple[str, Sequence[tuple[float, float]]]]


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a part found.

    Parameters
    ----------
    columns : names of the table's columns, in order.
    rows : values by column; floats are written in full to the CSV file and to four digits elsewhere.
    figures : for the page.
    notes : sentences that have to be read with the figures.
    """

    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Value]]
    figures: Sequence[Bars | Curves] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One comparison: `measure(quick, say)` runs it, telling `say` what it is at.

    warmed : whether all kernels are compiled beforehand.
    """

    name: str
    summary: str
    measure: Callable[[bool, Callable[[str], None]], Measurement]
    warmed: bool = True


@dataclass(frozen=True, slots=True)
class Turns:
    """Seconds of one contender: its first call, which may compile, and the median of the calls after it."""

    first: float
    median: float


def time_in_turns(contenders: Mapping[str, Callable[[], object]], turns: int) -> dict[str, Turns]:
    """Time the contenders one after the other, `turns` times round, after a first call of each that does not count."""
    first = {name: time_call(call) for name, call in contenders.items()}
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, call in contenders.items():
            spent[name].append(time_call(call))
    return {name: Turns(first[name], statistics.median(spent[name])) for name in contenders}


def time_call(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
