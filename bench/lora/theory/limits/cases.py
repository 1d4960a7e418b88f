"""The capability `Family.limits`: members of the families `limit:NAME`, and what the theorems say of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

from ratiobench.bench.family.capabilities import LimitBound, LimitCase, LimitPrefix, Limits
from ratiobench.bench.lora.theory.limits import formulas
from ratiobench.bench.lora.theory.limits.chart import draw_limits
from ratiobench.bench.results.ratios import format_truncated
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.keys import Values
from ratiobench.instances.lora import limits
from ratiobench.instances.lora.limits import Construction, LimitFamily
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import WAITED
from ratiobench.online.outcome import OnlineRun

HEAD = "limit:"
ORDERS = 120
"""All orders of the node types are taken where there are at most so many."""


def parse_recipe(text: str) -> dict[str, Any]:
    """The recipe that ``rising``, ``limit:rising`` or ``limit:rising:theta=20,K=1`` names.

    Raises
    ------
    InputError : naming the family, the key or the value.
    """
    from ratiobench.bench.family.suite_file import read_recipe
    from ratiobench.bench.lora import FAMILY

    full = text if text.startswith(HEAD) else HEAD + text
    name = full.removeprefix(HEAD).partition(":")[0]
    if name not in limits.families():
        raise InputError("limit", "", explain_unknown_name(name, limits.families(), "list recipes"))
    found = read_recipe(full, {FAMILY.name: FAMILY})
    assert found is not None
    return dict(found[1].cases[0].recipe)


def make_case(text: str, draws: int) -> LimitCase:
    """The member of a family that a name or recipe stands for; parameters and errors as of `Limits.case`."""
    recipe = parse_recipe(text)
    family, values, made = limits.read(recipe)
    orders, exact, note = _orders(family, values, draws)
    recipes = [recipe | order for order in orders]

    def instances(apart: bool) -> list[Instance]:
        return [limits.generate(each | ({"apart": True} if apart else {})) for each in recipes]

    def announced(apart: bool) -> Instance | None:
        return limits.generate_announced(recipe | ({"apart": True} if apart else {}))

    given = ",".join(f"{key.name}={_text(recipe[key.name])}" for key in family.keys if key.name in recipe)
    return LimitCase(
        recipe=f"{HEAD}{family.name}" + (f":{given}" if given else ""),
        summary=family.summary,
        instances=instances,
        prefixes=[LimitPrefix(*each) for each in made.prefixes],
        bounds=find_bounds(family, values, made),
        exact=exact,
        announced=announced,
        levels=made.values if family.name in ("rising", "units", "two", "flat") else (),
        note=note,
    )


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _orders(family: LimitFamily, values: Values, draws: int) -> tuple[list[dict[str, Any]], bool, str]:
    """The keys by which the instances differ, whether they are all that there are, and what is said of them."""
    if not family.random:
        return [{}], True, ""
    types = values["G"]
    if "order" in values.given:
        return [{}], False, "one order of the types; the theorem is about the mean over all of them"
    if "seed" not in values.given and math.factorial(types) <= ORDERS:
        every = [{"order": list(order)} for order in permutations(range(1, types + 1))]
        return every, True, f"ALG is the mean over all {len(every)} orders of the types"
    first = values["seed"]
    note = f"ALG is the mean over {draws} drawn order{'s' * (draws != 1)} of the types, which may be lucky"
    return [{"seed": first + number} for number in range(draws)], False, note


def find_bounds(family: LimitFamily, values: Values, made: Construction) -> list[LimitBound]:
    """What the theorems say of this member, exact."""
    units = made.nodes * made.units * made.slots
    if family.name in ("rising", "flat", "units", "two"):
        return [
            LimitBound("N1", False, formulas.bound_rising(made.values)),
            LimitBound("N4", True, formulas.bound_units_at(units, made.values)),
        ]
    if family.name == "block":
        share = values["delta"]
        return [
            LimitBound("N1", False, formulas.bound_block(share, deterministic=False)),
            LimitBound("N4", True, formulas.bound_block(share, deterministic=True)),
        ]
    if family.name == "nested":
        ends = limits.windows_of(values["L"], values["sigma"])
        return [LimitBound("N5", False, formulas.bound_nested(ends))]
    if family.name == "lengths":
        return [LimitBound("N1", False, formulas.bound_lengths(values["L"]))]
    assert family.name == "choice", shorten(family.name)
    levels = made.values[values["m"] :]
    return [LimitBound("N3", False, formulas.bound_choice(values["G"], values["m"], levels))]


def find_gains(instance: Instance, run: OnlineRun) -> list[int]:
    """The bids of the admitted tasks, 0 for the others: these instances have no costs."""
    return [0 if decision is None else bid for decision, bid in zip(run.decisions, instance.bid.tolist(), strict=True)]


def explain_outside(run: OnlineRun) -> str:
    """Why the theorems say nothing of a run; empty where they do."""
    waited = run.counts.get(WAITED, 0)
    return f"{waited} decisions were put off; the theorems are about decisions at arrival" if waited else ""


def list_remarks(case: LimitCase, earned: Sequence[Fraction]) -> list[str]:
    """Theorem N7 on a family of rising values: what is lost at the first and the last level for the sake of the others.

    Parameters
    ----------
    earned : ALG of each prefix, micro-dollars.
    """
    if len(case.levels) < 2 or min(earned) <= 0:
        return []
    ratios = [Fraction(prefix.opt) / alg for prefix, alg in zip(case.prefixes, earned, strict=True)]
    worst, before = max(ratios), max(ratios[:-1])
    levels = [Fraction(level) for level in case.levels]
    most = formulas.most_at_first(levels, worst)
    found = [
        f"first level: {format_truncated(1 / ratios[0])} of OPT earned; an algorithm with OPT/ALG <= "
        f"{format_truncated(worst)} at every prefix earns at most {format_truncated(most)} of it (Theorem N7)"
    ]
    least = formulas.least_at_top(levels, before)
    if least is not None:
        found.append(
            f"last level: OPT/ALG = {format_truncated(ratios[-1])}; an algorithm with OPT/ALG <= "
            f"{format_truncated(before)} before it has at least {format_truncated(least)} there (Theorem N7)"
        )
    return found


LIMITS = Limits(
    case=make_case,
    gains=find_gains,
    outside=explain_outside,
    remarks=list_remarks,
    figure=draw_limits,
)
