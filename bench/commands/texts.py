"""Texts that commands share, and the files that they write."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.results import ratios
from ratiobench.bench.storage.payload import json_number
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import check_writable, write_atomically

if TYPE_CHECKING:
    from ratiobench.bench.family.contract import Family
    from ratiobench.formulations.report import Exact
    from ratiobench.online.outcome import OnlineRun

PICTURE = ".svg"
VIOLATIONS = 5  # So many rules that a run broke are shown by `audit`; `simulate` shows all


def interval_text(lower: Exact, upper: Exact, unit: str, text: str = "") -> str:
    """OPT, or its interval and the gap."""
    if lower == upper:
        return f"OPT{text} = {ratios.format_truncated(upper)} {unit}"
    gap = ratios.percent(ratios.gap(lower, upper))
    return f"OPT{text} in [{ratios.format_number(lower)}, {ratios.format_number(upper, up=True)}] {unit}, gap {gap}"


def require_writable(*paths: Path | None) -> None:
    """Refuse, before the work and not after it, files that cannot be written."""
    for path in paths:
        if path is not None:
            check_writable(path)


def write_solution(path: Path | None, family: Family, instance: Any, solution: Any) -> None:
    """Write a solution, by the suffix of its file in another format of the family."""
    if path is not None:
        other = family.solution_formats.get(path.suffix.lower())
        text = other(instance, solution) if other else json.dumps(family.solution_document(solution)) + "\n"
        write_atomically(path, text.encode())


def require_gantt(path: Path | None, family: Family, schedules: int = 1) -> None:
    """Refuse a Gantt chart alone, a file of pictures, of a family without or of several schedules."""
    if path is None or path.suffix.lower() != PICTURE:
        return
    if family.gantt is None:
        raise InputError("--timeline", "", f"the family {family.name} has no Gantt charts; name a page, FILE.html")
    if schedules != 1:
        raise InputError("--timeline", "", f"{PICTURE} is the chart of one algorithm, not of {schedules}")


def write_timeline(
    path: Path,
    family: Family,
    instance: Any,
    source: Any,
    runs: Sequence[OnlineRun],
    best: tuple[Exact, Exact | None, Any] | None = None,
) -> None:
    """Write the page of time lines, or the Gantt chart alone as a picture."""
    if path.suffix.lower() == PICTURE:
        from ratiobench.bench.report.timeline import draw_gantt

        assert family.gantt is not None
        solution = runs[0].decisions if runs or best is None else best[2]
        try:
            draw_gantt(family.gantt(instance, solution)).save(path)
        except InputError as error:
            raise InputError("--timeline", "", error.problem) from None
    else:
        from ratiobench.bench.report.timeline import BestSolution, render_timelines

        name = str(getattr(instance, "name", "") or Path(str(source)).name)
        text = render_timelines(family, instance, name, runs, None if best is None else BestSolution(*best))
        write_atomically(path, text.encode())


@contextlib.contextmanager
def name_the_file(file: Any, instance: Any) -> Iterator[None]:
    """An error that names the instance names its file instead, where there is one."""
    try:
        yield
    except InputError as error:
        if isinstance(file, str | os.PathLike) and error.source in ("", getattr(instance, "name", None)):
            raise InputError(str(file), error.field, error.problem) from None
        raise


def write_csv(path: Path | None, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as a CSV file, exact figures as integers and fractions; columns in the order of their first row."""
    if path is None:
        return
    text = io.StringIO()
    table = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def format_missing(value: Any) -> Any:
    """What there is none of, as text output shows it."""
    return "-" if value is None else value


def proof_status_text(family: Family, run: OnlineRun) -> str:
    """What the run was shown of earlier days, and what is proved of its algorithm; empty where nothing is known."""
    text = [f"history: {run.history}"] if run.history else []
    text += [f"{name}: {value}" for name, value in family.proof_status(run.algorithm).items()]
    return "; ".join(text)


def run_lines(run: OnlineRun, called: str, unit: str, tasks: int, account: str, standing: str) -> Iterator[str]:
    """A run in full: what it earned, and what is known of its algorithm."""
    yield f"{run.label}: {called} {ratios.format_truncated(run.welfare)} {unit}, admitted {run.admitted} of {tasks}"
    if standing:
        yield standing
    if account:
        yield account
    elif run.revenue is not None:
        yield f"revenue {ratios.format_truncated(run.revenue)} {unit}"
    for constant in run.constants:
        source = ", ".join(filter(None, (constant.source, constant.detail)))
        about = f", about {float(constant.value):.6g}" if constant.value.denominator > 1 else ""
        yield f"constant {constant.name} = {constant.value}{about} ({source})"
    yield from violation_lines(run, len(run.violations))
    # It is unknown for a user's algorithm, and nothing here depends on it.
    arithmetic = "" if run.arithmetic == "unknown" else f"arithmetic {run.arithmetic}, "
    yield f"{arithmetic}{run.seconds:.3f} s from the start of the algorithm to its last decision"


def account_of(family: Family, instance: Any, run: OnlineRun) -> dict[str, Exact] | None:
    """What a valid run earned and spent, and its profit; None where the family does not say."""
    if family.accounts is None or not run.valid:
        return None
    found = dict(family.accounts(instance, run))
    earned = found["bids"] if run.revenue is None else run.revenue
    return found | {"profit": earned - found["vendors"] - found["energy"]}


def profit_text(family: Family, run: OnlineRun, account: dict[str, Exact]) -> str:
    """The profit in the family's money; where nobody pays, what list prices, the bids, would bring."""
    from ratiobench.bench.show import value_text

    return value_text(account["profit"], family) + " (list prices)" * (run.revenue is None)


def account_text(family: Family, instance: Any, run: OnlineRun) -> str:
    """Revenue, cost and profit in the family's money; empty where the family does not say."""
    from ratiobench.bench.show import value_text

    account = account_of(family, instance, run)
    if account is None:
        return ""
    earned = account["bids"] if run.revenue is None else run.revenue
    paid = "at list prices (the bids) " if run.revenue is None else ""
    cost = account["vendors"] + account["energy"]
    text = f"revenue {value_text(earned, family)}, cost {value_text(cost, family)}"
    return f"{paid}{text}, profit {value_text(account['profit'], family)}"


def verdict_of(run: OnlineRun) -> dict[str, Any]:
    return {"valid": run.valid, "violations": [str(violation) for violation in run.violations]}


def violation_lines(run: OnlineRun, most: int = VIOLATIONS) -> Iterator[str]:
    """The first rules that a run broke, and how many more there are."""
    for violation in run.violations[:most]:
        yield f"INVALID: {violation}"
    if len(run.violations) > most:
        yield f"INVALID: {len(run.violations) - most} more"


def ratio_document(found: ratios.Ratio) -> dict[str, Any]:
    """A ratio as JSON values, exact."""
    ends = {end: None if getattr(found, end) is None else str(getattr(found, end)) for end in ("lower", "upper")}
    return {"kind": found.kind.value, **ends}


def exact_document(found: Mapping[str, Any]) -> dict[str, Any]:
    """Values of which some are fractions, as JSON values."""
    return {key: json_number(value) if isinstance(value, Fraction) else value for key, value in found.items()}
