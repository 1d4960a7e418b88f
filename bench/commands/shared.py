"""What commands share; what not every command needs is imported where it is used."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.registry import family_of, read_instance
from ratiobench.bench.results import ratios
from ratiobench.formulations.report import UNLIMITED, Exact
from ratiobench.instances.io.errors import InputError, name_source, require_known
from ratiobench.instances.io.files import load_json, read_bytes, write_atomically

if TYPE_CHECKING:
    from ratiobench.bench.family.contract import Family
    from ratiobench.bench.family.suite import SolveSettings
    from ratiobench.online.outcome import OnlineRun
    from ratiobench.online.run_context import RunContext

PICTURE = ".svg"
VIOLATIONS = 5  # So many rules that a run broke are shown by `audit`; `simulate` shows all


def read_given(given: Any, cost: str | None = None) -> tuple[Family, Any]:
    """Find the instance and its family: of a file by its format, of an object by the family that can write it."""
    if isinstance(given, str | os.PathLike):
        data, source = read_bytes(given)
        family, instance = read_instance(load_json(data, source), source)
    else:
        family, instance = family_of(given), given
    return family, instance if cost is None else family.with_cost(instance, cost)


def folders_of(*given: Any) -> tuple[str, ...]:
    """The folders of the files among these."""
    paths = [each for each in given if isinstance(each, str | os.PathLike) and str(each) not in ("", "-")]
    return tuple(sorted({str(Path(each).absolute().parent) for each in paths}))


@contextlib.contextmanager
def name_the_file(file: Any, instance: Any) -> Iterator[None]:
    """An error that names the instance names its file instead, where there is one."""
    try:
        yield
    except InputError as error:
        if isinstance(file, str | os.PathLike) and error.source in ("", getattr(instance, "name", None)):
            raise InputError(str(file), error.field, error.problem) from None
        raise


def user_context(family: Family, isolate: bool | None, own: Mapping[str, Any], *files: Any) -> RunContext:
    """The context of runs, with a sandbox that does not show the folders of these files."""
    from ratiobench.online.run_context import RunContext

    return RunContext(isolate=family.choose_isolation(isolate), own=own, hidden=folders_of(*files))


def solve_settings(
    family: Family, formulation: str, backend: str, gap: float, effort: int | None, seconds: float | None
) -> SolveSettings:
    """The settings of a solve; a formulation or solver that does not exist or is not installed is refused at once."""
    from ratiobench.bench.family.suite import SolveSettings
    from ratiobench.formulations import backends

    require_known(formulation, dict.fromkeys(["auto", *dict(family.formulations())]), "--formulation")
    with name_source("--backend"):
        backends.require_installed(backend)
    return SolveSettings(formulation, backend, amount_of(effort, seconds), gap, seconds)


def amount_of(effort: int | None, seconds: float | None) -> int:
    """Units of work: those given, or 1, or with a time limit as many as it allows."""
    return effort or (1 if seconds is None else UNLIMITED)


def interval_text(lower: Exact, upper: Exact, unit: str, text: str = "") -> str:
    """OPT, or its interval and the gap."""
    gap = "" if lower == upper else f", gap {ratios.percent(ratios.gap(lower, upper))}"
    return f"OPT{text} {'in' if gap else '='} {ratios.ends_text(lower, upper)} {unit}{gap}"


def ends_document(report: Any) -> dict[str, Any]:
    """The ends of the interval on OPT of a report or certificate as JSON values."""
    from ratiobench.bench.storage.payload import json_number

    return {"lower": json_number(report.lower), "upper": json_number(report.upper)}


def ratio_document(ratio: ratios.Ratio | None) -> dict[str, Any] | None:
    """A ratio as JSON values, exact."""
    if ratio is None:
        return None
    ends = {end: None if getattr(ratio, end) is None else str(getattr(ratio, end)) for end in ("lower", "upper")}
    return {"kind": ratio.kind.value, **ends}


def violation_lines(run: OnlineRun, most: int = VIOLATIONS) -> Iterator[str]:
    """The first rules that a run broke, and how many more there are."""
    for violation in run.violations[:most]:
        yield f"INVALID: {violation}"
    if len(run.violations) > most:
        yield f"INVALID: {len(run.violations) - most} more"


def require_gantt(family: Family, instead: str = "") -> None:
    """Refuse to draw the schedules of a family that has no charts."""
    if family.gantt is None:
        raise InputError("--timeline", "", f"the family {family.name} has no Gantt charts{instead}")


def write_solution(path: Path | None, family: Family, instance: Any, solution: Any) -> None:
    """Write a solution, by the suffix of its file in another format of the family."""
    if path is not None:
        other = family.solution_formats.get(path.suffix.lower())
        text = other(instance, solution) if other else json.dumps(family.solution_document(solution)) + "\n"
        write_atomically(path, text.encode())


def write_timeline(
    path: Path,
    family: Family,
    instance: Any,
    source: Any,
    runs: Sequence[OnlineRun],
    best: tuple[Exact, Exact | None, Any] | None = None,
) -> None:
    """Write the page of time lines, or the Gantt chart alone as a picture."""
    from ratiobench.bench.report.timeline import draw_gantt, render_timelines

    if path.suffix.lower() == PICTURE:
        assert family.gantt is not None
        solution = runs[0].decisions if runs or best is None else best[2]
        try:
            draw_gantt(family.gantt(instance, solution)).save(path)
        except InputError as error:
            raise InputError("--timeline", "", error.problem) from None
    else:
        name = str(getattr(instance, "name", "") or Path(str(source)).name)
        write_atomically(path, render_timelines(family, instance, name, runs, best).encode())
