"""The algorithms of EAPM by name; names with options are read as `ratiobench.online.registry` says."""

from __future__ import annotations

from ratiobench.instances.eapm import format as documents
from ratiobench.instances.eapm.model import Instance
from ratiobench.online.registry import Registry
from ratiobench.online.spec import Entry, Option, Spec, fraction

__all__ = ["REGISTRY", "Entry", "Option", "Spec", "algorithms", "canonical", "entries", "fraction", "parse", "register"]

REGISTRY: Registry[Instance] = Registry("ratiobench.online.eapm", documents, "ratiobench.online.eapm.protocol")

register = REGISTRY.register
entries = REGISTRY.entries
parse = REGISTRY.parse
algorithms = REGISTRY.algorithms
canonical = REGISTRY.canonical
