"""Write what follows from the code or from data files of the repository, before the documentation is read.

`generated/commands.md` has the commands with their options, `generated/algorithms.md` the algorithms with theirs.
`results/standard.md` includes the tables of the standard sets, `generated/standard-NAME.txt`, and `results/index.md`
the runs behind committed figures, `generated/runs.txt`. A link from a page to a file outside this folder, such as
LICENSE or a module, becomes the name of the file, since the built site has no such file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.arguments import NEEDED, Switch, options_of
from ratiobench.bench.cli import default_text, find_command, list_commands
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import read_set, shipped_sets
from ratiobench.bench.report.standard import describe_set

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def write_pages(app: Sphinx) -> None:
    """Write the generated files; one that has not changed is left alone, so that it is not read again."""
    folder = DOCS / "generated"
    folder.mkdir(exist_ok=True)
    texts = {
        "algorithms.md": "\n".join(describe_algorithms()),
        "commands.md": "\n".join(describe_commands()),
        "runs.txt": "\n".join(describe_runs()) + "\n",
        **{f"standard-{name}.txt": describe_set(read_set(name), families()) for name in shipped_sets()},
    }
    for old in folder.iterdir():
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        if not (folder / name).exists() or (folder / name).read_text("utf-8") != text:
            (folder / name).write_text(text, encoding="utf-8")


def describe_commands() -> Iterator[str]:
    """The lines of the page of commands."""
    yield "# Commands\n\nEvery command is `python -m ratiobench COMMAND`, or `ratiobench COMMAND`.\n"
    yield "`--json` prints one JSON document on standard output where a command has it.\n"
    for name, summary in list_commands().items():
        yield f"## `{name}`\n\n{summary[0].upper()}{summary[1:]}.\n"
        yield from _options(find_command(name))


def _options(function: Any) -> Iterator[str]:
    yield "| option | values | default | meaning |\n|---|---|---|---|"
    for option in options_of(function).values():
        if option.hidden:
            continue
        values = "" if isinstance(option.values, Switch) else option.values.range.replace("|", " | ")
        values += ", several" * option.several
        spelling = f"{option.spelling} {option.metavar}".rstrip() if option.flags else option.metavar
        default = "required" if option.default is NEEDED else default_text(option.default)
        yield _table_row((f"`{spelling}`", values, default, option.meaning))
    if function.json:
        yield "| `--json` |  |  | one JSON document on standard output |"
    yield ""


def describe_algorithms() -> Iterator[str]:
    """The lines of the page of options of algorithms."""
    yield "# Options of algorithms\n\nAn algorithm is named `NAME`, or `NAME:OPTION=VALUE,OPTION=VALUE`. `...` is"
    yield "a number, a name or a file. `list algorithms NAME` prints the same.\n"
    for family in families().values():
        tables = {each.name: family.describe_options(each.name) for each in family.algorithms()}
        without = [f"`{name}`" for name, rows in tables.items() if not rows]
        yield f"## Family `{family.name}`\n"
        if without:
            yield f"Without options: {', '.join(without)}.\n"
        for name, rows in tables.items():
            if rows:
                yield f"### `{name}`\n\n| option | values | default | meaning |\n|---|---|---|---|"
                for row in rows:
                    cells = (f"`{row['name']}`", row["values"].replace("|", " | "), row["default"], row["meaning"])
                    yield _table_row(cells)
                yield ""


def _table_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"


def describe_runs() -> Iterator[str]:
    """The table of the runs of which figures are committed: suite, rows, cases, date and commit."""
    yield "| family | suite | rows | cases | date | commit |\n|---|---|---|---|---|---|"
    for file in sorted(ROOT.glob("bench/*/results/*_provenance.json")):
        about = json.loads(file.read_text("utf-8"))
        rows = ", ".join(f"`{pattern}`" for pattern in about.get("rows", [])) or "all"
        commit = about["provenance"]["code"]["commit"][:7]
        cells = (file.parts[-3], f"`{about['suite']}`", rows, str(about["cases"]), about.get("date", ""), f"`{commit}`")
        yield f"| {' | '.join(cells)} |"


def convert_links(text: str, file: Path) -> str:
    """The text of a page with links to files outside the documentation as names; blocks of code stay as they are."""

    def link(found: re.Match[str]) -> str:
        label, target = found.groups()
        path = target.partition("#")[0]
        whole = (file.parent / path).resolve()
        if "://" in target or not path or whole.is_relative_to(DOCS) or not whole.exists():
            return found.group(0)
        name = whole.relative_to(ROOT).as_posix()
        return f"`{name}`" if label.strip("`") in (name, whole.name) else f"{label} (`{name}`)"

    blocks = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(each if each.startswith("```") else _LINK.sub(link, each) for each in blocks)


def convert_page(app: Sphinx, name: str, content: list[str]) -> None:
    """Convert the links of a page."""
    content[0] = convert_links(content[0], DOCS / f"{name}.md")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the files before Sphinx looks for pages."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", convert_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
