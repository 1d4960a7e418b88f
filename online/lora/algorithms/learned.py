"""`learned`: prices from earlier days, solved again within the day for the demand that counts foretell.

What it knows before the day: how many tasks came when on earlier days, a sample of those tasks, what a cell of each
shape was worth by that day's dual prices, and how nodes fill up (`ratiobench.online.lora.learned`). The price of a
whole node nu_gt is solved from that before the day, and again at every slot with arrivals and after every `every`
arrivals in it: by a few steps on the dual of the tasks expected from now on, on the nodes that are left. Where counts
burst it is the mean of two prices, solved side by side: a burst of now may end soon, or last. A task pays
nu (om + waste dW) for a cell, on the node that it fills best; it is admitted if its bid is above the cost of its
cheapest schedule, and charged that.

Without history it begins at zero prices and learns from the tasks of the day itself, as every run does in part.

No guarantee, unless `guard=BETA` puts Theorem H around it (`ratiobench.online.lora.guard`). Truthful in the bid: a
task's prices come from history, counts and earlier tasks. Not in the arrival: prices may fall when they are solved
again; not in the memory: more of it may fill a gap, and so be cheaper. With `wish=monotone` and history prices do not
look at waste, never fall within the day, and are not raised by what the task itself sets off, so that neither to arrive
later nor to ask for more memory gains anything; without a guard more work or an earlier deadline never did.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.lora.learned.forecast import AHEAD
from ratiobench.online.lora.learned.policy import LearnedPrices, Settings
from ratiobench.online.lora.posted_prices import GuardSettings, PostedPrices
from ratiobench.online.lora.registry import (
    ARITHMETIC,
    Entry,
    Option,
    fraction,
    read_margin,
    register,
    settle_arithmetic,
)

_COUNTS = {
    "every": ("15", "arrivals after which prices are solved again within a slot"),
    "samples": ("4", "samples of past tasks that take turns"),
    "size": ("8", "tasks of a sample at each point of arrival"),
    "rounds": ("12", "steps of a solution; three quarters of them for each of two ways on which a day may go on"),
    "days": ("3", "last days whose tasks are sampled; counts are of all"),
}
_NUMBERS = {
    "step": ("0.2", "first step of a solution, in mean prices of a node"),
    "scale": ("0.95", "part of the solved price that is posted"),
    "waste": ("0.1", "price of a node's expected waste, in prices of a node"),
}
MOST_AHEAD = 10
UNFILLED, LEAST_FILL = 1.5, 0.5  # Under a guard prices count on 1 - UNFILLED / beta of a node, LEAST_FILL at least
GUARD = {
    "rho": Option("1", None, "of the guard: its factor is rho + max(1, beta); raises may cost what sales leave"),
    "past": Option(
        "kept",
        ("kept", "settled"),
        "of the guard; settled: credits of slots that have passed are taken back and pay for raises",
    ),
    "margin": Option("3/2", None, "of the guard: caps are this times those of history"),
    "arith": ARITHMETIC,
}


def guard_settings(name: str, options: Mapping[str, str], key: str) -> GuardSettings | None:
    """The guard that options ask for; None for beta = 0."""
    beta = fraction(f"{name}:{key}", options[key])
    rho, margin = fraction(f"{name}:rho", options["rho"]), read_margin(name, options)
    if not beta:
        return None
    return GuardSettings(beta, rho, margin, options["past"] == "settled")


def guarantee(options: Mapping[str, str], key: str) -> str:
    """What is proved of a guarded run."""
    return f"OPT <= ({options['rho']} + max(1, {options[key]})) ALG + A0, where caps bound the day's (Theorem H)"


def _count(key: str, options: Mapping[str, str]) -> int:
    value = fraction(f"learned:{key}", options[key])
    if value.denominator != 1 or not 1 <= value <= 10_000:
        raise InputError("algorithm", f"learned:{key}", f"{shorten(options[key])} is no whole number in 1..10000")
    return int(value)


def _ahead(options: Mapping[str, str]) -> float | None:
    if options["ahead"] == "auto":  # prices that never fall begin lower
        return 1.0 if options["wish"] == "monotone" else None
    value = fraction("learned:ahead", options["ahead"])
    if value > MOST_AHEAD:
        raise InputError("algorithm", "learned:ahead", f"{shorten(options['ahead'])} is above {MOST_AHEAD}")
    return float(value)


def _fill(options: Mapping[str, str], guard: GuardSettings | None) -> float:
    if options["fill"] == "auto":  # the last part of a node is dear under the guard
        return 1.0 if guard is None else max(LEAST_FILL, 1.0 - UNFILLED / float(guard.beta))
    value = fraction("learned:fill", options["fill"])
    if value > 1:
        raise InputError("algorithm", "learned:fill", f"{shorten(options['fill'])} is above 1")
    return float(value)


def _make(options: Mapping[str, str]) -> PostedPrices:
    given: dict[str, Any] = {key: _count(key, options) for key in _COUNTS}
    given |= {key: float(fraction(f"learned:{key}", options[key])) for key in _NUMBERS}
    monotone = options["wish"] == "monotone"
    guard = guard_settings("learned", options, "guard")
    given["fill"] = _fill(options, guard)
    settings = Settings(total=options["total"], monotone=monotone, ahead=_ahead(options), **given)
    return PostedPrices(LearnedPrices(settings), guard, exact=options["arith"] == "exact")


def _standing(options: Mapping[str, str], oracle: bool) -> Mapping[str, str]:
    proved = "none; guard=BETA has one" if Fraction(options["guard"]) == 0 else guarantee(options, "guard")
    monotone = Fraction(options["guard"]) == 0 and options["wish"] == "monotone"
    return {"guarantee": proved, "truthful": "in bid, window, work and memory" if monotone else "in the bid"}


register(
    Entry(
        "learned",
        "prices learned from earlier days and solved again within the day; guard=BETA adds Theorem H",
        "6",
        {
            "guard": Option("0", None, "beta of the guard of Theorem H; 0: none"),
            "wish": Option(
                "solved", ("solved", "monotone"), "monotone: prices never fall within a day, nor look at waste"
            ),
            "total": Option(
                "auto",
                ("auto", "known", "unknown"),
                "the number of tasks is that of earlier days, unknown, or as earlier days differ",
            ),
            **{key: Option(default, None, told) for key, (default, told) in (_COUNTS | _NUMBERS).items()},
            "ahead": Option(
                "auto",
                None,
                f"demand beyond an hour counts so many times, at most {MOST_AHEAD}; auto: {1 + AHEAD} where counts are "
                "regular, down to 1 where they burst, and 1 with wish=monotone",
            ),
            "fill": Option(
                "auto", None, f"part of the nodes that prices count on; auto: 1, under a guard 1 - {UNFILLED} / beta"
            ),
            **GUARD,
        },
        _make,
        settle=settle_arithmetic,
        learns=True,
        standing=_standing,
        slow=True,  # and one after another: what is learned from the same days is learned once
    )
)
