"""The algorithms of problem P by name; names with options are read as `online.registry` says."""

from __future__ import annotations

from instances.lora import format as documents
from instances.lora.history import join, require_history, tell_history
from instances.lora.model import Instance
from online.registry import Registry
from online.spec import Entry, Option, Spec, fraction

__all__ = ["REGISTRY", "Entry", "Option", "Spec", "algorithms", "canonical", "entries", "fraction", "parse", "register"]

REGISTRY: Registry[Instance] = Registry(
    "online.lora", documents, "online.lora.protocol", join, require_history, tell_history
)

register = REGISTRY.register
entries = REGISTRY.entries
parse = REGISTRY.parse
algorithms = REGISTRY.algorithms
canonical = REGISTRY.canonical
