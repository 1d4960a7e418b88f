"""The policies of family `tenants` by name; names with options are read as `ratiobench.online.registry` says."""

from __future__ import annotations

from ratiobench.instances.tenants import format as documents
from ratiobench.instances.tenants.model import Instance
from ratiobench.online.registry import Registry
from ratiobench.online.spec import Entry, Option

__all__ = ["REGISTRY", "Entry", "Option", "algorithms", "canonical", "entries", "parse", "register"]

REGISTRY: Registry[Instance] = Registry("ratiobench.online.tenants", documents, "ratiobench.online.tenants.protocol")

register, entries, parse = REGISTRY.register, REGISTRY.entries, REGISTRY.parse
algorithms, canonical = REGISTRY.algorithms, REGISTRY.canonical
