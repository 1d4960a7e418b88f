"""Plug-ins: what other installed packages add, found by their entry points.

| group | name | value |
|---|---|---|
| ``ratiobench.algorithms`` | ``FAMILY.NAME`` | ``module:Class``, a user algorithm of this family |
| ``ratiobench.families`` | any | ``module`` that defines ``FAMILY`` |
| ``ratiobench.backends`` | name of the backend | ``module`` with ``solve`` and ``version`` |
| ``ratiobench.claims`` | ``FAMILY.NAME`` | ``module:CLAIM``, a `ratiobench.bench.theory.claim.Claim` |

Finding them runs no line of the packages.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from ratiobench.instances.io.errors import InputError, make_printable

__all__ = ["Plugin", "find_plugins", "plugin_packages", "plugins_of"]

ALGORITHMS, FAMILIES, BACKENDS, CLAIMS = (
    f"ratiobench.{each}" for each in ("algorithms", "families", "backends", "claims")
)


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of an installed package."""

    name: str  # name, value: as the package declares them
    value: str
    package: str  # package, version: of the distribution
    version: str

    @property
    def origin(self) -> str:
        """Package and version."""
        return f"{self.package} {self.version}"

    def load(self) -> Any:
        """Import what the value names: its module, or an attribute of it."""
        module, _, attribute = self.value.partition(":")
        try:
            found = importlib.import_module(module)
            return getattr(found, attribute) if attribute else found
        except Exception as error:  # a package of somebody else's may raise anything
            problem = (
                f"the plug-in {self.value} cannot be loaded: {make_printable(f'{type(error).__name__}: {error}', 200)}"
            )
            raise InputError(self.package, self.name, problem) from None


@cache
def find_plugins(group: str) -> Mapping[str, Plugin]:
    """Find the entry points of a group."""
    found: dict[str, Plugin] = {}
    for each in entry_points(group=group):
        package, version = (each.dist.name, each.dist.version) if each.dist is not None else ("", "")
        plugin = Plugin(each.name, each.value, package, version)
        known = found.get(each.name)
        if known is None or plugin.package < known.package:
            found[each.name] = plugin
    return dict(sorted(found.items()))


def plugins_of(group: str, family: str) -> dict[str, Plugin]:
    """Find the plug-ins of a family."""
    return {
        name.partition(".")[2]: each
        for name, each in find_plugins(group).items()
        if name.partition(".")[0] == family and name.partition(".")[2]
    }


def plugin_packages() -> dict[str, str]:
    """List the packages that add plug-ins."""
    found = [each for group in (ALGORITHMS, FAMILIES, BACKENDS, CLAIMS) for each in find_plugins(group).values()]
    return {each.package: each.version for each in sorted(found, key=lambda each: each.package) if each.package}
