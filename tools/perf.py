"""Measure speed: `python tools/perf.py PART [NAME ...] [--quick] [--seconds S]` prints Markdown tables.

models [RECIPE ...]        OPT of small instances from nothing: each formulation with each solver, `opt`, and `opt
                           --certificate`, at most S seconds each
decisions [ALGORITHM ...]  decisions a second of each algorithm
startup [CHECKOUT ...]     a fresh copy of each checkout, such as an old commit and a new one: CPU and clock seconds of
                           the installation, the compilation, short commands and the suite `quick`
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

# Parts of days, 20 to 60 tasks on two nodes; four instances of each size
SMALL = tuple(
    f"paper:tasks={tasks},nodes.a100=1,nodes.a40=1,start={start},slots={slots},quiet=8,sizes={sizes},arrivals.{arrivals}"
    for tasks, slots, sizes, start in (
        (20, 24, "profiles", 40), (30, 32, "profiles", 70), (40, 40, "profiles", 60), (60, 40, "profiles", 80),
        (40, 40, "own", 50),
    )
    for arrivals in ("poisson=50", "trace=helios", "trace=pai", "trace=philly")
)  # fmt: skip
DAYS = ("day:tasks=300,nodes=6", "users:users=1000", "gpu-day:", "online:jobs=100")
SMALL_DAYS = ("day:tasks=60,nodes=3", "users:users=30", "gpu-day:jobs=40", "online:jobs=20")
READINGS = ("pdftsp:arith=float", "online:rule=exact-step")  # Measured beside the default options of every algorithm


class Answer(NamedTuple):
    """What a contender knew of OPT at its end; the incumbent is verified, seconds include building the model."""

    lower: int | None
    upper: int | None
    seconds: float

    @property
    def is_proved(self) -> bool:
        return self.lower is not None and self.lower == self.upper

    @property
    def gap(self) -> float:
        """In percent; 100 without a solution or a bound."""
        return 100.0 if self.lower is None or not self.upper else 100 * (self.upper - self.lower) / self.upper


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a Markdown table."""
    print("|", " | ".join(columns), "|")
    print("|", " | ".join("---" for _ in columns), "|")
    for row in rows:
        print("|", " | ".join(f"{cell:,.3f}" if isinstance(cell, float) else str(cell) for cell in row), "|")
    print(flush=True)


def make_instance(recipe: str) -> tuple[Any, Any]:
    """The family of a recipe, and its instance."""
    from ratiobench.bench.family.registry import find_suite

    family, suite = find_suite(recipe)
    return family, family.make(suite.cases[0].recipe)


def solve_all(instance: Any, seconds: float) -> dict[str, Answer]:
    """The answers of `opt`, with and without a certificate, and of every model of P with every installed solver."""
    from ratiobench.formulations import backends
    from ratiobench.formulations.lora.check import check
    from ratiobench.formulations.lora.direct_solve import solve_direct
    from ratiobench.formulations.lora.models.formulation import registry
    from ratiobench.formulations.lora.solve import solve
    from ratiobench.formulations.report import UNLIMITED
    from ratiobench.instances.lora.model import ScheduleKind

    def verify(solution: Any) -> tuple[int | None, str]:
        report = check(instance, solution)
        return (report.welfare, "") if report.valid else (None, str(report.violations[0]))

    answers = {}
    for name in ("certificate", "opt"):
        report = solve(instance, effort=UNLIMITED, seconds=seconds, certified=name == "certificate")
        answers[name] = Answer(int(report.lower), int(report.upper), report.seconds)
    limits = backends.Limits(work=None, gap=0.0, seconds=seconds)
    for model in registry().values():
        for backend in model.backends:
            if model.schedules is ScheduleKind.ANY and backends.version(backend) is not None:
                found = solve_direct(instance, model, backend, limits, verify, reduced=True)
                spent = found.answer.build_seconds + found.answer.solve_seconds
                answers[f"{model.name} / {backend}"] = Answer(found.answer.verified, found.bound, spent)
    return answers


def measure_models(recipes: Sequence[str], seconds: float) -> None:
    """Print the answers on each instance, then a line per contender: its proofs and its medians."""
    known: dict[str, list[Answer]] = {}
    for recipe in recipes:
        answers = solve_all(make_instance(recipe)[1], seconds)
        print(f"`{recipe}`\n")
        rows = [(name, each.lower, each.upper, each.gap, each.seconds) for name, each in answers.items()]
        print_table(("contender", "lower", "upper", "gap, %", "seconds"), rows)
        for name, answer in answers.items():
            known.setdefault(name, []).append(answer)
    summary = [
        (
            name,
            f"{sum(answer.is_proved for answer in answers)} of {len(answers)}",
            statistics.median(min(seconds, answer.seconds) if answer.is_proved else seconds for answer in answers),
            statistics.median(answer.gap for answer in answers),
            max(answer.gap for answer in answers),
        )
        for name, answers in known.items()
    ]
    print(f"seconds: median, {seconds:g} where nothing is proved\n")
    print_table(("contender", "proved", "seconds", "median gap, %", "largest gap, %"), summary)


def measure_decisions(recipes: Sequence[str], names: Sequence[str]) -> None:
    """Run each algorithm twice on one instance of its family; the first run may compile and does not count."""
    from ratiobench.instances.io.errors import InputError

    for recipe in recipes:
        family, instance = make_instance(recipe)
        shipped = [entry.name for entry in family.algorithms()]
        rows: list[tuple[Any, ...]] = []
        for name in names or (*shipped, *READINGS):
            if name.partition(":")[0] not in shipped:
                continue
            print(name, file=sys.stderr, flush=True)
            try:
                family.run(instance, name)
                run = family.run(instance, name)
            except InputError as error:
                rows.append((name, "", "", error.problem))
                continue
            count = len(run.decisions)
            rows.append((name, count, 1e6 * run.seconds / count, count / run.seconds))
        print(f"{family.name}, `{recipe}`\n")
        print_table(("algorithm", "decisions", "microseconds a decision", "decisions a second"), rows)


def measure_checkout(checkout: Path, suite: str) -> dict[str, tuple[float, float]]:
    """CPU and clock seconds of each stage in a copy without caches; of short commands the least of five times."""
    place, part = tempfile.TemporaryDirectory(prefix="perf-"), "part_40_helios"
    folder, python = Path(place.name, "copy"), "../env/bin/python"
    shutil.copytree(checkout, folder, True, shutil.ignore_patterns(".*", "__pycache__", "_build", "*.sqlite"))
    commands = {
        "install": f"{sys.executable} -m venv ../env && {python} -m pip install --no-compile -c constraints.txt -e .",
        f"compile for {suite}": f"{python} -m ratiobench warm {suite}",
        "`standard fetch`": f"{python} -m ratiobench standard fetch {part} --out ..",
        "`--version`": f"{python} -m ratiobench --version",
        "`--help`": f"{python} -m ratiobench --help",
        "`list algorithms`": f"{python} -m ratiobench list algorithms",
        "`simulate`, 3 tasks": f"{python} -m ratiobench simulate instances/lora/named/thm5_T5_3tasks.json -a greedy",
        "`check`": f"{python} -m ratiobench check ../{part}.json.gz --certificate bench/standard/R1/{part}.cert",
        f"suite {suite}": f"{python} -m ratiobench run {suite} --out ../results",
    }
    fresh = os.environ | dict.fromkeys(("PYTHONPATH", "NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"), "")
    fresh["RATIOBENCH_CACHE"] = f"{place.name}/cache"
    spent: dict[str, tuple[float, float]] = {}
    for stage in [name for name in commands for _ in range(5 if name.startswith("`") else 1)]:
        print(f"{checkout}: {stage}", file=sys.stderr, flush=True)
        began, before = time.monotonic(), sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        subprocess.run(commands[stage], shell=True, check=True, cwd=folder, env=fresh, stdout=subprocess.DEVNULL)
        now = (sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before, time.monotonic() - began)
        spent[stage] = min(spent.get(stage, now), now)
    return spent


def measure_startup(checkouts: Sequence[Path], suite: str) -> None:
    """Print the seconds of each stage, two columns a checkout; of the last the share of the first."""
    found = [measure_checkout(checkout, suite) for checkout in checkouts]
    heads = [f"{checkout.name}, {kind}" for checkout in checkouts for kind in ("CPU s", "clock s")]
    stages = zip(found[0], *map(dict.values, found), strict=True)
    rows = [[name, *chain(*spent), spent[-1][0] / spent[0][0]] for name, *spent in stages]
    print_table(("stage", *heads, "CPU s, last / first"), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("models", "decisions", "startup"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="recipes, algorithms or checkouts")
    parser.add_argument("--quick", action="store_true", help="small instances; the suite `tiny`")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of each solve of `models`")
    given = parser.parse_args()
    if given.part == "models":
        measure_models(given.names or SMALL[: 1 if given.quick else None], given.seconds)
    elif given.part == "decisions":
        measure_decisions(SMALL_DAYS if given.quick else DAYS, given.names)
    else:
        checkouts = [Path(name).resolve() for name in given.names or (Path(__file__).parents[1],)]
        measure_startup(checkouts, "tiny" if given.quick else "quick")
