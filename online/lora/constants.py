"""Constants that algorithms declare: computed from a whole instance, so an oracle when it is the one under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from ratiobench.formulations.lora.bound.minimal_covers import list_minimal_covers
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, ScheduleKind
from ratiobench.instances.lora.quantities import fewest_slots, usable_types
from ratiobench.online.lora import public_constants
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.simulator import Simulator
from ratiobench.online.referee.simulator import run_in_process

OBSERVED = "canonical-observed"  # What is said beside a unit of money that was taken from the schedules of a first run


def alpha(instance: Instance) -> Fraction:
    """max_i b_i / M_i over all tasks (Lemma 2); 0 without tasks."""
    return public_constants.largest_ratio(zip(instance.bid.tolist(), instance.work.tolist(), strict=True))


def beta(instance: Instance) -> Fraction:
    """max_i b_i / r_i over all tasks (Lemma 2); 0 without tasks."""
    return public_constants.largest_ratio(zip(instance.bid.tolist(), instance.memory_mb.tolist(), strict=True))


def canonical_memory(instance: Instance) -> Fraction:
    """The unit of memory that makes alpha = beta: xi = beta / alpha; 1 when no task bids."""
    first = alpha(instance)
    return beta(instance) / first if first else Fraction(1)


def canonical_money(instance: Instance) -> tuple[Fraction, str]:
    """The unit of money that makes the least bbar 1, max (S + xi R) / b_il over minimal covers; a detail to show."""
    memory = canonical_memory(instance)
    if instance.schedules is not ScheduleKind.ANY:
        return _observed_money(instance, memory), OBSERVED
    largest = Fraction(0)
    for covers in list_minimal_covers(instance):
        if (covers.worst <= 0).any():  # no unit makes it 1
            return _observed_money(instance, memory), OBSERVED
        # Doubles pick the candidates for the maximum, fractions decide among them.
        ratio = (covers.work + float(memory) * covers.megabytes) / covers.worst
        close = np.flatnonzero(ratio >= max(ratio.max(initial=0), float(largest)) * (1 - 1e-9))
        sizes = {(int(covers.work[j]), int(covers.megabytes[j]), int(covers.worst[j])) for j in close}
        largest = max(largest, *((work + memory * megabytes) / net for work, megabytes, net in sizes), Fraction(0))
    return largest or Fraction(1), "canonical"


def _observed_money(instance: Instance, memory: Fraction) -> Fraction:
    """The same over the schedules with F > 0 of a first run with the units given."""
    pdftsp, constants = REGISTRY.prepare(REGISTRY.parse("pdftsp:units=given"), instance, instance.tasks)
    run_in_process(Simulator(instance, content_hash(instance)), pdftsp, {each.name: each.value for each in constants})
    ratios = [
        Fraction(offer.work + memory * int(instance.memory_mb[offer.task]) * len(offer.cells)) / offer.net
        for offer in pdftsp.trace.offers
        if offer.value is not None and offer.value > 0
    ]
    return max(ratios, default=Fraction(1))


def _density(instance: Instance) -> list[Fraction]:
    """b_i / (M_i + slots needed * (r_i + r_b)) of the tasks with a bid and a usable node."""
    needed, able = fewest_slots(instance).tolist(), usable_types(instance).any(axis=1)
    found = []
    for i in np.flatnonzero((instance.bid > 0) & able).tolist():
        bid, work, memory = int(instance.bid[i]), int(instance.work[i]), int(instance.memory_mb[i])
        found.append(Fraction(bid, work + needed[i] * (memory + instance.base_memory_mb)))
    return found


def eris_low(instance: Instance) -> Fraction:
    """L of the Eris-style price: least bid per unit of resource."""
    return min(_density(instance), default=Fraction(1))


def eris_high(instance: Instance) -> Fraction:
    """U of the Eris-style price: largest bid per unit of resource."""
    return max(_density(instance), default=Fraction(1))


def _plain(function: Callable[[Instance], Fraction]) -> Callable[[Instance], tuple[Fraction, str]]:
    return lambda instance: (function(instance), "")


_PLAIN = (
    canonical_memory, eris_low, eris_high, public_constants.cap_compute, public_constants.cap_memory,
    public_constants.largest_share, public_constants.spread, public_constants.memory_density,
    public_constants.median_work_density, public_constants.median_memory_density, public_constants.median_bbar,
    public_constants.least_density, public_constants.largest_density, public_constants.median_density,
    public_constants.least_unit_value, public_constants.largest_unit_value, public_constants.fewest_units,
)  # fmt: skip
# Name -> function of an instance that gives the value and a detail to show
CONSTANTS: Mapping[str, Callable[[Instance], tuple[Fraction, str]]] = {
    "alpha": _plain(alpha),
    "beta": _plain(beta),
    "canonical_money": canonical_money,
    **{function.__name__: _plain(function) for function in _PLAIN},
}
