"""Suites: cases, studies and figures, as records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from msgspec import Meta

from ratiobench.instances.io.documents import Name, Number, Part
from ratiobench.instances.io.errors import InputError, require_known

# Group of instances that were searched for to violate a claim about one algorithm; significance leaves them out
COUNTEREXAMPLES = "counterexamples"


@dataclass(frozen=True, slots=True)
class SolveSettings:
    formulation: str = "auto"  # formulation, backend: names, or ``auto``
    backend: str = "auto"
    effort: int = 1  # work units (never seconds), the same figures on any machine
    gap: float = 0.0  # relative gap at which to stop early
    seconds: float | None = None  # a time limit by hand; marks the report `time_limited`


REPEATS = 1000  # Most runs of one algorithm on one instance
YESTERDAY = "prior=yesterday"  # constants come from the case's `prior`, not from the instance under test
HISTORY = "prior=history"  # The same, where the `prior` is the days before the one under test


# `history=` is an option of registered algorithms, whose names have no colon before their options
_INFORMED = re.compile(r"(?:[:,]prior=|^[^:,]+:(?:[^:]*,)?history=)(yesterday|history)(?:,|$)")


def is_informed(algorithm: str) -> str:
    """The word in the algorithm's name that stands for the case's `prior`; empty if there is none."""
    found = _INFORMED.search(algorithm)
    return found[1] if found else ""


class Study(Part, frozen=True):
    kind: Name  # what the family makes: ``curve``, ``charges``, ...
    algorithm: Name  # name with options
    task: Number | None = None  # its number; None for all

    @property
    def name(self) -> str:
        """What identifies it on an instance, but for the algorithm's version."""
        return f"{self.kind} {'' if self.task is None else f'task {self.task} '}{self.algorithm}"


@dataclass(frozen=True, slots=True)
class Case:
    name: str  # unique in the suite
    recipe: Mapping[str, Any]  # what `Family.generate` needs to make the instance (JSON values)
    algorithms: tuple[str, ...]  # names with options, in the order of the table
    solve: SolveSettings = SolveSettings()  # the settings of the reference
    group: str = "all"  # cases of one group are comparable; means are taken within a group
    prior: Mapping[str, Any] | None = None  # recipe of the instance that `YESTERDAY` or `HISTORY` stands for
    studies: tuple[Study, ...] = ()  # tables to be made beside the runs
    history: Mapping[str, Any] | None = None  # recipe of several days before, which `HISTORY` stands for instead
    certificate: str = ""  # ``SET/ENTRY`` whose certificate gives the reference; empty: it is solved

    @property
    def all_algorithms(self) -> tuple[str, ...]:
        return (*self.algorithms, *(study.algorithm for study in self.studies))

    def is_served(self, algorithm: str) -> bool:
        word = is_informed(algorithm)
        return not word or self.prior is not None or (word == "history" and self.history is not None)


Printed = Annotated[str, Meta(pattern=r"^-?[0-9]{1,15}(\.[0-9]{1,9})?$", title='a number as text, such as "12.5"')]


class PrintedGain(Part, frozen=True):
    group: Name  # name of the group of cases
    algorithm: Name  # algorithm, than: names of the two algorithms
    than: Name
    percent: Printed


class PrintedMean(Part, frozen=True):
    group: Name  # name of the group of cases
    algorithm: Name  # its name
    value: Printed  # in the family's unit, as it is printed


# Kinds of figures that show means of what every family has (`ratiobench.bench.results.means`)
QUANTITIES = ("welfare", "reached", "ratio", "revenue", "admitted", "seconds", "deciding")
LEADERBOARD = "leaderboard"
STUDIED = ("curve", "charges")  # Kinds of figures that show studies of that kind (`ratiobench.bench.report.figures`)
SWEEP = "sweep"  # The kind of figure that shows ratios over the values of a parameter
SHARE_OF_OPT, PROFILE = TAKEN = ("share-of-opt", "profile")  # Pictures of every report; no figure has such a name


@dataclass(frozen=True, slots=True)
class Plot:
    name: str  # of its files and its place on the page
    title: str  # its heading
    kind: str  # a quantity, a measure of the family, or a kind of its own
    groups: tuple[str, ...]  # places on its axis, in order
    axis: str  # what the groups vary
    algorithms: tuple[str, ...] = ()  # those that it shows; empty for all
    printed: tuple[PrintedGain, ...] = ()  # printed, printed_means: what the paper prints for it
    note: str = ""  # a sentence below it
    hindsight: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (label, algorithms): the best of each case
    printed_means: tuple[PrintedMean, ...] = ()


@dataclass(frozen=True, slots=True)
class Axis:
    name: str  # as `run SUITE --over` names it
    title: str  # of the figure's axis, with the unit
    summary: str  # what a value means and what else is kept, in a sentence or two
    # several of each value, the values in order; the group of a case is the name and the value (``nodes 4``).
    cases: tuple[Case, ...]
    small: tuple[Case, ...] = ()  # the same with fewer values and cases (`--scale small`)

    def plot(self, cases: Sequence[Case]) -> Plot:
        groups = tuple(dict.fromkeys(case.group for case in cases))
        heading = f"OPT/ALG over {self.title}, mean of the runs"
        return Plot(f"sweep_{self.name}", heading, SWEEP, groups, self.title, note=self.summary)


@dataclass(frozen=True, slots=True)
class Suite:
    name: str  # name, summary: for `list` and the page
    summary: str
    cases: tuple[Case, ...]  # in the order of the tables
    plots: tuple[Plot, ...] = ()  # figures made of them beside those that every suite has
    small: tuple[Case, ...] = ()  # the same groups at a small scale (`run --scale small`)
    groups: Mapping[str, str] = field(default_factory=dict)  # groups in words (``real arrivals``)
    verdicts_first: bool = False  # whether the page begins with the verdicts on claims, not with shares of OPT
    repeat: int = 1  # how many times algorithms that draw are run on each case, at least
    audited: bool = True  # whether claims are checked on every run, where the command does not say
    crosscheck: bool = False  # several solvers solve the program as printed, too (`Family.solve_printed`)
    file: str = ""  # the file that the suite was read from; empty for a shipped one
    axes: tuple[Axis, ...] = ()  # of a sweep, the parameters that `--over` can choose
    over: tuple[str, ...] = ()  # names of the axes that were chosen; empty for the suite's own `cases`

    def select_axes(self, names: Sequence[str]) -> Suite:
        """The suite with the cases of these axes; with its own cases without names."""
        if not names:
            return self
        known = {axis.name: axis for axis in self.axes}
        if not known:
            raise InputError("--over", "", f"the suite {self.name} varies no parameter")
        for name in names:
            require_known(name, known, "--over")
        chosen = [known[name] for name in dict.fromkeys(names)]
        return replace(
            self,
            cases=tuple(case for axis in chosen for case in axis.cases),
            plots=tuple(axis.plot(axis.cases) for axis in chosen),
            small=tuple(case for axis in chosen for case in axis.small),
            over=tuple(axis.name for axis in chosen),
        )
