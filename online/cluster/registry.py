"""The policies of family `cluster` by name; names with options are read as `ratiobench.online.registry` says."""

from __future__ import annotations

from ratiobench.instances.cluster import format as documents
from ratiobench.instances.cluster.model import Instance
from ratiobench.online.registry import Registry

REGISTRY: Registry[Instance] = Registry("ratiobench.online.cluster", documents, "ratiobench.online.cluster.protocol")
