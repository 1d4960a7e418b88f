"""The table of options in bench/README.md, from the options of the commands.

`python -m tests.tools.options_table` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ratiobench.bench.commands.command import Command, Group
from ratiobench.bench.commands.index import COMMANDS
from ratiobench.bench.options import Switch, defaults_of, flag_of, options_of

README = Path(__file__).resolve().parents[2] / "bench" / "README.md"
BEGIN, END = "<!-- options -->\n", "\n<!-- /options -->"


def table() -> str:
    """A row per option and meaning: spelling, values, default, meaning, commands."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for name, command in _commands():
        for key in _rows(command):
            rows.setdefault(key, []).append(name)
        if command.document is not None:
            key = ("`--json`", "", "", "one JSON document on standard output")
            rows.setdefault(key, []).append(name)
    lines = ["| option | values | default | meaning | commands |", "|---|---|---|---|---|"]
    for key, names in sorted(rows.items()):
        lines.append("| " + " | ".join([*(cell.replace("|", "\\|") for cell in key), ", ".join(names)]) + " |")
    return "\n".join(lines)


def _commands() -> Iterator[tuple[str, Command]]:
    for each in COMMANDS.values():
        if isinstance(each, Group):
            yield from ((f"{each.name} {part.name}", part) for part in each.parts)
        else:
            yield each.name, each


def _rows(command: Command) -> Iterator[tuple[str, str, str, str]]:
    defaults = defaults_of(command.options)
    for name, each in options_of(command.options).items():
        if each.positional:
            continue
        values = "" if isinstance(each.values, Switch) else each.values.range + ", several" * each.several
        default = "required" if name not in defaults else each.told
        yield f"`{flag_of(name)}{' ' * bool(each.metavar)}{each.metavar}`", values, default, each.summary


def between_marks(text: str) -> str:
    """The table that stands in a text."""
    return text.partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    """Write the table into the README."""
    text = README.read_text(encoding="utf-8")
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise SystemExit(f"{README} has no marks {BEGIN.strip()} and {END.strip()}")
    README.write_text(before + mark + table() + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
