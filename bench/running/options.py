"""How a suite is run: options of the command `run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.options import (
    EFFORT,
    REPEATS,
    SECONDS,
    Choice,
    EffortFactor,
    File,
    Integer,
    Options,
    Switch,
    Text,
    option,
    switch,
)
from ratiobench.online.run_context import RunContext, UserAlgorithm

if TYPE_CHECKING:
    from ratiobench.bench.family.contract import Family

SCALES = ("full", "small")
ALGORITHM = "name[:key=value,...], as `list algorithms` names them, or package.module:Class"


def one_algorithm(summary: str, default: Any = MISSING, text: str | None = None) -> Any:
    """The option for an algorithm; it has the same spellings in every command."""
    flags = ("-a", "--algorithms")
    return option(summary, Text(), "NAME", default=default, told=text, flags=flags)


def several_algorithms(summary: str, default: Any = MISSING, *, figures: bool = False) -> Any:
    """The option for some algorithms, with the same spellings."""
    flags = ("-a", "--algorithm")
    return option(summary, Text(), "NAME", default=default, several=True, flags=flags, figures=figures)


@dataclass(frozen=True, kw_only=True)
class PartOfSuite(Options):
    """Which cases of a suite."""

    only: tuple[str, ...] = option(
        "only the cases with these names (* ? [...])", Text(), "PATTERN", several=True, figures=True
    )
    tier: tuple[str, ...] = option("only the cases of these groups", Text(), "GROUP", several=True, figures=True)
    scale: str = option(
        "size of the instances; small: a small version of the suite", Choice(SCALES), default="full", figures=True
    )


def isolation(**about: Any) -> Any:
    """The option `isolate` of commands that run users' algorithms."""
    return option(
        "run users' algorithms in a sandbox (Linux), or do not; by default where bubblewrap or Landlock works, but "
        "never those of a family that is no part of ratiobench",
        Switch(),
        **about,
    )


@dataclass(frozen=True, kw_only=True)
class CaseOptions(PartOfSuite):
    """Which cases are run with which algorithms, and how often."""

    rows: tuple[str, ...] = option(
        "run only these of the suite's algorithms (* ? [...])", Text(), "PATTERN", several=True, figures=True
    )
    algorithms: tuple[str, ...] = several_algorithms(
        f"algorithms to run in every case, without those of the suite: {ALGORITHM}", (), figures=True
    )
    add: tuple[str, ...] = option(
        "algorithms to run in every case, in addition to those of the suite", Text(), "NAME", several=True, figures=True
    )
    solve: bool = switch("compute OPT also where a shipped certificate proves it", figures=True)
    rerun: bool = switch("run shipped algorithms also where their runs are stored with a standard set", figures=True)
    repeat: int = option(
        "runs of each randomised algorithm, of which means are taken", Integer(1, REPEATS), "N", default=1, figures=True
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(CaseOptions):
    """How to run a suite: which cases, where to, by whom, with how much work."""

    audits: bool | None = option(
        "check the claims on every run, or do not (by default not in the standard sets)", Switch(), figures=True
    )
    effort: int = option(
        "multiple of the suite's work on OPT; `high` is 8", EffortFactor(), "N", default=1, figures=True
    )
    limit: float | None = option("time limit of each solve and each run, in seconds", SECONDS, "S", figures=True)
    isolate: bool | None = isolation(figures=True)
    out: Path | None = option("folder of the results", File(), "DIR", told="results/SUITE")
    workers: int | None = option("worker processes", EFFORT, "N", told="one per core")
    dask: str | None = option("address of a dask scheduler, to use in place of local processes", Text(), "ADDRESS")
    fresh: bool = switch("delete earlier results")
    retry_failed: bool = switch("repeat solves and runs that failed")
    quiet: bool = switch("print no progress")
    # what stands behind the names of `algorithms` that are classes or objects (`ratiobench.online.user_algorithm`).
    own: Mapping[str, UserAlgorithm] = field(default_factory=dict)

    @property
    def named(self) -> tuple[str, ...]:
        """The algorithms that are named, in the order in which they are run."""
        return tuple(dict.fromkeys((*self.algorithms, *self.add)))

    @property
    def folder(self) -> Path:
        """The folder of the results, which is known when a suite is run."""
        if self.out is None:
            raise ValueError("`out` is not set")
        return self.out

    def context(self, family: Family) -> RunContext:
        """The context of its online runs."""
        isolate = family.choose_isolation(self.isolate)
        return RunContext(isolate=isolate, own=self.own, hidden=(str(self.folder.absolute()),))
