"""What was compiled is written down beside the caches, so that a run sees at once whether anything has to be compiled.

The record names the algorithms for which everything was compiled, the caches that were there then and the sources that
they are of. Where one of these is gone or another one now, the record says nothing.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from ratiobench.instances.io.files import write_atomically

FILE = "compiled.json"
ALL = "*"
_LAYERS = ("bench", "formulations", "instances", "online")
_PRIOR = re.compile(r"[:,](?:prior|history)=[^,]*")  # Where constants come from changes nothing that is compiled


def is_compiled(family: str, algorithms: Collection[str], without: Collection[str] = ()) -> bool:
    """Whether the record says that all was compiled for these; yes as well where no record can be kept."""
    if not _given() and not os.access(_home("formulations"), os.W_OK):
        import_module("ratiobench.formulations.kernels")  # which chooses another place for the caches
    place = _place()
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        return True
    record = _read().get("algorithms", {})
    if ALL in record.get(family, ()):
        return True
    parts = chain.from_iterable(combinations(sorted(without), count) for count in range(len(without) + 1))
    entries = [record[entry] for part in parts if (entry := _entry(family, part)) in record]
    return bool(entries) and {strip_prior(name) for name in algorithms} <= set(chain(*entries))


def record_compiled(family: str, algorithms: Collection[str] | None, without: Collection[str] = ()) -> None:
    """Write down that all was compiled for these; None for all there are. Nothing where that cannot be written."""
    entry = _entry(family, without)
    known = _read().get("algorithms", {})
    added = [ALL] if algorithms is None else [strip_prior(name) for name in algorithms]
    document = {
        "made_with": _made_with(),
        "caches": sorted(str(path) for path in _caches()),
        "sources": {str(path): _stamp(path) for path in sorted(_sources())},
        "algorithms": known | {entry: sorted({*known.get(entry, []), *added})},
    }
    with suppress(OSError, ValueError):
        _place().mkdir(parents=True, exist_ok=True)
        write_atomically(_place() / FILE, json.dumps(document).encode())


def _entry(family: str, without: Collection[str]) -> str:
    return f"{family} without {', '.join(sorted(without))}" if without else family


def _read() -> dict[str, Any]:
    """The record, if it is still true; else an empty one."""
    try:
        found = json.loads((_place() / FILE).read_bytes())
        is_true = found["made_with"] == _made_with() and all(map(os.path.exists, found["caches"]))
        is_true = is_true and all(_stamp(Path(path)) == stamp for path, stamp in found["sources"].items())
        return {"algorithms": dict(found["algorithms"])} if is_true else {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _made_with() -> str:
    return f"numba {version('numba')}, Python {platform.python_version()}, {platform.machine()}"


def _given() -> str:
    """Where numba keeps its caches, if not beside the sources."""
    return os.environ.get("NUMBA_CACHE_DIR", "")


def _place() -> Path:
    return Path(_given()) if _given() else _home("bench") / "__pycache__"


def _home(floor: str) -> Path:
    spec = find_spec(f"ratiobench.{floor}")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _caches() -> Iterator[Path]:
    for folder in [Path(_given())] if _given() else map(_home, _LAYERS):
        yield from folder.rglob("*.nbi")


def _sources() -> set[Path]:
    """Those whose kernels are in the caches beside them; all where caches lie elsewhere."""
    if _given():
        return {path for floor in _LAYERS for path in _home(floor).rglob("*.py")}
    return {path for cache in _caches() if (path := cache.parents[1] / f"{cache.name.partition('.')[0]}.py").exists()}


def _stamp(path: Path) -> list[int]:
    about = path.stat()
    return [about.st_mtime_ns, about.st_size]


def strip_prior(name: str) -> str:
    """The algorithm's name without its prior: ``a:prior=x,b=1`` is ``a:b=1``, and so is ``a:history=x,b=1``."""
    head, _, options = _PRIOR.sub("", name).partition(",")
    return f"{head}{',' if ':' in head else ':'}{options}" if options else head
