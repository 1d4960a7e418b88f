"""Theorems N1 and N3, lower bounds for every online algorithm, and their instances; proofs in docs/theory/limits.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any, NamedTuple

from ratiobench.formulations.report import Exact
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.keys import Values
from ratiobench.instances.lora import limits
from ratiobench.instances.lora.model import Instance

HEAD = "limit:"
ORDERS = 120  # If there are at most so many orders of the node types, ALG is the mean over all of them


class LimitPrefix(NamedTuple):
    label: str  # the level
    arrivals: int  # their number
    opt: Exact  # OPT of these arrivals alone


@dataclass(frozen=True, slots=True)
class LimitCase:
    """Hard instances for every online algorithm, with the lower bound that a theorem proves on them."""

    recipe: str  # its name, as `generate` takes it
    summary: str  # what the instances show, in a sentence
    prefixes: Sequence[LimitPrefix]  # of each instance, with the same OPT; one per level, the last one is everything
    theorem: str  # its name
    bound: Fraction  # the largest OPT/ALG over the prefixes is no less, for any algorithm; exact
    note: str  # a remark; empty for none
    document: dict[str, Any]  # the recipe
    orders: list[dict[str, Any]]  # by what the instances differ over which ALG is averaged

    def instances(self, apart: bool) -> list[Instance]:
        """The instances; `apart`: each level at a moment of its own, for algorithms that answer a moment together."""
        return [limits.generate(self._recipe(apart) | order) for order in self.orders]

    def announced(self, apart: bool) -> Instance | None:
        """The instance whose constants are announced; None: those of the instance itself, which show no prefix."""
        return limits.generate_announced(self._recipe(apart))

    def _recipe(self, apart: bool) -> dict[str, Any]:
        return self.document | ({"apart": True} if apart else {})


def sum_of_steps(levels: Sequence[int]) -> Fraction:
    """S = sum over the steps of 1 - v_{j-1} / v_j, of levels v_0 < v_1 < ... above 0."""
    return sum((1 - Fraction(low, high) for low, high in pairwise(levels)), Fraction(0))


def bound_rising(levels: Sequence[int]) -> Fraction:
    """Theorem N1: c >= 1 + S."""
    return 1 + sum_of_steps(levels)


def bound_choice(types: int, groups: int, levels: Sequence[int]) -> Fraction:
    """Theorem N3: c >= min {G/m, (G/(G-m) + S) / (1 - (H_G - H_{G-m}) + m/(G-m))}; `levels` of the second phase."""
    rest = types - groups
    harmonic = sum((Fraction(1, k) for k in range(rest + 1, types + 1)), Fraction(0))
    second = (Fraction(types, rest) + sum_of_steps(levels)) / (1 - harmonic + Fraction(groups, rest))
    return min(Fraction(types, groups), second)


def parse_recipe(text: str) -> dict[str, Any]:
    """The recipe that ``rising``, ``limit:rising`` or ``limit:rising:theta=20,K=1`` names."""
    from ratiobench.bench.family.suite_file import read_recipe
    from ratiobench.bench.lora import FAMILY

    full = text if text.startswith(HEAD) else HEAD + text
    name = full.removeprefix(HEAD).partition(":")[0]
    if name not in limits.FAMILIES:
        raise InputError("limit", "", explain_unknown_name(name, limits.FAMILIES, "list recipes"))
    found = read_recipe(full, {FAMILY.name: FAMILY})
    assert found is not None
    return dict(found[1].cases[0].recipe)


def make_case(text: str, draws: int) -> LimitCase:
    """The instances of a name or recipe; `draws` of them if their order is random and not all are used."""
    recipe = parse_recipe(text)
    values, construction = limits.read(recipe)
    name, family = recipe["name"], limits.FAMILIES[recipe["name"]]
    if name == "rising":
        orders, note = [{}], ""
        theorem, bound = "N1", bound_rising(construction.values())
    else:
        orders, note = _orders(values, draws)
        theorem, bound = "N3", bound_choice(values["G"], values["m"], construction.values()[values["m"] :])

    given = ",".join(f"{key.name}={_text(recipe[key.name])}" for key in family.keys if key.name in recipe)
    return LimitCase(
        recipe=f"{HEAD}{name}" + (f":{given}" if given else ""),
        summary=family.summary,
        prefixes=[LimitPrefix(*prefix) for prefix in construction.prefixes()],
        theorem=theorem,
        bound=bound,
        note=note,
        document=recipe,
        orders=orders,
    )


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _orders(values: Values, draws: int) -> tuple[list[dict[str, Any]], str]:
    """The keys by which the instances of `limit:choice` differ, and a remark on the mean over them."""
    types = values["G"]
    if "order" in values.given:
        return [{}], "one order of the types; the theorem is about the mean over all of them"
    if "seed" not in values.given and math.factorial(types) <= ORDERS:
        orders = [{"order": list(order)} for order in permutations(range(1, types + 1))]
        return orders, f"ALG is the mean over all {len(orders)} orders of the types"
    note = f"ALG is the mean over {draws} drawn order{'s' * (draws != 1)} of the types, which may be lucky"
    return [{"seed": values["seed"] + number} for number in range(draws)], note
