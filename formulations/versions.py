"""Versions of the solvers' packages: a figure that a solver had a part in may differ between them."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from contextlib import suppress

from ratiobench.formulations.report import NO_BACKEND
from ratiobench.instances.io.plugins import BACKENDS, find_plugins

# The package that brings the solver of each backend; PuLP brings CBC
PACKAGES: Mapping[str, str] = {
    "highs": "highspy",
    "cbc": "pulp",
    "cpsat": "ortools",
    "scip": "pyscipopt",
    "gurobi": "gurobipy",
}
# The versions that the published figures were made with, as in constraints.txt
PINNED: Mapping[str, str] = {"highspy": "1.15.1", "ortools": "9.15.6755", "pulp": "3.3.2"}


def package_versions(backend: str = "auto") -> str:
    """Package and version of what a solve with this backend may ask, as part of a stored result's key."""
    if backend == NO_BACKEND:
        return ""
    plugin = find_plugins(BACKENDS).get(backend)
    if plugin is not None and backend not in PACKAGES:
        return plugin.origin
    names = PINNED if backend == "auto" else [PACKAGES.get(backend, backend)]
    found = []
    for name in names:
        with suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(found)


def list_unpinned(packages: Mapping[str, str]) -> list[str]:
    """Which of these versions are not those of the published figures, a few words for each."""
    return [
        f"{name} {packages[name]} ({pinned} in constraints.txt)"
        for name, pinned in PINNED.items()
        if packages.get(name, pinned) != pinned
    ]
