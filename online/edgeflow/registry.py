"""The policies of family `edgeflow` by name; names with options are read as `ratiobench.online.registry` says."""

from __future__ import annotations

from ratiobench.instances.edgeflow import format as documents
from ratiobench.instances.edgeflow.model import Instance
from ratiobench.online.registry import Registry
from ratiobench.online.spec import Entry, Option

__all__ = ["REGISTRY", "Entry", "Option", "algorithms", "canonical", "entries", "parse", "register"]

REGISTRY: Registry[Instance] = Registry("ratiobench.online.edgeflow", documents, "ratiobench.online.edgeflow.protocol")

register, entries, parse = REGISTRY.register, REGISTRY.entries, REGISTRY.parse
algorithms, canonical = REGISTRY.algorithms, REGISTRY.canonical
