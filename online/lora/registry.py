"""The algorithms of problem P by name; names with options are read as `ratiobench.online.registry` says."""

from __future__ import annotations

from ratiobench.instances.lora import format as documents
from ratiobench.instances.lora.history import is_earlier, join, require_history, tell_history
from ratiobench.instances.lora.model import Instance
from ratiobench.online.registry import Registry
from ratiobench.online.spec import Entry, Option, Spec, fraction

__all__ = ["REGISTRY", "Entry", "Option", "Spec", "algorithms", "canonical", "entries", "fraction", "parse", "register"]

REGISTRY: Registry[Instance] = Registry(
    "ratiobench.online.lora",
    documents,
    "ratiobench.online.lora.protocol",
    join,
    require_history,
    tell_history,
    is_earlier,
)

register = REGISTRY.register
entries = REGISTRY.entries
parse = REGISTRY.parse
algorithms = REGISTRY.algorithms
canonical = REGISTRY.canonical
