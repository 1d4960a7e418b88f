"""The listed policies: how jobs overtake, in which order the queue stands, what lengths are believed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ratiobench.instances.cluster.model import Instance
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.cluster.registry import REGISTRY
from ratiobench.online.cluster.replay import Replay, Rule, replay
from ratiobench.online.cluster.state import BELIEFS, CONSERVATIVE, EASY, FIRST_FIT, NO_BACKFILL, ORDERS, REPLAN
from ratiobench.online.spec import Entry, Option

ORACLE = "true"  # The belief that knows every length
DEFAULTS = (
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
RESERVATIONS = 100  # The most jobs with a reservation under EASY
WORK, HOURS = 1_000_000, 1_000_000  # The most of `replan`'s options
_SHARED = {
    "order": Option("submit", ORDERS, "order of the queue; ties by submit, then place in the file"),
    "belief": Option("limit", BELIEFS, "what is believed of lengths; `true` is an oracle"),
}
_EASY = {
    "reservations": Option("1", None, f"jobs that hold a reservation, 1 to {RESERVATIONS}"),
    "candidates": Option("order", ("order", "shortest"), "which jobs overtake first: the queue's order, or shortest"),
}


# Chosen on days 0 to 110 of the KTH log: scale among 30, 50, 60, 70, 100, 150; guard among 6, 12, 24, 48 hours
_REPLAN = {
    "belief": _SHARED["belief"],
    "work": Option("2000", None, f"jobs planned at a pass, in all its plans together, 1 to {WORK}"),
    "scale": Option("60", None, "percent of the believed length with which waiting jobs are planned, 1 to 1000"),
    "guard": Option("48", None, f"hours of wait that double a job's weight; 0: none do; up to {HOURS}"),
    "gpu_hours": Option("0", None, f"GPU-hours whose wait counts as much as a job's, 0 (not counted) to {HOURS}"),
}


def _read(name: str, options: Mapping[str, str], key: str, low: int, high: int) -> int:
    text = options[key]
    if not (text.isascii() and text.isdecimal() and low <= int(text[:9]) <= high):
        raise InputError("algorithm", f"{name}:{key}", f"{shorten(text)} is not a number in {low}..{high}")
    return int(text[:9])


def _make(backfill: int, options: Mapping[str, str]) -> Rule:
    order, belief = options["order"], options["belief"]
    if backfill != EASY:
        return Rule(order, backfill, belief)
    reservations = _read("easy", options, "reservations", 1, RESERVATIONS)
    return Rule(order, EASY, belief, reservations, options["candidates"] == "shortest")


def _make_replan(options: Mapping[str, str]) -> Rule:
    work = _read("replan", options, "work", 1, WORK)
    scale = _read("replan", options, "scale", 1, 1000)
    guard, gpu_hours = (_read("replan", options, key, 0, HOURS) for key in ("guard", "gpu_hours"))
    return Rule("submit", REPLAN, options["belief"], work=work, guard=3600 * guard, gpu_hours=gpu_hours, scale=scale)


REGISTRY.register(
    Entry(
        name="replan",
        summary="plans the waiting jobs anew at every pass, searches for a better order, and starts by the best plan",
        version="1",
        options=_REPLAN,
        make=_make_replan,
    )
)


for _name, _backfill, _summary in (
    ("fcfs", NO_BACKFILL, "starts jobs in the queue's order, none overtakes"),
    ("firstfit", FIRST_FIT, "starts every job that fits, in the queue's order"),
    ("easy", EASY, "EASY backfilling: the first jobs that do not fit hold reservations, others must not delay those"),
    ("conservative", CONSERVATIVE, "conservative backfilling: all waiting jobs are planned anew at every pass"),
):
    REGISTRY.register(
        Entry(
            name=_name,
            summary=_summary,
            version="1",
            options=_SHARED | (_EASY if _name == "easy" else {}),
            make=partial(_make, _backfill),
        )
    )


def make_rule(text: str) -> Rule:
    """Return the listed policy of a name with options.

    Parameters
    ----------
    text : such as ``easy:order=shortest``.

    Returns
    -------
    The rule.

    Raises
    ------
    InputError : no listed policy has this name, or an option is not allowed.
    """
    spec = REGISTRY.parse(text)
    if spec.entry is None:
        raise InputError("algorithm", text, f"is not a listed policy; these are {', '.join(REGISTRY.entries())}")
    rule: Rule = spec.entry.make(spec.options)
    return rule


def run_policy(instance: Instance, name: str) -> Replay:
    """Replay an instance under a listed policy.

    Parameters
    ----------
    instance : the cluster and its jobs.
    name : of the policy, with options.

    Returns
    -------
    Starts and places of all jobs.

    Raises
    ------
    InputError : no listed policy has this name, or a job never starts.
    """
    return replay(instance, make_rule(name))


def policy_names() -> tuple[str, ...]:
    """Names of the policies that a table compares by default; the last one is an oracle."""
    return DEFAULTS


def describe(name: str) -> str:
    """One line that says what a listed policy does, with the options that are not at their defaults."""
    spec = REGISTRY.parse(name)
    rule = make_rule(name)
    assert spec.entry is not None
    changed = [f"{key}={value}" for key, value in spec.options.items() if value != spec.entry.options[key].default]
    oracle = " (oracle: knows the lengths)" if rule.belief == ORACLE else ""
    return f"{spec.entry.summary}{'; ' if changed else ''}{', '.join(changed)}{oracle}"


def knows_lengths(name: str) -> bool:
    """Whether a listed policy is an oracle, which knows every length."""
    return make_rule(name).belief == ORACLE
