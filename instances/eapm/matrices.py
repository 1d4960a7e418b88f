"""The matrices ETC and APC of a recipe, in integers: the calibrated family `table1`, and methods `cvb` and `range`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from ratiobench.instances.eapm.laws import BITS, REACH, exponential, exponentials, gamma, normal
from ratiobench.instances.eapm.model import Anchors, IntArray, Rows, anchors_of
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import round_half_up
from ratiobench.instances.io.keys import Choice, Integer, Key, Ratio, Seed, Span, Values
from ratiobench.instances.io.recipe import SOURCE
from ratiobench.instances.io.seeds import Stream

VERSION = 1

# The size of the paper's data, enlarged by its authors from measurements of 5 task types on 9 machines
TYPES, MACHINES = 30, 9
# What the paper's Table 1 gives away about its matrices. Greedy and Average do not look at prices, so their rows are
# linear in gamma: with E_min and E_avg the cost of the cheapest and of the even placement, Greedy's is
# (gamma - 1) E_min / MS_greedy and Average's is (gamma E_min - E_avg) / MS_avg.
ENERGY = Fraction("1.596")  # E_avg / E_min: the even placement costs so many times what the cheapest one does
SPAN = Fraction("1.548")  # MS_greedy / MS_avg: the cheapest placement takes so many times as long as the even one
RATE = Fraction("452.6")  # E_min / MS_greedy, units of money per second; in watts, as c = 1 unit per joule
TOLERANCE = Fraction(3, 100)  # How far the ratios of a `table1` matrix may be from the paper's


class Matrices(NamedTuple):
    etc_ms: tuple[tuple[int, ...], ...]
    apc_mw: tuple[tuple[int, ...], ...]
    attempts: int = 1


class Source(NamedTuple):
    """A method with its options; equal sources give equal matrices."""

    method: str
    seed: tuple[str | int, ...]  # names of the random streams
    types: int = TYPES  # types, machines: K and m
    machines: int = MACHINES
    consistency: str = "inconsistent"  # ``consistent``: every row of ETC sorted, so machine 1 is the fastest for all
    etc: tuple[Any, ...] = ()  # values of the method's keys of the matrix, as `METHODS` orders them
    apc: tuple[Any, ...] = ()

    def stream(self, *column: str | int) -> Stream:
        return Stream("ratiobench/eapm/matrices", VERSION, self.method, *self.seed, *column)


@lru_cache(maxsize=256)
def matrices(source: Source) -> Matrices:
    if source.method == "table1":
        return _draw_calibrated(source)
    etc, apc = _draw_rows(source, "etc", source.etc), _draw_rows(source, "apc", source.apc)
    return Matrices(tuple(tuple(sorted(row)) for row in etc) if source.consistency == "consistent" else etc, apc)


def _draw_rows(source: Source, column: str, options: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
    """(K, m) entries of `cvb` or `range`: a base per task times a factor per entry."""
    law: Callable[..., IntArray]
    if source.method == "cvb":
        mean, of_task, of_machine = options
        unit, law = Fraction(mean, 2000**2), gamma
    else:
        of_task, of_machine = options
        unit, law = Fraction(1, 1000), _uniform
    rows = []
    for i, task in enumerate(law(source.stream(column, "task"), of_task, source.types).tolist()):
        # A stream per row: one type more changes no other's figures, one machine more adds a column.
        factors = law(source.stream(column, "machine", i), of_machine, source.machines).tolist()
        rows.append(tuple(max(1, round_half_up(unit * (task * factor))) for factor in factors))
    return tuple(rows)


def _uniform(stream: Stream, span: tuple[int, int], size: int) -> IntArray:
    return stream.integers(*span, size)


def _draw_calibrated(source: Source) -> Matrices:
    """30 x 9 matrices like those behind the paper's Table 1, which are not public.

    ETC_ij = b_i s_j exp(0.2 N), b ~ Gamma of mean 100 s and coefficient of variation 0.6, s_j = exp(0.3 z_j);
    APC_ij = f exp(0.15 (-0.9 z_j + 0.436 N_j)) exp(0.10 N), N and z standard normal: fast machines draw more power.
    Drawn until E_avg/E_min and MS_greedy/MS_avg, with equal bags, are within 3 % of the paper's (one in 45 is); f sets
    E_min/MS_greedy, a power of 150 to 240 W, to the paper's. The scale of ETC stays open: no profit rate depends on it.
    """
    for attempt in itertools.count(1):
        etc, power = _draw_candidate(source, attempt)
        known = _find_anchors(etc, power)
        if not _is_calibrated(known):
            continue
        # Were `power` in milliwatts, known.rate would be the mean power in watts.
        scale = RATE / known.rate
        apc = tuple(tuple(round_half_up(scale * w) for w in row) for row in power)
        if _is_calibrated(_find_anchors(etc, apc)):  # after rounding too
            return Matrices(etc, apc, attempt)
    raise AssertionError("itertools.count ends")


def _draw_candidate(source: Source, attempt: int) -> tuple[tuple[tuple[int, ...], ...], Rows]:
    """(30, 9) ETC in milliseconds, and APC in units that are yet to be fixed."""

    def draws(column: str, size: int) -> list[int]:
        return [int(z) for z in normal(source.stream(attempt, column), size)]

    size = gamma(source.stream(attempt, "size"), Fraction(3, 5), TYPES).tolist()
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


def _find_anchors(etc: Rows, apc: Rows) -> Anchors:
    energy = [[t * w for t, w in zip(*rows, strict=True)] for rows in zip(etc, apc, strict=True)]
    return anchors_of(etc, energy, [1] * TYPES)


def _is_calibrated(known: Anchors) -> bool:
    energy = known.energy
    return energy is not None and abs(energy / ENERGY - 1) <= TOLERANCE and abs(known.span / SPAN - 1) <= TOLERANCE


# The methods, with the words of an instance's origin about each. `cvb`: the coefficient-of-variation-based method (Ali,
# Siegel, Maheswaran, Hensgen, Ali 2000), q_i ~ Gamma(1/V_t^2, mu V_t^2), ETC_ij ~ Gamma(1/V_m^2, q_i V_m^2). `range`:
# the range-based one (Ali et al. 2000; Braun et al. 2001), ETC_ij = U(R_task) U(R_mach). APC in the same way.
METHODS = {
    "table1": "lognormal speeds and powers, gamma task sizes, calibrated to what the paper's Table 1 implies",
    "cvb": "coefficient-of-variation-based method, ETC and APC drawn alike and independently",
    "range": "range-based method, ETC and APC drawn alike and independently",
}
_PARTS = ("etc", "apc")
_CV = Ratio(Fraction(1, 50), Fraction(1))
_METHOD = Key("matrix.method", Choice(tuple(METHODS)), "how ETC and APC are drawn", "table1")
_SEED = Key("matrix.seed", Seed(), "names the random streams of the matrices", 0)
_SIZES = (
    Key("matrix.types", Integer(1, 1_000), "task types (cvb, range)", TYPES),
    Key("matrix.machines", Integer(1, 100), "machines (cvb, range)", MACHINES),
)
_CONSISTENCY = Key(
    "matrix.consistency", Choice(("inconsistent", "consistent")), "rows sorted? (cvb, range)", "inconsistent"
)
_SPREADS = (
    Key("matrix.etc.mean", Integer(1, 10**7), "mean (cvb)", 100_000, "ms"),
    Key("matrix.etc.task_cv", _CV, "variation over tasks (cvb)", "0.6"),
    Key("matrix.etc.machine_cv", _CV, "variation over machines (cvb)", "0.35"),
    Key("matrix.apc.mean", Integer(1, 10**7), "mean (cvb)", 120_000, "mW"),
    Key("matrix.apc.task_cv", _CV, "variation over tasks (cvb)", "0.1"),
    Key("matrix.apc.machine_cv", _CV, "variation over machines (cvb)", "0.15"),
)
_RANGES = (
    Key("matrix.etc.task", Span(1, 10**8), "base per task (range)", (1_000, 100_000), "ms"),
    Key("matrix.etc.machine", Span(1, 10**7), "factor per machine (range)", (1_000, 10_000), "1/1000"),
    Key("matrix.apc.task", Span(1, 10**8), "base per task (range)", (50_000, 100_000), "mW"),
    Key("matrix.apc.machine", Span(1, 10**7), "factor per machine (range)", (1_000, 2_000), "1/1000"),
)
# The keys of `matrix` in a recipe, and those of each method, in the order of an instance's origin
SOURCE_KEYS = (_METHOD, _SEED, *_SIZES, _CONSISTENCY, *_SPREADS, *_RANGES)
_OF_METHOD: Mapping[str, tuple[Key, ...]] = {
    "table1": (_METHOD, _SEED),
    "cvb": (_METHOD, _SEED, *_SIZES, *_SPREADS, _CONSISTENCY),
    "range": (_METHOD, _SEED, *_SIZES, *_RANGES, _CONSISTENCY),
}


def read_source(found: Values) -> Source:
    """The method of a recipe with its options; InputError for a key of another method."""
    method, seed = found["matrix.method"], found["matrix.seed"]
    own = list_names(method)
    for name in found.given:
        for other, keys in _OF_METHOD.items():
            if name not in own and name in {key.name for key in keys}:
                raise InputError(SOURCE, name, f"unknown key of the method {method}; {other} has it")
    if method == "table1":
        return Source(method, seed)
    options = [tuple(found[name] for name in own if name.startswith(f"matrix.{part}.")) for part in _PARTS]
    return Source(method, seed, found["matrix.types"], found["matrix.machines"], found["matrix.consistency"], *options)


def list_names(method: str) -> list[str]:
    return [key.name for key in _OF_METHOD[method]]
