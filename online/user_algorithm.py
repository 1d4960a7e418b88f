"""Anyone's algorithm that is no module: a class or an object of a notebook or a script, sent to its process by value.

It is pickled with cloudpickle, with all that it uses but what modules define: those are named, and the hash of their
files is a part of its version. What it carries is looked through for objects of ours that show the future; arrays,
numbers and bytes say nothing of where they are from.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import operator
import pickle
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle

from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.errors import SHOWN, InputError, make_printable
from ratiobench.online.answers import OTHERS, format_line
from ratiobench.online.modules import OWN, module_file
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run_context import UserAlgorithm

LARGEST = 2**26  # Bytes of an algorithm with all that it carries
_NAME = re.compile(r"[A-Za-z_][\w.+-]{0,59}")
_FIELD = "algorithms"
_PLACES = ("__firstlineno__", "__static_attributes__", "__file__", "__path__")
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")  # In the text of what has none of its own
_TRACKER = re.compile(r"[0-9a-f]{32}")


def list_algorithms(algorithms: object) -> list[object]:
    """One algorithm or several: what cannot be gone through is one."""
    if isinstance(algorithms, str | type) or not isinstance(algorithms, Iterable):
        return [algorithms]
    return list(algorithms)


def name_algorithms(given: object, future: Iterable[type] = ()) -> tuple[tuple[str, ...], dict[str, UserAlgorithm]]:
    """The names under which algorithms run, and what stands behind those that are no text and no import path."""
    names: list[str] = []
    own: dict[str, UserAlgorithm] = {}
    for each in list_algorithms(given):
        name = each if isinstance(each, str) else _import_path(each)
        if name is None:
            name = _own_name(each)
            packed = _pack(each, name, (SolveReport, OnlineRun, *(kind for kind in future if kind not in _PLAIN)))
            if own.setdefault(name, packed).code != packed.code:
                problem = "two of them have this name; an object may have another one as its attribute `name`"
                raise InputError(_FIELD, name, problem)
        names.append(name)
    return tuple(names), own


_PLAIN = (dict, list, tuple, str, int, type(None))


def _import_path(given: object) -> str | None:
    if not isinstance(given, type) or "." in given.__qualname__:
        return None
    module = sys.modules.get(given.__module__)
    path = f"{given.__module__}:{given.__qualname__}"
    if module is None or given.__module__ == "__main__" or getattr(module, given.__qualname__, None) is not given:
        return None
    with contextlib.suppress(InputError, OSError):
        if module_file(path).samefile(Path(getattr(module, "__file__", None) or "")):
            return path
    return None


def _own_name(given: object) -> str:
    decides = callable(getattr(given, "start", None)) and (hasattr(given, "decide") or hasattr(given, "decide_batch"))
    if not decides and not callable(getattr(given, "schedule", None)):
        problem = f"{_shown(given)} is neither a name nor a class or object with `start` and `decide`, or `schedule`"
        raise InputError(_FIELD, "", problem)
    kind = given if isinstance(given, type) else type(given)
    name = kind.__name__ if given is kind else getattr(given, "name", kind.__name__)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problem = f"{_shown(name)} is not a name: letters, digits and _ . + - only, at most 60 of them"
        raise InputError(_FIELD, f"{OWN}:{kind.__name__}", problem)
    return f"{OWN}:{name}"


def _shown(value: object) -> str:
    """A value in at most 60 characters on one line, whatever its type says of itself."""
    try:
        return make_printable(repr(value), SHOWN)
    except Exception:
        return f"a {type(value).__name__}"


def _pack(given: Any, name: str, future: tuple[type, ...]) -> UserAlgorithm:
    kind = given if isinstance(given, type) else type(given)
    try:
        with _by_value(sys.modules.get(kind.__module__)):
            pickled, _ = _dumped(_Guarded, given, name, future)
            placeless, files = _dumped(_Placeless, given, name, future)
            named = b"".join(hashlib.sha256(file.read_bytes()).digest() for file in sorted(files))
            code = hashlib.sha256(placeless + named).hexdigest()[:16]
    except InputError:
        raise
    except Exception as error:  # pickle raises many kinds, and anything's own __reduce__ any
        raise InputError(_FIELD, name, f"it cannot be sent to a process of its own: {format_line(error)}") from None
    if len(pickled) > LARGEST:
        problem = f"{len(pickled)} bytes with all that it carries; at most {LARGEST} are allowed"
        raise InputError(_FIELD, name, problem)
    return UserAlgorithm(code, pickled, tuple(sorted(map(str, files))))


@contextlib.contextmanager
def _by_value(module: ModuleType | None) -> Iterator[None]:
    """Inside, what this module defines is pickled by what it is and not by its name, which another file may have."""
    if module is None or module in _by_value_now():
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


class _Guarded(cloudpickle.Pickler):  # type: ignore[misc]
    """Refuses objects that show the future."""

    def __init__(self, file: io.BytesIO, name: str, future: tuple[type, ...]) -> None:
        super().__init__(file)
        self._name, self._future = name, future
        self.files: set[Path] = set()  # of the caller's modules that are named: what is in them is not pickled

    def reducer_override(self, given: Any) -> Any:
        if type(given) in self._future or _is_answer(type(given)):
            kind = f"{type(given).__module__}.{type(given).__qualname__}"
            problem = f"it carries what it must not know, an object of {kind}: it may use no variable that holds one"
            raise InputError(_FIELD, self._name, problem)
        return super().reducer_override(given)


def _is_answer(kind: type) -> bool:
    """Whether objects of the type are what a solve or a run found: decisions, and what a run kept of itself."""
    is_ours = kind.__module__.startswith(("ratiobench.instances.", "ratiobench.online."))
    return is_ours and kind.__module__.rpartition(".")[2] in ("solution", "traces")


class _Placeless(_Guarded):
    """Leaves out where code was written down and when, and the order of sets, so that equals give equal bytes."""

    def reducer_override(self, given: Any) -> Any:
        if isinstance(given, CodeType):
            names = (given.co_names, given.co_varnames, given.co_freevars, given.co_cellvars)
            consts = tuple(map(self._ordered, given.co_consts))
            counts = (given.co_argcount, given.co_posonlyargcount, given.co_kwonlyargcount)
            code = (given.co_code, given.co_flags, given.co_name, names, counts, consts, given.co_exceptiontable)
            return tuple, (code,)
        reduced = super().reducer_override(given)
        if isinstance(given, FunctionType | type | ModuleType):
            module = given if isinstance(given, ModuleType) else sys.modules.get(str(given.__module__))
            file = Path(str(getattr(module, "__file__", None) or "")).resolve()
            if module not in _by_value_now() and file.is_file() and not any(each in file.parents for each in OTHERS):
                self.files.add(file)
        if isinstance(given, FunctionType | type) and isinstance(reduced, tuple) and len(reduced) > 2:
            maker, arguments, state, *rest = reduced
            return (maker, tuple(map(self._placeless, arguments)), tuple(map(self._placeless, state)), *rest)
        is_named = reduced is not NotImplemented or isinstance(given, FunctionType | type | ModuleType)
        return reduced if is_named else self._without_order(given)

    def _without_order(self, given: Any) -> Any:
        """How an object is made again, with sets in their order; as ever where it carries none."""
        if isinstance(given, set | frozenset):  # of a class of its own: plain ones are never asked about
            own = self._ordered(getattr(given, "__dict__", {}))
            return tuple, ((type(given), self._ordered(frozenset(given)), own),)
        reduce = self.dispatch_table.get(type(given))
        parts = given.__reduce_ex__(pickle.DEFAULT_PROTOCOL) if reduce is None else reduce(given)
        if not isinstance(parts, tuple):
            return NotImplemented
        entries = [list(each) if place in (3, 4) and each is not None else each for place, each in enumerate(parts)]
        ordered = [self._ordered(each) for each in entries]
        if all(map(operator.is_, entries, ordered)):
            return NotImplemented
        return tuple(iter(each) if place in (3, 4) and each is not None else each for place, each in enumerate(ordered))

    def _placeless(self, value: Any) -> Any:
        """A part of what makes a class or function again: without files, lines and the number of a class."""
        if isinstance(value, dict):
            inside = {key: each for key, each in value.items() if key not in _PLACES}
            return {
                key: self._placeless(each) if key == "__globals__" else self._ordered(each)
                for key, each in inside.items()
            }
        return "" if isinstance(value, str) and _TRACKER.fullmatch(value) else self._ordered(value)

    def _ordered(self, value: Any, around: tuple[int, ...] = ()) -> Any:
        """A plain container with the sets in it, however deep, as sorted lists; itself where there are none."""
        kind = type(value)
        if kind in (set, frozenset):
            return ["set", *sorted(map(self._text, value))]
        if kind not in (dict, list, tuple):
            return value
        if id(value) in around:
            return f"the container {around.index(id(value))} around this one"
        around = (*around, id(value))
        if kind is dict:
            keys = [self._ordered(key, around) for key in value]
            each = [self._ordered(each, around) for each in value.values()]
            if all(map(operator.is_, [*keys, *each], [*value, *value.values()])):
                return value
            names = [key if key is one else repr(key) for key, one in zip(keys, value, strict=True)]
            return dict(zip(names, each, strict=True))
        found = [self._ordered(each, around) for each in value]
        return value if all(map(operator.is_, found, value)) else kind(found)

    def _text(self, value: Any) -> str:
        text = repr(self._ordered(value))
        if _ADDRESS.search(text):
            printed = make_printable(text, SHOWN)
            problem = f"it carries a set with {printed}, of which the order differs from process to process"
            raise InputError(_FIELD, self._name, f"{problem}: use a list or tuple")
        return text


def _by_value_now() -> list[ModuleType | None]:
    return [sys.modules.get(name) for name in ("__main__", *cloudpickle.list_registry_pickle_by_value())]


def _dumped(pickler: type[_Guarded], given: Any, name: str, future: tuple[type, ...]) -> tuple[bytes, set[Path]]:
    file = io.BytesIO()
    dumper = pickler(file, name, future)
    dumper.dump(given)
    return file.getvalue(), dumper.files
