"""How a suite is run: what the function `ratiobench.run` hands to the runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from ratiobench.online.run_context import RunContext, UserAlgorithm

if TYPE_CHECKING:
    from ratiobench.bench.family.contract import Family

SCALES = ("full", "small")
# Those on which no figure depends; all others stand in the command of the provenance
_BESIDE = ("out", "workers", "dask", "fresh", "retry_failed", "quiet", "own")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How to run a suite: which cases, with which algorithms, where to, by whom, with how much work."""

    only: tuple[str, ...] = ()  # only, rows: patterns; tier: names of groups
    tier: tuple[str, ...] = ()
    scale: str = "full"
    rows: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    solve: bool = False
    rerun: bool = False
    repeat: int = 1
    audits: bool | None = None
    effort: int = 1
    limit: float | None = None
    isolate: bool | None = None
    out: Path | None = None
    workers: int | None = None
    dask: str | None = None
    fresh: bool = False
    retry_failed: bool = False
    quiet: bool = False
    # what stands behind the names of `algorithms` that are classes or objects (`ratiobench.online.user_algorithm`).
    own: Mapping[str, UserAlgorithm] = field(default_factory=dict)

    @property
    def named(self) -> tuple[str, ...]:
        """The algorithms that are named, in the order in which they are run."""
        return tuple(dict.fromkeys((*self.algorithms, *self.add)))

    @property
    def folder(self) -> Path:
        if self.out is None:
            raise ValueError("`out` is not set")
        return self.out

    def context(self, family: Family) -> RunContext:
        isolate = family.choose_isolation(self.isolate)
        return RunContext(isolate=isolate, own=self.own, hidden=(str(self.folder.absolute()),))

    def as_words(self) -> list[str]:
        """The options on which figures depend, where they are not at their defaults, as words of a command."""
        words: list[str] = []
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name in _BESIDE or value == option.default:
                continue
            flag = "--algorithm" if option.name == "algorithms" else f"--{option.name}"
            if isinstance(value, bool):
                words.append(flag if value else flag.replace("--", "--no-", 1))
            else:
                values = value if isinstance(value, tuple) else (value,)
                words += [word for one in values for word in (flag, f"{one:g}" if isinstance(one, float) else str(one))]
        return words
