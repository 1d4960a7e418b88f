"""What commands share: the instance, how hard OPT is looked for, the part of a suite."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ratiobench.bench.family.registry import family_of, find_suite, read_instance
from ratiobench.bench.family.suite import SolveSettings, Suite
from ratiobench.bench.options import EFFORT, GAP, SECONDS, InstanceOrFile, Options, Text, argument, option
from ratiobench.bench.running.options import PartOfSuite, isolation
from ratiobench.instances.io.errors import InputError, explain_unknown_name, name_source
from ratiobench.instances.io.files import load_json, read_bytes
from ratiobench.online.run_context import RunContext, UserAlgorithm

if TYPE_CHECKING:
    from ratiobench.bench.family.capabilities import Certificates
    from ratiobench.bench.family.contract import Family

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class InstanceOptions(Options):
    """The instance that a command is about."""

    file: Any = argument("instance file, .json or .json.gz; - for standard input", InstanceOrFile(), "FILE")
    cost: str | None = option("cost by which solutions are judged, of a family with several", Text(), "COST")

    def read(self) -> tuple[Family, Any]:
        """The family and the instance, with the cost that is chosen."""
        family, instance = read_given(self.file)
        return family, instance if self.cost is None else family.with_cost(instance, self.cost)


@dataclass(frozen=True, kw_only=True)
class IsolationOptions(Options):
    """How users' algorithms run."""

    isolate: bool | None = isolation()
    own: Mapping[str, UserAlgorithm] = field(default_factory=dict)  # the classes and objects to which names refer

    def context(self, family: Family, *files: Any) -> RunContext:
        """The context of runs, with a sandbox that does not show the folders of these files."""
        return RunContext(isolate=family.choose_isolation(self.isolate), own=self.own, hidden=folders_of(*files))


@dataclass(frozen=True, kw_only=True)
class FormulationOptions(Options):
    """Which model of OPT."""

    formulation: str = option("model of OPT, as `list formulations` names them", Text(), "F", default="auto")


@dataclass(frozen=True, kw_only=True)
class SolveOptions(FormulationOptions):
    """How hard OPT is looked for."""

    backend: str = option("solver, one of those of the formulation", Text(), "B", default="auto")
    gap: float = option("relative gap at which to stop", GAP, "G", default=0.0)
    effort: int | None = option("units of work; by default 1, with --seconds as many as fit into the time", EFFORT, "N")
    seconds: float | None = option("time limit in seconds; the result is marked time-limited", SECONDS, "S")

    def settings(self, family: Family) -> SolveSettings:
        """The settings of a solve; what does not exist or is not installed is refused at once."""
        from ratiobench.formulations import backends

        require_formulation(self.formulation, family)
        with name_source("--backend"):
            backends.require_installed(self.backend)
        return SolveSettings(
            self.formulation, self.backend, amount_of(self.effort, self.seconds), self.gap, self.seconds
        )


@dataclass(frozen=True, kw_only=True)
class SuitePartOptions(PartOfSuite):
    """The part of a suite, and of a sweep its axes."""

    suite: str = argument("suite, as `list suites` names them, or FILE.toml", Text(), "SUITE")
    over: tuple[str, ...] = option("parameters that a sweep varies", Text(), "AXIS", several=True)

    def find(self) -> tuple[Family, Suite]:
        """The suite over the axes that are chosen."""
        family, suite = find_suite(self.suite)
        return family, suite.select_axes(self.over)


def amount_of(effort: int | None, seconds: float | None) -> int:
    """Units of work: those given, or 1, or with a time limit as many as it allows."""
    from ratiobench.formulations.report import UNLIMITED

    return effort or (1 if seconds is None else UNLIMITED)


def select_fields(kind: type[_T], options: Options, **others: Any) -> _T:
    """A dataclass of settings whose fields are options of the same names, or among the others."""
    given = {each.name: getattr(options, each.name) for each in fields(kind) if hasattr(options, each.name)}  # type: ignore[arg-type]
    return kind(**given | others)


def read_given(given: Any) -> tuple[Family, Any]:
    """Find the instance and its family: of a file by its format, of an object by the family that can write it."""
    if isinstance(given, str | os.PathLike):
        data, source = read_bytes(given)
        return read_instance(load_json(data, source), source)
    return family_of(given), given


def folders_of(*given: Any) -> tuple[str, ...]:
    """The folders of the files among these."""
    paths = [each for each in given if isinstance(each, str | os.PathLike) and str(each) not in ("", "-")]
    return tuple(sorted({str(Path(each).absolute().parent) for each in paths}))


def require_formulation(name: str, family: Family) -> None:
    """Refuse a name that is no formulation's, with what was probably meant."""
    known = dict.fromkeys(["auto", *dict(family.formulations())])
    if name not in known:
        raise InputError("--formulation", "", explain_unknown_name(name, known))


def require_certificates(family: Family, source: str = "--certificate") -> Certificates:
    """The family's certificates; InputError where it has none."""
    if family.certificates is None:
        raise InputError(source, "", f"the family {family.name} has no certificates")
    return family.certificates


def require_claims(names: Sequence[str], family: Family) -> None:
    """Refuse a name that is no claim's of those that are checked on runs."""
    if family.claims is None:
        return
    known = [each.name for each in family.statements() if not each.proof]
    for name in names:
        if name not in known:
            raise InputError("--claim", "", explain_unknown_name(name, known, "list claims"))
