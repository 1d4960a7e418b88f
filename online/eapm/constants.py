"""Constants that algorithms declare: computed from a whole instance, so an oracle when it is the one under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from instances.eapm.model import Instance

CONSTANTS: Mapping[str, Callable[[Instance], tuple[Fraction, str]]] = {}
"""Name -> function of an instance that gives the value and a detail to show."""
