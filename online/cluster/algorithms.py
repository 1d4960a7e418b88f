"""The listed policies: how jobs overtake, in which order the queue stands, what lengths are believed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.cluster.registry import REGISTRY
from ratiobench.online.cluster.replay import Rule
from ratiobench.online.cluster.state import BELIEFS, CONSERVATIVE, EASY, FIRST_FIT, NO_BACKFILL, ORDERS, REPLAN
from ratiobench.online.spec import Entry, Option

DEFAULTS = (  # Policies that a table compares; the last one is an oracle
    "fcfs",
    "firstfit",
    "easy",
    "easy:reservations=10",
    "easy:candidates=shortest",
    "easy:belief=last2,candidates=shortest",
    "easy:order=shortest",
    "easy:order=smallest",
    "easy:order=area",
    "easy:order=wfp3",
    "easy:order=unicep",
    "easy:order=f1",
    "conservative",
    "replan",
    "replan:gpu_hours=100",
    "easy:belief=true,candidates=shortest",
)
# Options that are numbers: default, least and greatest value, meaning
_NUMBERS = {
    "reservations": (1, 1, 100, "jobs that hold a reservation"),
    "work": (2000, 1, 10**6, "jobs planned at a pass, in all its plans together"),
    "guard": (24, 0, 10**6, "hours of wait that double a job's weight; 0: none do"),
    "slowdown": (600, 0, 10**6, "seconds of expected length with which a job counts once more; 0: all count alike"),
    "spare": (100, 1, 1000, "percent of the expected length with which what waits is planned, at most its limit"),
    "gpu_hours": (0, 0, 10**6, "GPU-hours whose wait counts as much as a job's; 0: they do not count"),
}
_OPTIONS = {
    "order": Option("submit", ORDERS, "order of the queue; ties by submit, then place in the file"),
    "belief": Option("limit", BELIEFS, "what is believed of lengths; `true` is an oracle"),
    "candidates": Option("order", ("order", "shortest"), "which jobs overtake first: the queue's order, or shortest"),
} | {
    name: Option(str(default), None, f"{meaning}, {least} to {most}")
    for name, (default, least, most, meaning) in _NUMBERS.items()
}
_QUEUE = ("order", "belief")
_POLICIES = (
    ("fcfs", NO_BACKFILL, _QUEUE, "starts jobs in the queue's order; none overtakes another one of its pools"),
    ("firstfit", FIRST_FIT, _QUEUE, "starts every job that fits, in the queue's order"),
    (
        "easy",
        EASY,
        (*_QUEUE, "reservations", "candidates"),
        "EASY backfilling: the first jobs that do not fit hold reservations, others must not delay those",
    ),
    ("conservative", CONSERVATIVE, _QUEUE, "conservative backfilling: all waiting jobs are planned anew at every pass"),
    (
        "replan",
        REPLAN,
        ("belief", "work", "guard", "slowdown", "spare", "gpu_hours"),
        "plans the waiting jobs anew at every pass, searches for a better order, and starts by the best plan",
    ),
)


def _make(name: str, backfill: int, options: Mapping[str, str]) -> Rule:
    values: dict[str, Any] = dict(options)
    for key in options.keys() & _NUMBERS.keys():
        text, (_, least, most, _) = options[key], _NUMBERS[key]
        if not (text.isascii() and text.isdecimal() and least <= int(text[:9]) <= most):
            raise InputError("algorithm", f"{name}:{key}", f"{shorten(text)} is not a number in {least}..{most}")
        values[key] = int(text[:9])
    return Rule(backfill=backfill, **values)


for _name, _backfill, _keys, _summary in _POLICIES:
    REGISTRY.register(
        Entry(
            name=_name,
            summary=_summary,
            version="5" if _name == "replan" else "2",
            options={key: _OPTIONS[key] for key in _keys},
            make=partial(_make, _name, _backfill),
        )
    )


def knows_lengths(name: str) -> bool:
    """Whether a policy is a listed oracle, which knows every length."""
    spec = REGISTRY.parse(name)
    return spec.entry is not None and spec.options.get("belief") == "true"
