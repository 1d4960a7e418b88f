"""Write pages that follow from the code or from files of the repository, before the documentation is read.

`generated/commands.md` has the commands with their options. Every README of a
folder becomes a page of the guide, with links between READMEs as links between pages, and links to other files as names
of files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

from ratiobench.bench.commands.command import Command, Group
from ratiobench.bench.commands.index import COMMANDS
from ratiobench.bench.options import Switch, defaults_of, flag_of, options_of

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
SECTIONS = {
    "two-commands": "start.md",
    "your-own-algorithm": "tutorials/compare.md",
}
"""Pages that have what a section of the README at the top level has."""
FOLDERS = ("instances", "formulations", "online", "bench")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_IMAGE = re.compile(r'<img\s+(?:align="\w+"\s+)?width="(\d+)"\s+src="([^"]+)"\s+alt="([^"]*)">')


def write_pages(app: Sphinx) -> None:
    """Write all of them into the folder `generated`."""
    (DOCS / "generated").mkdir(exist_ok=True)
    pages = {Path("generated/commands.md"): "\n".join(describe_commands())}
    for file in (each for name in FOLDERS for each in (ROOT / name).rglob("README.md")):
        page = page_of(file)
        assert page is not None
        pages[page] = convert(file.read_text("utf-8"), file, page)
    for old in (DOCS / "generated").glob("*.md"):
        if old.relative_to(DOCS) not in pages:
            old.unlink()
    for page, text in pages.items():
        target = DOCS / page
        if not target.exists() or target.read_text("utf-8") != text:  # an unchanged page is not read again
            target.write_text(text, encoding="utf-8")


def describe_commands() -> Iterator[str]:
    """The lines of the page of commands."""
    yield "# Commands\n\nEvery command is `python -m ratiobench COMMAND`, or `ratiobench COMMAND`.\n"
    yield "`--json` prints one JSON document on standard output where a command has it.\n"
    for each in COMMANDS.values():
        for name, command in _commands(each):
            yield f"## `{name}`\n\n{command.summary[0].upper()}{command.summary[1:]}.\n"
            yield from _options(command)


def _commands(each: Command | Group) -> Iterator[tuple[str, Command]]:
    parts = each.parts if isinstance(each, Group) else (each,)
    for part in parts:
        yield (f"{each.name} {part.name}" if isinstance(each, Group) else each.name), part


def _options(command: Command) -> Iterator[str]:
    yield "| option | values | default | meaning |\n|---|---|---|---|"
    defaults = defaults_of(command.options)
    for name, each in options_of(command.options).items():
        values = "" if isinstance(each.values, Switch) else each.values.range + ", several" * each.several
        spelling = each.metavar if each.positional else f"{flag_of(name)}{' ' * bool(each.metavar)}{each.metavar}"
        cells = (f"`{spelling}`", values, "required" if name not in defaults else each.told, each.summary)
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"
    if command.document is not None:
        yield "| `--json` |  |  | one JSON document on standard output |"
    yield ""


def page_of(file: Path) -> Path | None:
    """The page of the site that shows this file, from the folder of the documentation; None where there is none."""
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS) if file.suffix == ".md" else None
    if file.name == "README.md" and file.relative_to(ROOT).parts[0] in FOLDERS:
        return Path("generated") / f"{'_'.join(file.relative_to(ROOT).parent.parts)}.md"
    return None


def convert(text: str, file: Path, page: Path) -> str:
    """The text of a file with its links and images as its page needs them; blocks of code stay as they are."""

    def relative(target: Path) -> str:
        return Path(os.path.relpath(target, (DOCS / page).parent)).as_posix()

    def link(found: re.Match[str]) -> str:
        label, target = found.groups()
        path, mark, anchor = target.partition("#")
        if "://" in target or not path:
            return found.group(0)
        whole = (file.parent / path).resolve()
        if not whole.exists():  # a page that is written here
            return found.group(0)
        if whole == ROOT / "README.md":
            return f"[{label}]({relative(DOCS / SECTIONS.get(anchor, 'index.md'))})"
        shown = page_of(whole)
        if shown is not None:
            return f"[{label}]({relative(DOCS / shown)}{mark}{anchor})"
        return f"{label} (`{whole.relative_to(ROOT).as_posix()}`)"

    def image(found: re.Match[str]) -> str:
        width, source, alt = found.groups()
        place = relative((file.parent / source).resolve())
        return f"\n```{{image}} {place}\n:width: {width}px\n:alt: {alt}\n```\n"

    def picture(found: re.Match[str]) -> str:
        return f"![{found.group(1)}]({relative((file.parent / found.group(2)).resolve())})"

    blocks = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        each if each.startswith("```") else _IMAGE.sub(image, _PICTURE.sub(picture, _LINK.sub(link, each)))
        for each in blocks
    )


def convert_page(app: Sphinx, name: str, content: list[str]) -> None:
    """Links of a page that is a file of the repository itself."""
    file = DOCS / f"{name}.md"
    if not name.startswith("generated/"):
        content[0] = convert(content[0], file, Path(f"{name}.md"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for files."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", convert_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
