"""The command `warm`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ratiobench.bench.commands.command import Command
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.options import Options, Text, argument


@dataclass(frozen=True, kw_only=True)
class Warm(Options):
    """Options of `warm`."""

    suites: tuple[str, ...] = argument("compile only the kernels of these suites", Text(), "SUITE", several=True)


def run(options: Warm) -> None:
    """Compile what the suites need, or all."""
    from ratiobench.bench.running import kernel_record
    from ratiobench.bench.running.kernel_compilation import compile_all

    chosen: dict[str, Collection[str] | None] = {}
    for name in options.suites:
        family, suite = find_suite(name)
        runs = [run for case in suite.cases for run in (*case.algorithms, *(study.algorithm for study in case.studies))]
        chosen[family.name] = list(dict.fromkeys([*(chosen.get(family.name) or ()), *runs]))
    todo = chosen or dict.fromkeys(families())
    compile_all(todo)
    for family_name, names in todo.items():
        kernel_record.record_compiled(family_name, names)


WARM = Command(Warm, run)
