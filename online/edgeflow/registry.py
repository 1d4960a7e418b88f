"""The policies of family `edgeflow` by name; names with options are read as `ratiobench.online.registry` says."""

from __future__ import annotations

from ratiobench.instances.edgeflow import format as documents
from ratiobench.instances.edgeflow.model import Instance
from ratiobench.online.registry import Registry
from ratiobench.online.spec import Entry, Option, Spec, fraction

__all__ = ["REGISTRY", "Entry", "Option", "Spec", "algorithms", "canonical", "entries", "fraction", "parse", "register"]

REGISTRY: Registry[Instance] = Registry("ratiobench.online.edgeflow", documents, "ratiobench.online.edgeflow.protocol")

register = REGISTRY.register
entries = REGISTRY.entries
parse = REGISTRY.parse
algorithms = REGISTRY.algorithms
canonical = REGISTRY.canonical
