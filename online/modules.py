"""Import paths: where anyone's own module lies, found without running a line of it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from ratiobench.instances.io.errors import InputError, suggest_name
from ratiobench.instances.io.files import read_bytes

# In the place of a module: the class or object was handed over by whoever runs it (`ratiobench.online.user_algorithm`)
OWN = "own"

_parsing = threading.Lock()


def import_path() -> list[str]:
    """Where anyone's modules are looked for: the current folder, then Python's path."""
    return [os.getcwd(), *(entry for entry in sys.path if entry not in ("", os.getcwd()))]


def module_name(text: str) -> str:
    """The module of a file in the current folder, ``mine.own`` of ``mine/own.py``; other text as it is."""
    if not text.endswith(".py"):
        return text
    file = Path(text)
    if file.is_absolute() and file.is_relative_to(Path.cwd()):
        file = file.relative_to(Path.cwd())
    return ".".join(file.with_suffix("").parts)


def parse_source(source: str | bytes) -> ast.Module:
    """The syntax tree of Python source."""
    # Python 3.11 before 3.11.8 raises SystemError where two threads make syntax trees at once (CPython issue 106905).
    with _parsing:
        return ast.parse(source)


def files_beside(file: Path) -> list[Path]:
    """A module's file, and the files and packages of its folder that it imports, directly or by other files there."""
    found: dict[Path, None] = {}
    ways = [file]
    while ways:
        each = ways.pop()
        if each in found:
            continue
        found[each] = None
        for name in set() if each.is_dir() else _imported_tops(each):
            package, module = file.parent / name, file.parent / f"{name}.py"
            ways += [package] if (package / "__init__.py").is_file() else [module] if module.is_file() else []
    return list(found)


def _imported_tops(file: Path) -> set[str]:
    """The first parts of the names of modules that a file imports by statements."""
    try:
        tree = parse_source(file.read_bytes())
    except (SyntaxError, ValueError, OSError, RecursionError):
        return set()
    return {module.partition(".")[0] for module, _ in list_imports(tree)}


def list_imports(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """The modules that statements import, each with the names that are taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [alias.name for alias in node.names]


def class_names(path: str) -> list[str]:
    """The classes that the file of an import path's module defines, read without running a line of it."""
    try:
        body = parse_source(read_bytes(module_file(path))[0]).body
    except (SyntaxError, ValueError, OSError, InputError):
        return []
    return [each.name for each in body if isinstance(each, ast.ClassDef)]


def module_file(path: str) -> Path:
    """The file of an import path's module, found without running a line of it: its place is another process."""
    module = path.partition(":")[0]
    top, *rest = module.split(".")
    importlib.invalidate_caches()
    problem = f"there is no module {module!r} on the import path"
    if module == OWN:
        problem += f": {OWN}:NAME is a class or object that a notebook or script hands to `ratiobench.run`"
    elif not rest:
        problem += suggest_name(top, (file.stem for file in Path().glob("*.py") if file.is_file()))
    missing = InputError("algorithm", path, problem)
    if not all(part.isidentifier() for part in (top, *rest)):
        raise missing
    try:
        found = PathFinder.find_spec(top, import_path()) or importlib.util.find_spec(top)
    except (ImportError, ValueError):
        found = None
    if found is None and not rest and Path(f"{top}.py").exists():
        raise InputError(f"{top}.py", "", "cannot be read: it is no regular file")
    if found is None:
        raise missing
    for part in rest:  # by its last name alone: the finder would look for the package among loaded modules
        found = found and PathFinder.find_spec(part, list(found.submodule_search_locations or ()))
    file = Path(found.origin) if found and found.origin else None
    if file is None or not file.is_file():
        raise missing
    return file
