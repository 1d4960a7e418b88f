"""A policy in one file, anywhere: its text is parsed here, sent to its process, and runs there alone."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import linecache
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ratiobench.instances.io.errors import InputError, list_names, make_printable, suggest_name
from ratiobench.instances.io.files import read_bytes
from ratiobench.online.answers import POLICY
from ratiobench.online.modules import OWN, list_imports, parse_source
from ratiobench.online.run_context import UserAlgorithm

MOST_BYTES = 2**20  # Of a policy's file


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy by its name, or its file, read."""

    name: str  # under which it runs: of a file `own:CLASS`, with the options behind it
    shown: str  # how people call it: of a file `policy.py:Class`, with the options behind it
    algorithm: UserAlgorithm | None = None  # the text of a file, to be sent to its process
    imports: tuple[str, ...] = ()  # the modules that a file imports by name, anywhere in it

    @property
    def own(self) -> dict[str, UserAlgorithm]:
        """The text of a file by its name without options, as a run is told it (`RunContext`)."""
        return {} if self.algorithm is None else {_head(self.name): self.algorithm}

    def with_shown_name(self, text: str) -> str:
        """A message in which the policy has the name that people know."""
        return text.replace(self.name, self.shown).replace(_head(self.name), _head(self.shown))


def _head(name: str) -> str:
    return ":".join(name.split(":")[:2])


def is_policy_file(text: str) -> bool:
    """Whether a name is meant as a file: its first part ends in `.py`."""
    return _split(text)[0].endswith(".py")


def read_policy(text: str) -> Policy:
    """Read a policy's file and find its class; what is no file is a name."""
    if not is_policy_file(text):
        return Policy(text, text)
    file, given, options = _split(text)
    path = Path(file)
    data, _ = read_bytes(path)
    if len(data) > MOST_BYTES:
        raise InputError(file, "", f"{len(data)} bytes; a policy has at most {MOST_BYTES}")
    try:
        source = importlib.util.decode_source(data)
        tree = parse_source(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise PolicyError(file, "", f"no Python: {make_printable(what, 200)}{where}") from None
    found = given or _find_class(file, tree)
    classes = [each.name for each in tree.body if isinstance(each, ast.ClassDef)]
    if given and given not in classes and given not in _names(tree):
        raise InputError(file, given, f"the file defines no class of this name{suggest_name(given, classes)}")
    tail = f":{options}" if options else ""
    code = hashlib.sha256(f"{found}\n{source}".encode()).hexdigest()[:16]
    pickled = pickle.dumps(_Source(source, path.name, found))
    name, imports = f"{found}{tail}", tuple(dict.fromkeys(module for module, _ in list_imports(tree)))
    return Policy(f"{OWN}:{name}", f"{path.name}:{name}", UserAlgorithm(code, pickled), imports)


class PolicyError(InputError):
    """A file that is there and cannot be a policy: of a program that writes policies, a failed candidate."""


def _split(text: str) -> tuple[str, str, str]:
    """File, class and options of a name; the last two may be empty."""
    head, separator, tail = text.partition(".py:")
    if not separator:
        return text, "", ""
    name, _, options = tail.partition(":")
    return f"{head}.py", name, options


def _find_class(file: str, tree: ast.Module) -> str:
    """The only class that decides; InputError where there is none or there are several."""
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    methods = ("decide", "decide_batch", "schedule")  # one of them is a method of every policy
    deciding = [
        each.name
        for each in classes
        if any(isinstance(part, ast.FunctionDef) and part.name in methods for part in each.body)
    ]
    if len(deciding) == 1:
        return deciding[0]
    if not deciding:
        raise PolicyError(file, "", "no class in it defines `decide`, `decide_batch` or `schedule`")
    raise PolicyError(file, "", f"several classes decide: {list_names(deciding)}; write {file}:{deciding[0]}")


def _names(tree: ast.Module) -> set[str]:
    """The names that a module binds at its top level by assignments and imports."""
    found: set[str] = set()
    for each in tree.body:
        if isinstance(each, ast.Assign):
            found |= {target.id for target in each.targets if isinstance(target, ast.Name)}
        elif isinstance(each, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in each.names}
    return found


class _Source:
    """The text of a policy; unpickled it is the class that the text defines."""

    def __init__(self, source: str, file: str, name: str) -> None:
        self._given = source, file, name

    def __reduce__(self) -> tuple[Any, tuple[str, str, str]]:
        return load_class, self._given


def load_class(source: str, file: str, name: str) -> Any:
    """Run the text of a policy and give its class; in the policy's own process."""
    module = ModuleType(POLICY)
    module.__file__ = file
    sys.modules[POLICY] = module
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), module.__dict__)
    return getattr(module, name)
