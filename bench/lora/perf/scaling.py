"""How the clock of a whole run falls with the number of workers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.family.suite import Case, SolveSettings, Suite
from ratiobench.bench.perf.measurement import Curves, Measurement, Part, Value, time_in_turns
from ratiobench.bench.results.read import read_results
from ratiobench.bench.running.machine import usable_cores
from ratiobench.bench.running.options import RunOptions
from ratiobench.bench.running.runner import run_suite
from ratiobench.bench.storage.store import STORE, Store

COLUMNS = ("cases", "tasks", "workers", "clock_seconds", "work_seconds", "times_one_worker", "same_table")
ALGORITHMS = ("pdftsp", "titan", "eft", "greedy")


def sweep(cases: int, tasks: int, effort: int) -> Suite:
    """Parts of a day of one size, every one of its own content."""
    recipe = {"kind": "paper", "nodes": max(1, tasks // 25), "slots": 36, "start": 60, "quiet": 8, "tasks": tasks}
    made = (
        Case(
            f"part{i}",
            {**recipe, "name": f"part{i}", "arrivals": {"trace": "philly"}, "seed": ["scaling", tasks, i]},
            ALGORITHMS,
            SolveSettings(effort=effort),
        )
        for i in range(cases)
    )
    return Suite("scaling", "Parts of a day of one size", tuple(made))


def scaling(suite: Suite, tasks: int, workers: tuple[int, ...], turns: int, say: Callable[[str], None]) -> Measurement:
    """The same run with these numbers of workers in turns, in fresh folders, reports left out."""
    family, _ = find_suite("tiny")
    tables: dict[int, str] = {}
    work: dict[int, float] = {}

    def run(count: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run_suite(family, suite, RunOptions(out=Path(folder), workers=count, quiet=True))
            with Store.open(Path(folder) / STORE) as store:
                found = read_results(store)
        tables[count], work[count] = found.rows.to_csv(), float(found.seconds["seconds"].sum())
        say(f"{count} workers: {work[count]:.1f} s of work")

    clock = time_in_turns({str(count): lambda count=count: run(count) for count in workers}, turns)  # type: ignore[misc]
    one = clock[str(workers[0])].median
    rows: list[dict[str, Value]] = [
        {
            "cases": len(suite.cases),
            "tasks": tasks,
            "workers": count,
            "clock_seconds": clock[str(count)].median,
            "work_seconds": work[count],
            "times_one_worker": one / clock[str(count)].median,
            "same_table": tables[count] == tables[workers[0]],
        }
        for count in workers
    ]
    curve = [(float(count), one / clock[str(count)].median) for count in workers]
    return Measurement(
        COLUMNS,
        rows,
        [Curves("Runs per second against one worker", "workers", "times", [("measured", curve)])],
        (
            f"{usable_cores()} usable cores. The clock has the start of the workers in it. One worker alone may use "
            "all cores for its bounds, so that twice is not within reach; work_seconds grows where workers share "
            "caches and memory, or a core with something else.",
        ),
    )


def _measure(quick: bool, say: Callable[[str], None]) -> Measurement:
    tasks = 50 if quick else 100
    return scaling(sweep(4 if quick else 12, tasks, 1 if quick else 6), tasks, (1, 2), 1 if quick else 3, say)


PART = Part("scaling", "A whole run with one worker and with two", _measure)
