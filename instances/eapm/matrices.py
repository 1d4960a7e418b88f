"""The matrices ETC and APC of a recipe: the calibrated family `table1` and the field's two methods `cvb` and `range`.

All entries are integers, milliseconds and milliwatts, made of integer draws (`instances/io/seeds.py`,
`ratiobench.instances.eapm.laws`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from ratiobench.instances.eapm.laws import BITS, REACH, exponential, exponentials, gamma, normal
from ratiobench.instances.eapm.paper import ENERGY, RATE, SPAN
from ratiobench.instances.eapm.quantities import Anchors, Rows, anchors_of
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.keys import Choice, Integer, Key, Ratio, Seed, Span, Values
from ratiobench.instances.io.numerals import round_half_up, text_of_fraction
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.io.seeds import Stream

T = TypeVar("T")

VERSION = 1

# The size of the paper's data, enlarged by its authors from measurements of 5 task types on 9 machines
TYPES, MACHINES = 30, 9
TOLERANCE = Fraction(3, 100)  # How far the ratios of a `table1` matrix may be from the paper's


@dataclass(frozen=True, slots=True)
class Matrices:
    """(K, m) rows of milliseconds and of milliwatts, and how many draws were thrown away or kept to get them."""

    etc_ms: tuple[tuple[int, ...], ...]
    apc_mw: tuple[tuple[int, ...], ...]
    attempts: int = 1


class Source(Protocol):
    """A method with its options; equal sources give equal matrices."""

    def __hash__(self) -> int: ...

    @property
    def types(self) -> int:
        """K, the number of task types."""
        ...

    @property
    def about(self) -> str:
        """The method in a sentence, for the instance's origin."""
        ...

    def document(self) -> dict[str, Any]:
        """The options as JSON values that `read_source` reads back to the same source."""
        ...

    def draw(self) -> Matrices:
        """The matrices."""
        ...


def _stream(method: str, seed: tuple[str | int, ...], *column: str | int) -> Stream:
    return Stream("ratiobench/eapm/matrices", VERSION, method, *seed, *column)


@dataclass(frozen=True, slots=True)
class Table1:
    """30 x 9 matrices like those behind the paper's Table 1, which are not public.

    ETC_ij = b_i s_j exp(0.2 N), b ~ Gamma of mean 100 s and coefficient of variation 0.6, s_j = exp(0.3 z_j);
    APC_ij = f exp(0.15 (-0.9 z_j + 0.436 N_j)) exp(0.10 N), so that fast machines draw more power. N and z are
    standard normal.

    Matrices are drawn until E_avg/E_min and MS_greedy/MS_avg, with equal bags of every type, are within 3 % of the
    paper's (`paper.ENERGY`, `paper.SPAN`); about one draw in 45 is. The factor f is then chosen so that E_min/MS_greedy
    is the paper's, `paper.RATE`, as nothing else in the paper fixes the absolute scale; it comes to 150 to 240 W.
    E_min/MS_greedy is a power, so it leaves the scale of ETC open, which no profit rate depends on.
    """

    seed: tuple[str | int, ...] = (0,)  # names of the random streams

    @property
    def types(self) -> int:
        """K = 30."""
        return TYPES

    @property
    def about(self) -> str:
        """The method in a sentence."""
        return "lognormal speeds and powers, gamma task sizes, calibrated to what the paper's Table 1 implies"

    def document(self) -> dict[str, Any]:
        """The options as JSON values."""
        return {"method": "table1", "seed": list(self.seed)}

    def draw(self) -> Matrices:
        """The first draw within the tolerance; `attempts` counts the draws."""
        for attempt in itertools.count(1):
            etc, power = self._candidate(attempt)
            known = anchors_of(etc, _energies(etc, power), [1] * TYPES)
            if not _calibrated(known):
                continue
            # Were `power` in milliwatts, known.rate would be the mean power in watts.
            scale = RATE / known.rate
            apc = tuple(tuple(round_half_up(scale * w) for w in row) for row in power)
            if _calibrated(anchors_of(etc, _energies(etc, apc), [1] * TYPES)):  # after rounding too
                return Matrices(etc, apc, attempt)
        raise AssertionError("itertools.count ends")

    def _candidate(self, attempt: int) -> tuple[tuple[tuple[int, ...], ...], Rows]:
        """(30, 9) ETC in milliseconds, and APC in units that are yet to be fixed."""

        def draws(column: str, size: int) -> list[int]:
            return [int(z) for z in normal(_stream("table1", self.seed, attempt, column), size)]

        size = gamma(_stream("table1", self.seed, attempt, "size"), Fraction(3, 5), TYPES).tolist()
        slowness, thrift = draws("slowness", MACHINES), draws("thrift", MACHINES)
        duration = [exponential(Fraction(3 * z, 10_000)) for z in slowness]
        power = [
            exponential(Fraction(15, 100_000) * (Fraction("-0.9") * z + Fraction("0.436") * n))
            for z, n in zip(slowness, thrift, strict=True)
        ]
        noise, ripple = exponentials(Fraction(1, 5)), exponentials(Fraction(1, 10))
        affinity, load = draws("affinity", TYPES * MACHINES), draws("load", TYPES * MACHINES)
        etc, apc = [], []
        for i in range(TYPES):
            own = range(i * MACHINES, (i + 1) * MACHINES)
            # A size is in two-thousandths of 100 s, so 50 ms each.
            times = (50 * size[i] * s * noise[affinity[k] + REACH] for s, k in zip(duration, own, strict=True))
            etc.append(tuple(max(1, _shifted(time, 2 * BITS)) for time in times))
            apc.append([_shifted(w * ripple[load[k] + REACH], BITS) for w, k in zip(power, own, strict=True)])
        return tuple(etc), apc


def _shifted(value: int, bits: int) -> int:
    return (value + (1 << (bits - 1))) >> bits


def _energies(etc: Rows, apc: Rows) -> Rows:
    return [[t * w for t, w in zip(*rows, strict=True)] for rows in zip(etc, apc, strict=True)]


def _calibrated(known: Anchors) -> bool:
    """Whether both ratios are within the tolerance."""
    energy = known.energy
    return energy is not None and abs(energy / ENERGY - 1) <= TOLERANCE and abs(known.span / SPAN - 1) <= TOLERANCE


@dataclass(frozen=True, slots=True)
class Spread:
    """The three parameters of one matrix of method `cvb`: the mean, and the deviation over tasks and over machines."""

    mean: int
    task_cv: Fraction
    machine_cv: Fraction


@dataclass(frozen=True, slots=True)
class Cvb:
    """The coefficient-of-variation-based method (Ali, Siegel, Maheswaran, Hensgen, Ali 2000).

    q_i ~ Gamma(1/V_t^2, mu V_t^2), ETC_ij ~ Gamma(1/V_m^2, q_i V_m^2); APC in the same way with parameters of its own.
    """

    seed: tuple[str | int, ...]  # names of the random streams
    types: int  # types, machines: K and m
    machines: int
    # etc, apc: ``mean`` (milliseconds, milliwatts), ``task_cv`` V_t and ``machine_cv`` V_m (fractions in 0.02..1).
    etc: Spread
    apc: Spread
    # ``inconsistent``, or ``consistent``: every row of ETC sorted, so machine 1 is the fastest for all.
    consistency: str

    @property
    def about(self) -> str:
        """The method in a sentence."""
        return "coefficient-of-variation-based method, ETC and APC drawn alike and independently"

    def document(self) -> dict[str, Any]:
        """The options as JSON values."""
        parts = {
            key: {
                "mean": part.mean,
                "task_cv": text_of_fraction(part.task_cv),
                "machine_cv": text_of_fraction(part.machine_cv),
            }
            for key, part in (("etc", self.etc), ("apc", self.apc))
        }
        sizes = {"types": self.types, "machines": self.machines}
        return {"method": "cvb", "seed": list(self.seed), **sizes, **parts, "consistency": self.consistency}

    def draw(self) -> Matrices:
        """The matrices."""
        return Matrices(_sorted(self._rows("etc", self.etc), self.consistency), self._rows("apc", self.apc))

    def _rows(self, column: str, part: Spread) -> tuple[tuple[int, ...], ...]:
        tasks = gamma(_stream("cvb", self.seed, column, "task"), part.task_cv, self.types).tolist()
        rows = []
        for i, task in enumerate(tasks):
            # A stream per row: one type more changes no other's figures, one machine more adds a column.
            drawn = gamma(_stream("cvb", self.seed, column, "machine", i), part.machine_cv, self.machines).tolist()
            rows.append(
                tuple(max(1, round_half_up(Fraction(part.mean * task * machine, 2000**2))) for machine in drawn)
            )
        return tuple(rows)


@dataclass(frozen=True, slots=True)
class Ranges:
    """The two uniform laws of one matrix of method `range`: a base per task, and a factor per entry in thousandths."""

    task: tuple[int, int]
    machine: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Range:
    """The range-based method (Ali et al. 2000; Braun et al. 2001): ETC_ij = U(R_task) U(R_mach), APC likewise."""

    seed: tuple[str | int, ...]  # names of the random streams
    types: int  # types, machines: K and m
    machines: int
    # etc, apc: ``task``, range of the base (milliseconds, milliwatts), and ``machine``, range of the factor in
    # thousandths.
    etc: Ranges
    apc: Ranges
    consistency: str  # as in `Cvb`

    @property
    def about(self) -> str:
        """The method in a sentence."""
        return "range-based method, ETC and APC drawn alike and independently"

    def document(self) -> dict[str, Any]:
        """The options as JSON values."""
        parts = {
            key: {"task": list(part.task), "machine": list(part.machine)}
            for key, part in (("etc", self.etc), ("apc", self.apc))
        }
        sizes = {"types": self.types, "machines": self.machines}
        return {"method": "range", "seed": list(self.seed), **sizes, **parts, "consistency": self.consistency}

    def draw(self) -> Matrices:
        """The matrices."""
        return Matrices(_sorted(self._rows("etc", self.etc), self.consistency), self._rows("apc", self.apc))

    def _rows(self, column: str, part: Ranges) -> tuple[tuple[int, ...], ...]:
        tasks = _stream("range", self.seed, column, "task").integers(*part.task, self.types).tolist()
        rows = []
        for i, task in enumerate(tasks):
            drawn = _stream("range", self.seed, column, "machine", i).integers(*part.machine, self.machines).tolist()
            rows.append(tuple(max(1, round_half_up(Fraction(task * factor, 1000))) for factor in drawn))
        return tuple(rows)


def _sorted(rows: tuple[tuple[int, ...], ...], consistency: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted(row)) for row in rows) if consistency == "consistent" else rows


_METHODS = ("table1", "cvb", "range")
_CV = Ratio(Fraction(1, 50), Fraction(1))
_SIZES = (
    Key("matrix.types", Integer(1, 1_000), "task types (cvb, range)", TYPES),
    Key("matrix.machines", Integer(1, 100), "machines (cvb, range)", MACHINES),
    Key("matrix.consistency", Choice(("inconsistent", "consistent")), "rows sorted? (cvb, range)", "inconsistent"),
)
_SPREADS = tuple(
    Key(f"matrix.{part}.{name}", kind, f"{meaning} (cvb)", default, unit)
    for part, unit, mean, task, machine in (
        ("etc", "ms", 100_000, "0.6", "0.35"),
        ("apc", "mW", 120_000, "0.1", "0.15"),
    )
    for name, kind, meaning, default, unit in (
        ("mean", Integer(1, 10**7), "mean", mean, unit),
        ("task_cv", _CV, "variation over tasks", task, ""),
        ("machine_cv", _CV, "variation over machines", machine, ""),
    )
)
_RANGES = tuple(
    Key(f"matrix.{part}.{name}", Span(1, largest), f"{meaning} (range)", default, unit)
    for part, unit, task, machine in (
        ("etc", "ms", (1_000, 100_000), (1_000, 10_000)),
        ("apc", "mW", (50_000, 100_000), (1_000, 2_000)),
    )
    for name, largest, meaning, default, unit in (
        ("task", 10**8, "base per task", task, unit),
        ("machine", 10**7, "factor per machine", machine, "1/1000"),
    )
)
# The keys of `matrix` in a recipe
SOURCE_KEYS = (
    Key("matrix.method", Choice(_METHODS), "how ETC and APC are drawn", "table1"),
    Key("matrix.seed", Seed(), "names the random streams of the matrices", 0),
    *_SIZES,
    *_SPREADS,
    *_RANGES,
)
_OF_METHOD = {"table1": (), "cvb": (*_SIZES, *_SPREADS), "range": (*_SIZES, *_RANGES)}


def read_source(data: Any) -> Source:
    """Check the key `matrix` of a recipe: ``{"method": "table1" | "cvb" | "range", "seed": ..., ...}``."""
    return make_source(Values(SOURCE, SOURCE_KEYS, {"matrix": data}))


def make_source(found: Values) -> Source:
    """The method of a recipe's values, with its options; InputError for a key that goes with another method."""
    method = found["matrix.method"]
    for name in found.given:
        if name in _NAMES and name not in {key.name for key in _OF_METHOD[method]}:
            raise InputError(SOURCE, name, f"unknown key of the method {method}; {_NAMES[name]} has it")
    seed = found["matrix.seed"]
    if method == "table1":
        return Table1(seed)
    sizes = found["matrix.types"], found["matrix.machines"]

    def part(make: Callable[..., T], name: str, *keys: str) -> T:
        return make(*(found[f"matrix.{name}.{key}"] for key in keys))

    if method == "cvb":
        etc, apc = (part(Spread, name, "mean", "task_cv", "machine_cv") for name in ("etc", "apc"))
        return Cvb(seed, *sizes, etc, apc, found["matrix.consistency"])
    bases, powers = (part(Ranges, name, "task", "machine") for name in ("etc", "apc"))
    return Range(seed, *sizes, bases, powers, found["matrix.consistency"])


# Keys that not every method has, and one that has it
_NAMES = {key.name: method for method, keys in reversed(_OF_METHOD.items()) for key in keys}


@lru_cache(maxsize=256)
def matrices(source: Source) -> Matrices:
    """The matrices of a source, kept for the next recipe that shares them."""
    return source.draw()
