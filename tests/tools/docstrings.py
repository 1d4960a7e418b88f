"""The docstrings of the public interface: `python -m tests.tools.docstrings` prints every defect, status 1 if any.

The public interface is what the modules export: the functions and classes in any ``__all__`` of the packages, their
public methods, and their base classes in this project. `tests/test_docstrings.py` checks that what users and authors
meet is exported. Modules are read and not imported, so that a linter's environment needs no package of ours.

A function's docstring begins with one sentence and names every parameter, what is returned, and every exception that
its own code raises. A class names its fields, or the parameters of its constructor; its section Notes may describe
parameters that several methods have. Format: numpydoc's sections, with ``name : description`` in a line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("bench", "formulations", "instances", "online")
SECTIONS = (
    "Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "Examples", "Notes", "References", "See Also",
)  # fmt: skip
_HEAD = re.compile(rf"^({'|'.join(SECTIONS)})\n-{{3,}}$", re.MULTILINE)
_ITEM = re.compile(r"^([*\w]+(?:, [*\w]+)*) : ", re.MULTILINE)
OPTIONS = "{options}"
"""Stands for the options of a command, which `as_function` writes there."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Public:
    """A function, a class or a method of the public interface.

    Parameters
    ----------
    module : where it is defined, by its import name.
    name : qualified, within the module.
    node : its syntax tree.
    shared : of a method, the parameters that its class describes for several methods.
    """

    module: str
    name: str
    node: Definition
    shared: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{path_of(self.module).relative_to(ROOT)}:{self.node.lineno}: {self.name}"


def path_of(module: str) -> Path:
    """The file of a module: `ratiobench.bench.api` is ``bench/api.py``."""
    first, *rest = module.split(".")[1:] or ["__init__"]
    base = ROOT.joinpath(first, *rest) if first in PACKAGES else ROOT.joinpath("ratiobench", first, *rest)
    file = base.parent / f"{base.name}.py"
    return file if file.exists() else base / "__init__.py"


def modules() -> Iterator[str]:
    """The import names of all modules."""
    for folder in ("ratiobench", *PACKAGES):
        for file in sorted((ROOT / folder).rglob("*.py")):
            inside = file.relative_to(ROOT)
            if folder == "ratiobench" and inside.parts[1] in PACKAGES:  # a link to the folder beside it
                continue
            parts = [part for part in inside.with_suffix("").parts if part != "__init__"]
            yield ".".join(parts if folder == "ratiobench" else ["ratiobench", *parts])


@cache
def tree_of(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path_of(module).read_text(encoding="utf-8"))


def exports(module: str) -> Sequence[str]:
    """The names in the module's ``__all__``; empty without one."""
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets):
            names: list[str] = ast.literal_eval(node.value)
            return names
    return ()


def find_definition(module: str, name: str) -> Public | None:
    """What a name of a module means, followed through its imports; None for a constant and for other packages."""
    if not path_of(module).exists():
        return None
    for node in ast.walk(tree_of(module)):
        if isinstance(node, Definition) and node.name == name and node in tree_of(module).body:
            return Public(module, name, node)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ratiobench"):
            for each in node.names:
                if (each.asname or each.name) == name:
                    return find_definition(str(node.module), each.name)
    return None


def bases(public: Public) -> Iterator[Public]:
    """The base classes of a class that this project defines."""
    for base in public.node.bases if isinstance(public.node, ast.ClassDef) else ():
        base = base.value if isinstance(base, ast.Subscript) else base
        name, module = "", public.module
        if isinstance(base, ast.Name):
            name = base.id
        elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):  # a module, then its class
            name, module = base.attr, _module_named(public.module, base.value.id)
        found = find_definition(module, name)
        if found is not None and not name.startswith("_"):
            yield found


def _module_named(module: str, alias: str) -> str:
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                if (each.asname or each.name) == alias:
                    return f"{node.module}.{each.name}"
    return "ratiobench.nowhere"


def surface() -> dict[str, Public]:
    """The public interface: functions, classes and public methods, by ``module.name`` of their definitions."""
    found: dict[str, Public] = {}
    waiting = [each for module in modules() for name in exports(module) if (each := find_definition(module, name))]
    while waiting:
        public = waiting.pop()
        key = f"{public.module}.{public.name}"
        if key in found:
            continue
        found[key] = public
        waiting += bases(public)
        if isinstance(public.node, ast.ClassDef):
            shared = items(sections(ast.get_docstring(public.node) or "").get("Notes", ""))
            for node in public.node.body:
                if isinstance(node, Function) and (not node.name.startswith("_") or node.name == "__call__"):
                    name = f"{public.name}.{node.name}"
                    found[f"{key}.{node.name}"] = Public(public.module, name, node, frozenset(shared))
    return dict(sorted(found.items()))


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring by their heads; the text before them has the head ''."""
    parts = _HEAD.split(text)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def items(section: str) -> set[str]:
    """The names that a section describes, one or several a line."""
    return {name.lstrip("*") for line in _ITEM.findall(section) for name in line.split(", ")}


def defects(public: Public) -> Iterator[str]:
    """What is wrong with a docstring, a line each."""
    text = ast.get_docstring(public.node)
    if not text:
        yield "no docstring"
        return
    parts = sections(text)
    summary = parts[""].strip().split("\n\n")[0]
    if "\n" in summary or not summary.endswith("."):
        yield "the first paragraph is no sentence in a line"
    if isinstance(public.node, ast.ClassDef):
        yield from _of_class(public.node, parts)
    else:
        yield from _of_function(public.node, parts, public.shared)


def _of_class(node: ast.ClassDef, parts: dict[str, str]) -> Iterator[str]:
    described = items(parts.get("Parameters", "")) | items(parts.get("Attributes", ""))
    wanted: set[str] = set()
    for each, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not each.target.id.startswith("_"):
            wanted.add(each.target.id)
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                described.add(each.target.id)
        if isinstance(each, Function) and each.name == "__init__":
            wanted |= set(parameters(each))
            described |= items(sections(ast.get_docstring(each) or "").get("Parameters", ""))
    for name in sorted(wanted - described):
        yield f"{name} is not described"


def _of_function(node: Function, parts: dict[str, str], shared: frozenset[str]) -> Iterator[str]:
    decorators = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    if decorators & {"property", "cached_property", "setter"}:
        return
    wanted, described = set(parameters(node)), items(parts.get("Parameters", ""))
    keywords = node.args.kwarg
    if keywords is not None:
        if described - wanted or OPTIONS in parts.get("Parameters", ""):  # described one by one
            wanted.discard(keywords.arg)
    elif described - wanted:
        yield f"{', '.join(sorted(described - wanted))}: no such parameter"
    for name in sorted(wanted - described - shared):
        yield f"parameter {name} is not described"
    returned = "None" if node.returns is None else ast.unparse(node.returns)
    if returned not in ("None", "NoReturn", "Never") and not {"Returns", "Yields"} & parts.keys():
        yield "no section Returns"
    for name in sorted(raised(node)):
        if not re.search(rf"^{name} :", parts.get("Raises", ""), re.MULTILINE):
            yield f"{name} is not in a section Raises"


def parameters(node: Function) -> list[str]:
    """The parameters that a caller gives."""
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args]
    if given and given[0].arg in ("self", "cls"):
        given = given[1:]
    named = [*given, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return [each.arg for each in named if each is not None and not each.arg.startswith("_")]


def raised(node: Function) -> set[str]:
    """The classes of exceptions that the function's own code raises by name."""
    found = set()
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Raise) and each.exc is not None:
            error = each.exc.func if isinstance(each.exc, ast.Call) else each.exc
            name = ast.unparse(error).rpartition(".")[2]
            if name[0].isupper():
                found.add(name)
        if not isinstance(each, Definition | ast.Lambda):
            waiting += ast.iter_child_nodes(each)
    return found


def main() -> int:
    """Print the defects of all docstrings of the public interface."""
    count = 0
    found = surface()
    for public in found.values():
        for defect in defects(public):
            print(f"{public}: {defect}")
            count += 1
    print(f"docstrings of the public interface: {len(found)}, defects: {count}")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
