"""Kernels that count no references never hold an array that is new: it would not be freed."""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ratiobench.formulations.kernels import LazyKernel

# Kernels that make arrays for themselves, return none, and may be called by those that count no references
KNOWN = {
    "answers", "best_set", "fill_nodes", "future_cost", "node_values",
    "_choose_by_sorting", "_never_pays", "_pack_anew", "_take_first",
}  # fmt: skip


@cache
def _kernels() -> tuple[LazyKernel, ...]:
    """Those of modules that import a decorator; others may load solvers."""
    found = {}
    for floor in ("formulations", "online", "environments", "bench"):
        name = f"ratiobench.{floor}"
        root = Path(importlib.import_module(name).__path__[0])
        for file in sorted(root.rglob("*.py")):
            if "formulations.kernels import" in file.read_text(encoding="utf-8"):
                module = importlib.import_module(".".join((name, *file.relative_to(root).with_suffix("").parts)))
                found.update({id(each): each for each in vars(module).values() if isinstance(each, LazyKernel)})
    return tuple(found.values())


def _called(kernel: LazyKernel) -> Iterator[Any]:
    """What a kernel calls, directly and through functions whose statements are put into it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kernel.py_func)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found = kernel.py_func.__globals__.get(node.func.id)
            if isinstance(found, LazyKernel):
                yield found
                if found.targetoptions.get("inline") == "always":
                    yield from _called(found)


def test_what_counts_no_references_calls_nothing_that_returns_a_new_array() -> None:
    """Numba itself refuses to compile a kernel that makes an array and counts no references."""
    in_place = [each for each in _kernels() if each.targetoptions.get("_nrt") is False]
    assert len(in_place) > 50
    allocating = {
        (kernel.py_func.__name__, called.py_func.__name__)
        for kernel in in_place
        for called in _called(kernel)
        if called.targetoptions.get("_nrt") is True
    }
    assert {called for _, called in allocating} <= KNOWN, allocating


def test_all_kernels_say_whether_they_count_references() -> None:
    """Without a choice of its own a kernel takes that of the first kernel that calls it."""
    for kernel in _kernels():
        if kernel.targetoptions.get("inline") != "always":
            assert "_nrt" in kernel.targetoptions, kernel.py_func.__qualname__
