"""The policies of family `tenants` by name; names with options are read as `online.registry` says."""

from __future__ import annotations

from instances.tenants import format as documents
from instances.tenants.model import Instance
from online.registry import Registry
from online.spec import Entry, Option, Spec, fraction

__all__ = ["REGISTRY", "Entry", "Option", "Spec", "algorithms", "canonical", "entries", "fraction", "parse", "register"]

REGISTRY: Registry[Instance] = Registry("online.tenants", documents, "online.tenants.protocol")

register = REGISTRY.register
entries = REGISTRY.entries
parse = REGISTRY.parse
algorithms = REGISTRY.algorithms
canonical = REGISTRY.canonical
