"""The command `new`: a package of one's own that adds an algorithm, a claim or a family, and passes its tests."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.evaluation.cases import find_family
from ratiobench.bench.options import Choice, File, Options, Text, argument, option
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import make_folder, write_text

KINDS = ("algorithm", "family", "claim")
_HERE = Path(__file__).resolve().parents[1]
_TEMPLATES = _HERE / "templates"
_FAMILY = _HERE / "family" / "five_files.md"
"""The family in five files, whose text is the template of a family."""


@dataclass(frozen=True, kw_only=True)
class New(Options):
    """Options of `new`."""

    kind: str = argument("content of the package", Choice(KINDS), "KIND")
    name: str = argument("name of the package, a Python name in lower case", Text(), "NAME")
    family: str | None = option(
        "family of an algorithm or claim", Text(), "FAMILY", told="the first of the standard set"
    )
    out: Path | None = option("folder to create", File(), "DIR", told="NAME")


def run(options: New) -> list[Path]:
    """Write the files; InputError where the folder is not empty."""
    name = options.name
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name) or keyword.iskeyword(name):
        raise InputError("name", "", f"{name!r} is no Python name in lower case")
    folder = options.out or Path(name)
    if folder.exists() and any(folder.iterdir()):
        raise InputError("--out", "", f"{folder} is not empty")
    files = _family(name) if options.kind == "family" else _part(options.kind, name, find_family(options.family).name)
    written = []
    for path, content in files.items():
        make_folder((folder / path).parent)
        write_text(folder / path, content)
        written.append(folder / path)
    return written


def _part(kind: str, name: str, family: str) -> dict[str, str]:
    """The files of an algorithm or a claim."""
    code = _HERE / family / "new_algorithm.txt" if kind == "algorithm" else _TEMPLATES / "claim.txt"
    if not code.exists():
        raise InputError("--family", "", f"there is no template of an algorithm for the family {family}")
    texts = {
        "pyproject.toml": _TEMPLATES / "pyproject.txt",
        f"{name}.py": code,
        f"test_{name}.py": _TEMPLATES / f"test_{kind}.txt",
    }
    value = f"{name}:{_class_name(name)}" if kind == "algorithm" else f"{name}:CLAIM"
    words = {
        "NAME": name,
        "CLASS": _class_name(name),
        "FAMILY": family,
        "GROUP": f"ratiobench.{kind}s",
        "ENTRY": f'"{family}.{name}" = "{value}"',
        "MODULES": f'py-modules = ["{name}"]',
    }
    return {path: _filled(file.read_text(encoding="utf-8"), words) for path, file in texts.items()}


def _family(name: str) -> dict[str, str]:
    """The files of a family: the five of `bench/family/five_files.md` under another name, and a test."""
    text = _FAMILY.read_text(encoding="utf-8")
    blocks = re.findall(r"## `queue_family/(\S+)`\n.*?```python\n(.*?)```", text, flags=re.DOTALL)
    changes = (
        ("queue_family", name), ('"queue"', f'"{name}"'), ("ratiobench/queue/1", f"ratiobench/{name}/1"),
        ('f"queue{', f'f"{name}{{'), ("`queue`", f"`{name}`"),
    )  # fmt: skip
    files = {}
    for path, code in blocks:
        for old, new in changes:
            code = code.replace(old, new)
        files[f"{name}/{path}"] = code
    words = {
        "NAME": name, "CLASS": _class_name(name), "FAMILY": name, "GROUP": "ratiobench.families",
        "ENTRY": f'{name} = "{name}"', "MODULES": f'packages = ["{name}"]',
    }  # fmt: skip
    for path, file in (("pyproject.toml", "pyproject.txt"), (f"test_{name}.py", "test_family.txt")):
        files[path] = _filled((_TEMPLATES / file).read_text(encoding="utf-8"), words)
    return files


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _filled(text: str, words: Mapping[str, str]) -> str:
    """The template with its words put in: each stands between two @ signs."""
    return re.sub(r"@([A-Z]+)@", lambda match: words[match[1]], text)


def text(options: New, found: list[Path]) -> Iterator[str]:
    """The files, and what to do with them."""
    folder = found[0].parent if options.kind != "family" else found[0].parents[1]
    yield from map(str, found)
    if options.kind == "family":
        yield "users' algorithms of this family run without isolation (SECURITY.md)"
    yield f"install it: python -m pip install -e {folder}"
    yield f"test it: python -m pytest {folder}"


def document(options: New, found: list[Path]) -> dict[str, Any]:
    """The files."""
    return {"kind": options.kind, "name": options.name, "files": [str(each) for each in found]}


NEW = Command("new", "write a package that adds an algorithm, a family or a claim, with a test that passes", New, run,
              text=text, document=document)  # fmt: skip
