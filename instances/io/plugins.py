"""Plug-ins: what other installed packages add, found by their entry points (docs/evaluate.md) without running them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from operator import attrgetter
from typing import Any

from ratiobench.instances.io.errors import InputError, make_printable

GROUPS = ALGORITHMS, FAMILIES, BACKENDS, CLAIMS = (
    "ratiobench.algorithms", "ratiobench.families", "ratiobench.backends", "ratiobench.claims",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plugin:
    name: str  # name, value: as the package declares them
    value: str
    package: str  # package, version: of the distribution
    version: str

    @property
    def origin(self) -> str:
        return f"{self.package} {self.version}"

    def load(self) -> Any:
        module, _, attribute = self.value.partition(":")
        try:
            found = importlib.import_module(module)
            return getattr(found, attribute) if attribute else found
        except Exception as error:  # a package of somebody else's may raise anything
            cause = make_printable(f"{type(error).__name__}: {error}", 200)
            raise InputError(self.package, self.name, f"the plug-in {self.value} cannot be loaded: {cause}") from None


@cache
def find_plugins(group: str) -> Mapping[str, Plugin]:
    found: dict[str, Plugin] = {}  # of one name the plug-in whose package is first in the alphabet
    for point in entry_points(group=group):
        package, version = (point.dist.name, point.dist.version) if point.dist is not None else ("", "")
        plugin = Plugin(point.name, point.value, package, version)
        found[point.name] = min(found.get(point.name, plugin), plugin, key=attrgetter("package"))
    return dict(sorted(found.items()))


def plugins_of(group: str, family: str) -> dict[str, Plugin]:
    prefix = f"{family}."
    return {
        name.removeprefix(prefix): plugin
        for name, plugin in find_plugins(group).items()
        if name.startswith(prefix) and name != prefix
    }


def plugin_packages() -> dict[str, str]:
    plugins = (plugin for group in GROUPS for plugin in find_plugins(group).values())
    return {plugin.package: plugin.version for plugin in sorted(plugins, key=attrgetter("package")) if plugin.package}
