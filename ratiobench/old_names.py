"""The import names of version 0.1 (`bench`, `online`, `formulations`, `instances`), for one more release.

They lead to the modules of today, with a warning: no module is loaded twice. A package of these names that belongs to
somebody else is left alone.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, spec_from_file_location, spec_from_loader
from pathlib import Path
from types import ModuleType

PACKAGES = ("bench", "formulations", "instances", "online")
_NEW = "ratiobench"
_CURRENT = ("", *PACKAGES, "__main__", "adapters", "environments", "old_names", "testing")
_IN_IO = (
    "disk_cache", "display", "documents", "errors", "fields", "files", "json_items", "keys", "numerals", "packing",
    "recipe", "seeds", "text_files",
)  # fmt: skip
_MOVED = {f"{_NEW}.instances.{name}": f"{_NEW}.instances.io.{name}" for name in _IN_IO}
"""Modules that a family or an algorithm of somebody else may import, by their names before."""


class _Finder:
    """Finds ``ratiobench.bench.X`` for ``bench.X`` and ``ratiobench.X``, and modules that were moved."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        top, _, rest = name.partition(".")
        if name in _MOVED:
            new = _MOVED[name]
        elif top == _NEW:
            new = f"{_NEW}.bench.{rest}"
            if rest.partition(".")[0] in _CURRENT:
                return None
        elif top in PACKAGES and (_is_ours(top) if not rest else _is_alias(top)):
            new = f"{_NEW}.{name}"
        else:
            return None
        try:
            real = find_spec(new)
        except ModuleNotFoundError:
            return None
        if real is None:
            return None
        if rest == "__main__":  # `python -m bench` runs the file
            return spec_from_file_location(name, real.origin)
        if not rest or top == _NEW:
            _warn(name, new)
        return spec_from_loader(name, _Same(new), origin=real.origin)


class _Same(Loader):
    """Gives the module that is loaded under its new name."""

    def __init__(self, new: str) -> None:
        self._new = new
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._new)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import has just put the old name in its place


def install() -> None:
    """Let the old names be imported from now on."""
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def redirect(name: str) -> None:
    """Put the package of today in the place of one that is being loaded under its old name, from a checkout."""
    new = f"{_NEW}.{name}"
    _warn(name, new)
    sys.modules[name] = importlib.import_module(new)


def _warn(old: str, new: str) -> None:
    problem = f"`{old}` is called `{new}` since version 0.2; the old name goes with version 0.4"
    warnings.warn(problem, FutureWarning, stacklevel=3)


def _is_ours(package: str) -> bool:
    """Whether nothing else has the name: no package, or the folder of this checkout."""
    found = PathFinder.find_spec(package)
    if found is None or found.origin is None:  # a folder without `__init__.py` is no package of somebody's
        return True
    ours = find_spec(f"{_NEW}.{package}")
    return ours is not None and ours.origin is not None and Path(found.origin).samefile(ours.origin)


def _is_alias(package: str) -> bool:
    module = sys.modules.get(package)
    return module is not None and module is sys.modules.get(f"{_NEW}.{package}")
