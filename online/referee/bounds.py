"""What anyone's algorithm may import and read: all but what could make the instance again, or shows it."""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ratiobench import instances
from ratiobench.instances.io import packing
from ratiobench.instances.io.disk_cache import code_mark, recall, store
from ratiobench.instances.io.errors import InputError
from ratiobench.online.modules import list_imports, parse_source
from ratiobench.online.registry import Instance, Registry

# The folder of the four packages: of the checkout, or `ratiobench` itself where it is installed
ROOT = Path(instances.__file__).resolve().parents[1]
# The generators' tables, the shipped instances of every family, and the certificates of standard sets
PROJECT_DATA = (*ROOT.glob("instances/*/data"), *ROOT.glob("instances/*/named"), ROOT / "bench" / "standard")
_LAYERS = ("bench", "formulations", "instances", "online")
_SCAN_LIMIT = 2**28
# A statement that imports, or a line of text that looks like one
_IMPORT = re.compile(rb"(?m)^[ \t]*(from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^)]*\)|[^\n(]*)|import[ \t][^\n]*)")
# One that may stand behind another one in its line
_BEHIND = re.compile(rb"[:;][ \t]*(?:from[ \t]+[\w.]+[ \t]+import|import[ \t])")


@cache
def list_barred() -> Mapping[str, str]:
    """The modules that no algorithm may load, each with its file: `ratiobench.bench`, and what only makes instances."""
    # Reading all sources takes a tenth of a second, so the list is kept on disk under their hash.
    key = ["barred", str(ROOT), code_mark(tuple(f"ratiobench.{layer}" for layer in _LAYERS))]
    data = recall(key)
    if data is None:
        data = json.dumps(_find_barred()).encode()
        store(key, data)
    barred: dict[str, str] = json.loads(data)
    return barred


def _find_barred() -> dict[str, str]:
    files = {
        ".".join(("ratiobench", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): file
        for package in _LAYERS
        for file in (ROOT / package).rglob("*.py")
    }
    # From the solvers, the algorithms, what all layers use, and what stands above the modules of a family.
    seen = ("ratiobench.formulations", "ratiobench.online", "ratiobench.instances.io")
    ways = [name for name in files if name.startswith(seen) or name.count(".") < 3]
    free: set[str] = set()
    while ways:
        name = ways.pop()
        if name in files and name not in free and not name.startswith("ratiobench.bench"):
            free.add(name)
            ways += [name.rpartition(".")[0], *_imported(files[name])]
    return {name: str(file) for name, file in files.items() if name not in free}


def _imported(file: Path) -> Iterator[str]:
    """The modules that a file imports, and the names that it takes from them: they may be modules too."""
    source = file.read_bytes()
    # Trees of whole files take a second: where it can be, only the lines that import are read (a test compares).
    try:
        tree = parse_source(source if _BEHIND.search(source) else b"\n".join(_IMPORT.findall(source)))
    except SyntaxError:
        tree = parse_source(source)
    for module, names in list_imports(tree):
        yield module
        yield from (f"{module}.{name}" for name in names)


def shows_the_future(path: str, registry: Registry[Instance], instance: Instance) -> bool:
    """Whether a file that the algorithm read shows the future: the instance itself, results about it, or our data."""
    file = Path(path)
    if any(folder in file.parents for folder in PROJECT_DATA):
        return True
    try:
        # Named pipes would wait for a writer; files of the kernel say that they are empty, and may wait for ever.
        if str(file.resolve()).startswith(("/proc/", "/sys/", "/dev/")):
            return False
        if not file.is_file() or not 0 < file.stat().st_size <= _SCAN_LIMIT:
            return False
        with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return False
            text = data = opened.read(_SCAN_LIMIT + 1)
        if text[:2] == b"\x1f\x8b":
            with gzip.open(file) as stream:
                text = stream.read(_SCAN_LIMIT + 1)
            if len(text) > _SCAN_LIMIT:  # too long to be looked at
                return True
        elif packing.is_packed(text):
            text = packing.content_of(text, path, _SCAN_LIMIT)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        return isinstance(error, InputError)  # packed, and too long to be looked at, or no longer whole
    tested = registry.content_hash(instance)
    if tested.encode() in text:
        return True
    if b"ratiobench/" not in text:
        return False
    try:
        whole = data if packing.is_packed(data) else text
        return registry.content_hash(registry.documents.loads(whole, path)) == tested
    except Exception:  # no instance of this family, in the words of its own reader
        return False
