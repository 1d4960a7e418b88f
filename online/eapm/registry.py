"""The algorithms of EAPM by name; names with options are read as `ratiobench.online.registry` says."""

from __future__ import annotations

from ratiobench.instances.eapm import format as documents
from ratiobench.instances.eapm.model import Instance
from ratiobench.online.registry import Registry
from ratiobench.online.spec import Entry, Option

__all__ = ["REGISTRY", "Entry", "Option", "algorithms", "canonical", "entries", "parse", "register"]

REGISTRY: Registry[Instance] = Registry("ratiobench.online.eapm", documents, "ratiobench.online.eapm.protocol")

register, entries, parse = REGISTRY.register, REGISTRY.entries, REGISTRY.parse
algorithms, canonical = REGISTRY.algorithms, REGISTRY.canonical
