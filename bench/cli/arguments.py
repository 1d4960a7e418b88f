"""Arguments that commands share: options, types of values, the instance that a command is about."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ratiobench.bench.cli.parser import algorithm_names, complete_by, formulation_names
from ratiobench.bench.family.capabilities import SingleNode
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_suite, read_instance
from ratiobench.bench.family.suite import SolveSettings, Suite
from ratiobench.formulations import backends
from ratiobench.formulations.report import UNLIMITED
from ratiobench.instances.errors import InputError, about, not_one_of, shorten
from ratiobench.instances.files import READ_LIMIT, load_json, read_bytes

HIGH_EFFORT = 8
Run = Callable[[argparse.Namespace], int]
Command = Callable[[str, Run, str], argparse.ArgumentParser]
"""Adds a command: its name, what runs it, and a sentence for the help."""


def add_part_of_suite(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--only", metavar="PATTERN", action="append", default=[], help="these cases only (* ? [...]); may be repeated"
    )
    sub.add_argument("--tier", metavar="GROUP", action="append", default=[], help="cases of this group only")
    sub.add_argument(
        "--scale", choices=["full", "small"], default="full", help="small: the suite's figures on small instances"
    )
    sub.add_argument(
        "--over",
        metavar="AXIS",
        action="append",
        default=[],
        type=lambda text: text.split(","),
        help="of a sweep, the parameter that is varied; several with commas, or repeated (`list axes`)",
    )


def find_part(options: argparse.Namespace) -> tuple[Family, Suite]:
    """The suite that the command line names, over the axes that it chooses."""
    family, suite = find_suite(options.suite)
    return family, suite.along([name for names in options.over for name in names])


def add_file(sub: argparse.ArgumentParser) -> argparse.Action:
    """The instance; returns its argument."""
    file = sub.add_argument("file", metavar="FILE", help="instance file, .json or .json.gz; - for standard input")
    add_max_bytes(sub)
    return file


def add_max_bytes(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--max-bytes",
        metavar="N",
        type=up_to(2**50),
        default=READ_LIMIT,
        help=f"most bytes of a file that are read, packed or unpacked ({READ_LIMIT})",
    )


ALGORITHM = "name[:key=value,...], as `list algorithms` names them, or package.module:Class"


_ALGORITHM_OPTIONS = ("-a", "--algorithm", "--algorithms")
"""One option, spelt alike in every command."""


def split_names(text: str) -> list[str]:
    """Split ``a,b:key=value,key=value,...`` into algorithms: a part with an equals sign belongs to the one before."""
    names: list[str] = []
    for part in filter(None, text.split(",")):
        if names and "=" in part.partition(":")[0]:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


class _Several(argparse.Action):
    """Collects algorithms over words, commas and repeated options."""

    def __call__(self, parser: Any, options: Any, values: Any, option: Any = None) -> None:
        found = [name for word in values for name in split_names(word)]
        if not found:
            raise argparse.ArgumentError(self, "none is named")
        setattr(options, self.dest, [*getattr(options, self.dest), *found])


class _Single(argparse.Action):
    """Takes one algorithm; refuses a second one."""

    def __call__(self, parser: Any, options: Any, value: Any, option: Any = None) -> None:
        names = [*filter(None, [getattr(options, self.dest)]), *split_names(value)]
        if not names:
            raise argparse.ArgumentError(self, "none is named")
        if len(names) > 1:
            shown_names = ", ".join(map(shorten, names[:3]))
            raise argparse.ArgumentError(
                self, f"this command takes one algorithm; {len(names)} are named: {shown_names}"
            )
        setattr(options, self.dest, names[0])


def add_algorithm(sub: argparse.ArgumentParser, summary: str = ALGORITHM, *, required: bool = True) -> None:
    """Add the option for one algorithm."""
    option = sub.add_argument(
        *_ALGORITHM_OPTIONS, metavar="NAME", action=_Single, default="", required=required, help=summary
    )
    complete_by(option, algorithm_names)


def add_algorithms(
    sub: argparse.ArgumentParser, positional: argparse.Action, summary: str, *, required: bool = False
) -> None:
    """Add the option for several algorithms.

    Parameters
    ----------
    positional : the command's argument; it may also be the last word behind the option, as in ``online -a A B FILE``.
    """
    positional.nargs = "?"
    sub.takes_last = positional.dest  # type: ignore[attr-defined]
    option = sub.add_argument(
        *_ALGORITHM_OPTIONS,
        metavar="NAME",
        action=_Several,
        nargs="+",
        default=[],
        required=required,
        help=f"{summary}; several behind one option, with commas, or by repeating the option",
    )
    complete_by(option, algorithm_names)


def add_formulation(sub: argparse.ArgumentParser) -> None:
    """Which model of OPT."""
    complete_by(
        sub.add_argument("--formulation", default="auto", metavar="F", help="as `list formulations` names them (auto)"),
        formulation_names,
    )


def add_solving(sub: argparse.ArgumentParser) -> None:
    add_formulation(sub)
    complete_by(
        sub.add_argument(
            "--backend", default="auto", metavar="B", help="solver, of those that the formulation names (auto)"
        ),
        lambda: ("auto", *backends.backends()),
    )
    sub.add_argument("--gap", type=gap, default=0.0, metavar="G", help="relative gap at which to stop")
    sub.add_argument(
        "--effort", type=positive, metavar="N", help="amount of work: 1, or with --seconds as much as they allow"
    )
    sub.add_argument("--seconds", type=seconds, metavar="S", help="time limit; the result is marked time-limited")


def add_no_migration(sub: argparse.ArgumentParser, summary: str) -> None:
    sub.add_argument("--no-migration", action="store_true", help=summary)


def add_answer(sub: argparse.ArgumentParser, more: str = "") -> None:
    sub.add_argument("--json", action="store_true", help=f"one JSON document on standard output{more}")
    sub.add_argument("--solution", metavar="FILE", type=Path, help="write the decisions, for `check`")


def add_isolate(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--isolate", action="store_true", help="run anyone's own algorithm in a sandbox of bubblewrap (Linux)"
    )


def positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:10]) <= 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer in 1..1000000")
    return int(text)


def effort(text: str) -> int:
    if text == "high":
        return HIGH_EFFORT
    try:
        return positive(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error} and not `high`") from None


def up_to(most: int) -> Any:
    def number(text: str) -> int:
        if not text.isdecimal() or len(text) > 18 or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer in 1..{most}")
        return int(text)

    return number


def natural(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer in 0..10^18-1")
    return int(text)


def index(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer from 0 on")
    return int(text)


def seconds(text: str) -> float:
    return _number(text, "a number of seconds above 0", lambda value: 0 < value < float("inf"))


def gap(text: str) -> float:
    return _number(text, "a relative gap in [0, 1), 0 included and 1 not", lambda value: 0 <= value < 1)


def _number(text: str, what: str, allowed: Any) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not allowed(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value


def read_given_instance(path: str) -> tuple[Family, Any]:
    """The instance in a file, and its family, known by the file's format."""
    data, source = read_bytes(path)
    return read_instance(load_json(data, source), source)


def require_formulation(name: str, family: Family) -> None:
    """Refuse a name that is no formulation's, with what was probably meant."""
    known = dict.fromkeys(["auto", *(each.name for each in family.formulations())])
    if name not in known:
        raise InputError("--formulation", "", not_one_of(name, known))


def solve_settings(options: argparse.Namespace, family: Family) -> SolveSettings:
    """The settings of the command line; what does not exist or is not installed is refused at once."""
    require_formulation(options.formulation, family)
    with about("--backend"):
        backends.require_installed(options.backend)
    effort = options.effort or (1 if options.seconds is None else UNLIMITED)
    return SolveSettings(options.formulation, options.backend, effort, options.gap, options.seconds)


def require_single_node(family: Family) -> SingleNode:
    """The family, if its tasks can be kept on one node; InputError otherwise."""
    if family.single_node is None:
        raise InputError("--no-migration", "", f"in the family {family.name} no task moves from node to node")
    return family.single_node
