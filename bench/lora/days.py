"""Days of a load: which policies a backtest plays on them, and what their figures rest on."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np

from ratiobench.bench.family.day_facts import Assumption, DayFacts
from ratiobench.bench.lora.timeline import asked
from ratiobench.instances.io.errors import InputError, make_printable
from ratiobench.instances.lora.feasibility import free_compute, servable
from ratiobench.instances.lora.import_basis import FIELD, KINDS
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.restriction import find_kind, only_runs
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.online.lora.one_node import restrict
from ratiobench.online.lora.registry import algorithms, parse

# Kinds of days whose tasks are not all of one kind, or that begin with jobs on their nodes; `RUNS_ONLY` where all tasks
# are rigid or gangs
SEVERAL, RUNS_ONLY = "several", "rigid and gang"
# Share of the work that has to be asked for where there is no room before policies are expected to differ
CONTENDED = 0.1
AT_ARRIVAL = ("greedy", "eft", "posted", "bbar-rule", "capped", "dual-posted")
# Baselines of the literature, which a backtest plays where they are named
ON_REQUEST = ("advice", "mirror", "pooled", "reserve", "static", "units", "zcl")
# Policies of a backtest of rigid jobs and gangs: those that answer at arrival, and queues
QUEUES = (
    "queue",
    "queue:backfill=easy",
    "queue:backfill=conservative",
    "queue:order=value,backfill=easy",
    "queue:order=bid,backfill=easy",
    "queue:order=sjf,backfill=easy",
    "queue:order=edf,backfill=easy",
    "dual-queue",
    "dual-plan",
)


def default_policies(kinds: Collection[str], prices: str = "") -> Sequence[str]:
    """For days of tasks that may pause and move all algorithms but `ON_REQUEST`; else what clusters run, posted prices.

    `prices`: the file of the list prices, which `pricelist` posts; empty for none.
    """
    if set(kinds) <= {ScheduleKind.ANY.value}:
        return [name for name, _ in algorithms() if name not in ON_REQUEST]
    listed = [] if not prices or "," in prices else [f"pricelist:file={prices}"]
    return (*AT_ARRIVAL, *listed, *QUEUES)


def refusal(algorithm: str, kind: str) -> str:
    """Why an algorithm cannot run on tasks of this kind; empty where it can."""
    spec = parse(algorithm)
    try:
        restrict(spec, None if kind in (SEVERAL, RUNS_ONLY) else ScheduleKind(kind))
    except InputError as error:
        return error.problem.partition(";")[0].removeprefix("it has ")
    return ""


def day_facts(instance: Instance) -> DayFacts:
    """The kind of its tasks, what its import assumed, in GPU-hours, and how much is asked for at a time."""
    kind = None if instance.running else find_kind(instance)
    origin = instance.origin
    basis = origin.get(FIELD)
    load, busiest, contended = _find_contention(instance)
    facts = DayFacts(
        kind.value if kind is not None else RUNS_ONLY if only_runs(instance) else SEVERAL,
        load=load,
        busiest=busiest,
        contended=contended,
        empty=not instance.running,
    )
    per_second, listed = origin.get("units_per_gpu_second"), origin.get("list_micro_dollars_per_gpu_hour")
    if _is_count(per_second) and per_second and _is_count(listed):
        facts = replace(
            facts,
            list_price=Fraction(listed, 3600 * per_second),
            listed_bids=origin.get("micro_dollars_per_gpu_hour") == [listed, listed],
        )
    if not isinstance(basis, dict) or not _is_count(basis.get("jobs")) or not _is_count(basis.get("gpu_seconds")):
        return facts
    given = basis.get("assumptions")
    found = [_read_assumption(each) for each in given] if isinstance(given, list) else []
    return replace(
        facts,
        jobs=basis["jobs"],
        hours=Fraction(basis["gpu_seconds"], 3600),
        assumptions=tuple(each for each in found if each is not None),
    )


def _read_assumption(given: Any) -> Assumption | None:
    """An assumption of an import; None for what is none, since an origin may hold anything."""
    if not isinstance(given, dict) or not isinstance(given.get("what"), str) or not _is_count(given.get("jobs")):
        return None
    seconds, kind = given.get("gpu_seconds"), given.get("kind", "")
    hours = Fraction(seconds, 3600) if _is_count(seconds) else None
    return Assumption(make_printable(given["what"], 200), given["jobs"], hours, kind if kind in KINDS else "")


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**63


def _find_contention(instance: Instance) -> tuple[Fraction | None, Fraction | None, Fraction | None]:
    """What is asked for if each servable task ran at once at its fastest.

    Returns the load of the servable tasks, the largest share of capacity that these and jobs from before take in a
    slot, and; returns how many times these arrivals ask for `CONTENDED` of their work in slots that have no room for
    it, rounded up to.
    """
    capacity = sum(kind.count * kind.compute for kind in instance.node_types)
    amounts, held = asked(instance), instance.held()[0].sum(axis=0) if instance.running else 0
    total = float(amounts.sum())
    if not capacity or not total:
        return None, None, None
    low, high = 0.0, 1000.0
    for _ in range(40):
        middle = (low + high) / 2
        over = np.maximum(0.0, middle * amounts - (capacity - held)).sum() / (middle * total)
        low, high = (middle, high) if over < CONTENDED else (low, middle)
    load = Fraction(int(instance.work[servable(instance)].sum()), max(1, free_compute(instance)))
    return load, Fraction(int((amounts + held).max()), capacity), Fraction(math.ceil(10 * high), 10)
