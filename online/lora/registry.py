"""The algorithms of problem P by name, and the options that several of them have."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora import format as documents
from ratiobench.instances.lora import history
from ratiobench.instances.lora.model import Instance
from ratiobench.online.registry import Registry
from ratiobench.online.spec import Entry, Option, Spec, fraction

__all__ = ["REGISTRY", "Entry", "Option", "Spec", "algorithms", "canonical", "entries", "fraction", "parse", "register"]

REGISTRY: Registry[Instance] = Registry("ratiobench.online.lora", documents, "ratiobench.online.lora.protocol", history)

register, entries, parse = REGISTRY.register, REGISTRY.entries, REGISTRY.parse
algorithms, canonical = REGISTRY.algorithms, REGISTRY.canonical

EXACT_TASKS = 64  # `arith=auto` is exact up to this many tasks, float above
ARITHMETIC = Option("auto", ("auto", "exact", "float"), "exact rationals, doubles, or by size")


def settle_arithmetic(options: dict[str, str], tasks: int) -> dict[str, str]:
    """Replace `arith=auto`, if there is such an option."""
    if options.get("arith") == "auto":
        options["arith"] = "exact" if tasks <= EXACT_TASKS else "float"
    return options


def require_positive(name: str, key: str, value: Fraction, text: str = "") -> Fraction:
    """The value of an option or constant; InputError, with `text` in place of the value, if it is 0 or less."""
    if value <= 0:
        raise InputError("algorithm", f"{name}:{key}", f"{text or value} is not above 0")
    return value


def read_margin(name: str, options: Mapping[str, str]) -> Fraction:
    margin = fraction(f"{name}:margin", options["margin"])
    if margin < 1:
        raise InputError("algorithm", f"{name}:margin", f"{shorten(options['margin'])} is below 1")
    return margin
