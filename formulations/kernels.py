"""How kernels are compiled: the decorators, and what is cheaper written here than compiled out of NumPy.

A kernel is compiled at its first use, for the types of what it is given, and kept on disk. Compiling is most of a first
run, so a kernel is written for one combination of types (two, where it runs in integers and in doubles): arrays in C
order that can be written, numbers that are no literals. Scratch comes from the caller: a kernel that makes no array
counts no references. Array expressions, copies of slices and `np.argsort` are functions too, and large ones; loops are
not. None uses fast-math: the same inputs give the same results on any machine.
"""

from __future__ import annotations

import gc
import hashlib
import math
import os
import stat
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial, update_wrapper
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np

from ratiobench.formulations.timing import exclude_compilation, excluded_from_timing
from ratiobench.instances.io.disk_cache import user_cache

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

READ_ONLY = "RATIOBENCH_READ_ONLY"  # A variable of processes that may not write into the folders of compiled kernels


def _use_writable_kernel_cache() -> None:
    """Send numba's cache to a user folder when the package's own folder cannot be written."""
    if "NUMBA_CACHE_DIR" in os.environ or os.access(Path(__file__).parent, os.W_OK):
        return
    os.environ["NUMBA_CACHE_DIR"] = str(private_folder([user_cache()], Path(tempfile.gettempdir())))


def private_folder(wanted: Sequence[Path], temporary: Path) -> Path:
    """Find a folder into which nobody else can write: numba runs what lies in it."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    for folder, barred in (*((each, 0o002) for each in wanted), (temporary / f"ratiobench-cache-{user}", 0o077)):
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=folder in wanted, exist_ok=True)
            found = folder.lstat()  # a link is somebody's choice of another folder
            private = os.name == "nt" or (found.st_uid == user and not found.st_mode & barred)
            if stat.S_ISDIR(found.st_mode) and private and os.access(folder, os.W_OK):
                return folder
    return Path(tempfile.mkdtemp(prefix="ratiobench-cache-", dir=temporary))


_use_writable_kernel_cache()  # before anybody imports numba, which reads the variable then


def _read_cache_only() -> None:
    """Read compiled kernels where they are and keep no new ones, in a process under Landlock."""
    from numba.core import caching

    save = caching.IndexDataCacheFile.save

    def save_if_allowed(self: Any, *given: Any) -> None:
        with suppress(PermissionError):
            save(self, *given)

    # Numba would look into another folder, which is empty, and compile all anew.
    locator = getattr(caching, "InTreeCacheLocator", None) or caching._InTreeCacheLocator
    locator.ensure_cache_path = lambda self: None
    caching.IndexDataCacheFile.save = save_if_allowed


@cache
def load_numba() -> None:
    """Import numba, a fifth of a second, which is in no clock."""
    with excluded_from_timing():
        exclude_compilation()
        _remember_signatures()
        if READ_ONLY in os.environ:
            _read_cache_only()


def _remember_signatures() -> None:
    """Resolve a function of numba's for the same types once per kernel, not at every call: a seventh of compilation."""
    from numba.core.targetconfig import ConfigStack
    from numba.core.types.functions import BaseFunction

    resolve = BaseFunction.get_call_type
    known: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        parts = self, context, ConfigStack.top_or_none()
        key = *map(id, parts), tuple(args), tuple(kws.items())
        if key not in known:
            known[key] = *parts, resolve(self, context, args, kws)  # their numbers are no others' while they are kept
        return known[key][-1]

    BaseFunction.get_call_type = get_call_type  # type: ignore[method-assign]


@cache
def _compiler(inner: bool) -> Any:
    """Numba's compiler of kernels, without the passes over functions before those over the module: a tenth of the time.

    A kernel that only kernels call is optimised within its callers, not by itself as well.
    """
    from numba.core import cgutils
    from numba.core.codegen import JITCodeLibrary, ll, llvmir
    from numba.core.compiler import Compiler

    class Library(JITCodeLibrary):  # type: ignore[misc]
        def _optimize_functions(self, module: Any) -> None:
            module.data_layout = self._codegen._data_layout

    class InnerLibrary(Library):
        _final_module: Any

        def _optimize_final_module(self) -> None:
            """Leave it to the callers."""

        def _finalize_final_module(self) -> None:
            self._finalized = True
            self._get_module_for_linking()  # is kept, also in the cache
            stub = self._codegen._create_empty_module(self.name)
            for variable in self._final_module.global_variables:
                if variable.name.startswith("_ZN08NumbaEnv"):
                    place = llvmir.GlobalVariable(stub, cgutils.voidptr_t, name=variable.name)
                    place.linkage, place.initializer = "common", llvmir.Constant(cgutils.voidptr_t, None)
            self._final_module = ll.parse_assembly(cgutils.normalize_ir_text(str(stub)))
            super()._finalize_final_module()

    class KernelCompiler(Compiler):  # type: ignore[misc]
        def compile_extra(self, function: Any) -> Any:
            library = InnerLibrary if inner else Library
            self.state.library = library(self.state.targetctx.codegen(), function.__qualname__)
            self.state.library.enable_object_caching()
            return super().compile_extra(function)

    return KernelCompiler


_lock = threading.RLock()
_alternatives: list[tuple[Any, Any]] = []  # Those that numba was not told of yet


class LazyKernel:
    """A kernel: numba is imported, and compiles it or loads it from the cache, when it is called first."""

    def __init__(self, function: Any, options: Mapping[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.targetoptions = function, options
        self.stamp = _stamp(function)
        self._dispatcher: Any = None

    def __call__(self, *given: Any) -> Any:
        made = self._dispatcher
        return self.dispatcher(*given) if made is None else made(*given)

    @property
    def dispatcher(self) -> Any:
        with _lock:
            if self._dispatcher is None:
                load_numba()
                with excluded_from_timing():
                    self._dispatcher = self._make()
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def _make(self) -> Any:
        """The dispatcher; it compiles anew where a kernel or number that the kernel's own file imports has changed."""
        from numba import njit
        from numba.core.runtime import rtsys
        from numba.core.sigutils import normalize_signature
        from numba.extending import overload

        while _alternatives:
            function, chosen = _alternatives.pop()
            overload(function, jit_options={**_INNER, "_nrt": False, "pipeline_class": _compiler(inner=True)})(chosen)
        inner = self.targetoptions.items() >= _INNER.items()
        made = njit(**self.targetoptions, pipeline_class=_compiler(inner))(self.py_func)
        # Numba looks at the kernel's own file only: it would run what it compiled of other files before they changed,
        # and fails where a type of another file has another name.
        # Numba's index of what it has compiled; none where NUMBA_DISABLE_JIT leaves the function as it is.
        file = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if file is not None:
            load = file._load_index

            def load_index() -> Any:
                try:
                    return load()
                except (AttributeError, ImportError):
                    return {}

            cache = made._cache

            def load_matching(types: Any, target: Any) -> Any:
                """Two processes that compile at once may save code of other types under one name."""
                # As numba's `load_overload`, without its tables of functions, .2 s: only compilation needs them.
                rtsys.initialize(target)
                with cache._guard_against_spurious_io_errors():
                    found = cache._load_overload(types, target)
                return found if found is None or found.signature.args == normalize_signature(types)[0] else None

            compile_or_load = made.compile

            def compile_alone(types: Any) -> Any:
                known = made.overloads.get(normalize_signature(types)[0])
                if known is not None:
                    return known.entry_point
                with _only_here(Path(file._index_path)):
                    return compile_or_load(types)

            file._source_stamp, file._load_index = self.stamp, load_index
            cache.load_overload, made.compile = load_matching, compile_alone
        return made


@contextmanager
def _only_here(index: Path) -> Iterator[None]:
    """Compile a kernel in one process at a time: others that need it wait, then load it from the cache."""
    from numba.core.compiler_lock import global_compiler_lock

    # A process that holds one kernel waits only for kernels that this one calls, so no two wait for each other. Numba's
    # lock comes first, for the threads of a process. A tenth of the compiler's time would go into looking for garbage.
    with global_compiler_lock:
        collects, file, place = gc.isenabled(), _open_lock(index.parent, os.getpid()), zlib.crc32(index.name.encode())
        gc.disable()
        with suppress(OSError):  # a file system without locks: a kernel may then be compiled twice
            if file is not None:
                fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
        try:
            yield
        finally:
            with suppress(OSError):
                if file is not None:
                    fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
            if collects:
                gc.enable()


@cache
def _open_lock(folder: Path, process: int) -> IO[bytes] | None:
    """The file of locks in a folder of compiled kernels, a byte for each, opened once a process; None without locks."""
    with suppress(OSError):
        if fcntl is not None:
            folder.mkdir(parents=True, exist_ok=True)
            return (folder / "kernels.lock").open("ab")
    return None


def _stamp(function: Any) -> str:
    """What a kernel is compiled of: its file, and the kernels and numbers that the file, or a module of its, has."""
    known = dict(function.__globals__)
    for name, value in function.__globals__.items():
        if isinstance(value, ModuleType) and value not in (math, np):
            known |= {f"{name}.{part}": each for part, each in vars(value).items()}
    stamps = {each.stamp for each in known.values() if isinstance(each, LazyKernel)}
    stamps |= {f"{name} {value!r}" for name, value in known.items() if isinstance(value, int | float)}
    text = "\n".join([_hash_file(function.__code__.co_filename), *sorted(stamps)])
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _hash_file(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


_OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
_INNER = {"no_cpython_wrapper": True}  # Options that only kernels that kernels alone call have

# The decorators. Without `_nrt` a kernel counts no references to arrays, which takes up to nine tenths of the time if
# kernels hand tuples of arrays on. It must not make an array, nor return one, nor call a kernel that returns a new one,
# which would never be freed.
compiled = partial(LazyKernel, options=_OPTIONS | {"_nrt": True})
compiled_in_place = partial(LazyKernel, options=_OPTIONS | {"_nrt": False})
# Of a kernel that only kernels call: it has no machine code of its own
inner = partial(LazyKernel, options=_OPTIONS | _INNER | {"_nrt": False})
inner_allocating = partial(LazyKernel, options=_OPTIONS | _INNER | {"_nrt": True})
inlined = partial(LazyKernel, options={"inline": "always"})  # its statements are put where it is called


def alternative(function: Any) -> Callable[[Any], Any]:
    """Decorate what chooses, by the types of its arguments, what kernels take in place of a Python function."""

    def decorate(chosen: Any) -> Any:
        _alternatives.append((function, chosen))
        return chosen

    return decorate


def follow_environment() -> None:
    """Read numba's settings again: in a forked process that was given another environment."""
    _use_writable_kernel_cache()
    if "numba" in sys.modules:
        from numba import config

        config.reload_config()


@inlined
def sort_few(keys, count, order):  # type: ignore[no-untyped-def]
    """Write the indices that sort the first keys into `order`, equals in their order: for a few keys, in place."""
    for at in range(count):
        key = keys[at]
        to = at
        while to > 0 and keys[order[to - 1]] > key:
            order[to] = order[to - 1]
            to -= 1
        order[to] = at


@inlined
def copy_list(to, values):  # type: ignore[no-untyped-def]
    """Copy values into an array of as many; `to[:] = values` may make a third array."""
    for a in range(len(to)):
        to[a] = values[a]


@inlined
def copy_table(to, values):  # type: ignore[no-untyped-def]
    for a in range(to.shape[0]):
        for b in range(to.shape[1]):
            to[a, b] = values[a, b]


@compiled
def sort_stably(keys):  # type: ignore[no-untyped-def]
    """(n,) the indices that sort the keys, equals in their order: a merge sort, as `np.argsort(kind="stable")`."""
    count = len(keys)
    order = np.empty(count, np.int64)
    other = np.empty(count, np.int64)
    for at in range(count):
        order[at] = at
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            a = low
            b = middle
            for at in range(low, high):
                if a < middle and (b == high or not keys[order[b]] < keys[order[a]]):
                    other[at] = order[a]
                    a += 1
                else:
                    other[at] = order[b]
                    b += 1
        order, other = other, order
        width *= 2
    return order


@inner
def draw_word(state):  # type: ignore[no-untyped-def]
    """xorshift64*; the state is a (1,) uint64 array."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(2685821657736338717)


@inlined
def draw_below(state, size):  # type: ignore[no-untyped-def]
    """A random integer in 0..size-1, by a remainder."""
    return np.int64((draw_word(state) >> np.uint64(11)) % np.uint64(size))


@inlined
def draw_integer(state, size):  # type: ignore[no-untyped-def]
    """A random integer in 0..size-1, by the upper half of a word."""
    return (np.int64(draw_word(state) >> np.uint64(33)) * size) >> 31


@inlined
def draw_unit(state):  # type: ignore[no-untyped-def]
    """A random double in [0, 1)."""
    return np.float64(draw_word(state) >> np.uint64(11)) / 9007199254740992.0
