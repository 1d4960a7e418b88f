"""`import ratiobench as rb` and `python -m ratiobench`: another name of the package `bench`, and of all inside it.

Other projects have packages called `bench`, too: where one of those stands first on the path, ours is put before it.
The name stands for the very same modules: `ratiobench.tables.rows` is `bench.tables.rows`, whichever is imported first,
and none is loaded twice.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_ALIAS, _REAL = __name__, "bench"


class _Alias:
    """Finds `ratiobench.X` and hands out `bench.X`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What stands behind a name of the alias; None for any other name."""
        if not name.startswith(f"{_ALIAS}."):
            return None
        real = importlib.util.find_spec(_REAL + name.removeprefix(_ALIAS))
        if real is None or name == f"{_ALIAS}.__main__":  # `python -m` runs the file
            return None if real is None else importlib.util.spec_from_file_location(name, real.origin)
        return importlib.util.spec_from_loader(name, _Same(real.name), origin=real.origin)


class _Same(Loader):
    """Loads nothing anew."""

    def __init__(self, real: str) -> None:
        self._real = real
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself."""
        module = importlib.import_module(self._real)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has been executed; it keeps its own origin, which the import has just replaced."""
        module.__spec__ = self._spec


def _find_real() -> ModuleType:
    """The package `bench` that this one belongs to: beside it where it is installed, around it in a checkout.

    Raises
    ------
    ImportError : another package of that name has been imported.
    """
    here = Path(__file__).resolve()
    home = here.parents[3] if here.parents[2].name == _REAL else here.parents[1]
    ours = home / _REAL / "__init__.py"
    if _REAL not in sys.modules:
        spec = importlib.util.find_spec(_REAL)
        if spec is None or spec.origin is None or Path(spec.origin).resolve() != ours:
            sys.path.insert(0, str(home))  # worker processes get this path, too
            importlib.invalidate_caches()
    real = importlib.import_module(_REAL)
    if Path(real.__file__ or "").resolve() != ours:
        raise ImportError(f"another package `{_REAL}` has been imported before: {real.__file__}")
    return real


sys.meta_path.insert(0, _Alias())
sys.modules[_ALIAS] = _find_real()
