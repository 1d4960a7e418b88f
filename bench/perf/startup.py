"""Where the time of a first run goes: packages, imports, compilation, and the pieces of the suite `quick`.

Seconds are those of one core at work (user and system), so that what else the machine does changes them little; those
of the suite's pieces are by the clock. `python -m ratiobench.bench.perf.startup FILE` prints the CSV file of the part
as the table of docs/results/speed.md.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.family.standard import find_certificate
from ratiobench.bench.family.suite import is_informed
from ratiobench.bench.perf.measurement import Bars, Measurement, Part, Value
from ratiobench.bench.running import work

COLUMNS = ("stage", "what", "seconds", "count", "of")
SUITE = "quick"
SMALL = 60_000
"""Bytes of an instance's file above which a case is left out with --quick."""
KERNELS = 10
"""Kernels that the table names, the slowest ones."""

_Row = dict[str, Value]

_COMPILE = """
import json, sys
from ratiobench.bench.running.kernel_compilation import compile_all
if __name__ == "__main__":
    found = compile_all(json.loads(sys.argv[1]), lambda text: print(text, file=sys.stderr, flush=True))
    print(json.dumps([list(kernel) for kernel in found]))
"""


def startup(quick: bool, say: Callable[[str], None]) -> Measurement:
    """Measure the stages one after the other; with `quick` without the suite's large cases."""
    rows = [*_packages(), *_imports(say), *_compilation(say), *_pieces(quick, say)]
    bars = [(str(row["what"]), float(row["seconds"] or 0)) for row in rows if row["stage"] == "compile"]
    slowest = sorted(bars, key=lambda bar: -bar[1])[:KERNELS]
    note = (
        "Packages: megabytes as installed. Imports: a new interpreter that imports this alone, less one that imports "
        "nothing. Compilation: into an empty cache, each kernel without the kernels that it calls, and the number of "
        "combinations of types. The suite: each piece once, in one process, by the clock."
    )
    return Measurement(COLUMNS, rows, [Bars("Compilation of the slowest kernels", "seconds", slowest)], [note])


def _packages() -> Iterator[_Row]:
    """Size of what is required, with what that requires in turn in a row of its own."""
    direct = _direct()
    for name in direct:
        yield _row("install", name, None, round(_megabytes(name), 1), "MB")
    others = {each for name in direct for each in _needs(name)} - set(direct)
    yield _row("install", "what these need", None, round(sum(map(_megabytes, others)), 1), "MB")


def _direct() -> list[str]:
    """What has to be installed with ratiobench, extras left out."""
    try:
        lines = [line for line in metadata.requires("ratiobench") or () if "extra ==" not in line]
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return []
    return [match.group() for line in lines if (match := re.match(r"[A-Za-z0-9._-]+", line))]


def _needs(name: str, known: frozenset[str] = frozenset()) -> set[str]:
    found: set[str] = set()
    for line in metadata.requires(name) or ():
        match = re.match(r"[A-Za-z0-9._-]+", line)
        other = match.group().lower().replace("_", "-") if match else ""
        if "extra ==" not in line and other and other not in known | found:
            try:
                metadata.distribution(other)
            except metadata.PackageNotFoundError:
                continue  # for another system
            found |= {other} | _needs(other, known | found | {other})
    return found


def _megabytes(name: str) -> float:
    paths = [path.locate() for path in metadata.files(name) or ()]
    return sum(os.stat(path).st_size for path in paths if os.path.isfile(path)) / 1e6


def _imports(say: Callable[[str], None]) -> Iterator[_Row]:
    say("imports")
    bare = _import_seconds("sys")
    for module in ("ratiobench", "ratiobench.bench.cli.main", "numba", "pandas", "ortools.sat.python.cp_model"):
        yield _row("import", module, max(0.0, _import_seconds(module) - bare), None, "")


def _import_seconds(module: str) -> float:
    """CPU seconds of a new interpreter that imports the module, the least of three."""
    code = f"import {module}, os; t = os.times(); print(t.user + t.system)"
    return min(
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    )


def _compilation(say: Callable[[str], None]) -> Iterator[_Row]:
    """Every kernel that the suite needs, compiled into an empty cache."""
    say(f"compiling what {SUITE} needs into an empty cache")
    family, suite = find_suite(SUITE)
    chosen = {family.name: list(dict.fromkeys(name for case in suite.cases for name in case.algorithms))}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        script = Path(folder) / "compile.py"
        script.write_text(_COMPILE, encoding="utf-8")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        command = [sys.executable, str(script), json.dumps(chosen)]
        done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    for name, signatures, seconds in sorted(json.loads(done.stdout), key=lambda kernel: -float(kernel[2])):
        yield _row("compile", name, seconds, signatures, "signatures")


def _pieces(quick: bool, say: Callable[[str], None]) -> Iterator[_Row]:
    """The suite's pieces of work in this process: the instance, OPT, online runs and audits."""
    family, suite = find_suite(SUITE)
    for case in suite.cases:
        made = work.make(family.name, case.recipe, case.prior, None, case.history)
        if quick and len(made.data) > SMALL:
            continue
        say(f"{SUITE}: {case.name}")
        if case.certificate:
            shipped = find_certificate(case.certificate).read_bytes()
            opt = work.certify(family.name, made.data, made.instance, case.certificate, shipped, "")
        else:
            opt = work.solve(family.name, made.data, made.instance, case.solve, "")
        yield _row(case.name, "instance", made.seconds, 1, "pieces")
        yield _row(case.name, "OPT", opt.seconds, 1, "pieces")
        spent = [0.0, 0.0]
        for name in case.algorithms:
            say(f"{SUITE}: {case.name}, {name}")
            key = family.algorithm_key(name)
            other = (made.history if is_informed(name) == "history" else None) or made.prior
            prior = None if other is None else other.data
            found = work.measure(family.name, made.data, made.instance, name, key, "", opt, prior)
            for j, piece in enumerate(found):
                spent[j] += piece.seconds
        for what, seconds in zip(("online", "audits"), spent, strict=True):
            yield _row(case.name, what, seconds, len(case.algorithms), "pieces")


def _row(stage: str, what: str, seconds: float | None, count: float | None, of: str) -> _Row:
    return {"stage": stage, "what": what, "seconds": seconds, "count": count, "of": of}


def markdown(rows: Sequence[dict[str, str]]) -> str:
    """The table of docs/results/speed.md: sums by stage, and the kernels that take longest to compile."""
    compiled = sorted((row for row in rows if row["stage"] == "compile"), key=lambda row: -float(row["seconds"]))
    pieces = [row for row in rows if row["of"] == "pieces"]
    lines: list[tuple[str, Any, str]] = [
        ("packages", None, f"{sum(float(row['count']) for row in rows if row['stage'] == 'install'):.0f} MB"),
        *((f"import {row['what']}", float(row["seconds"]), "") for row in rows if row["stage"] == "import"),
        ("compilation", _sum(compiled), f"{len(compiled)} kernels"),
        *((f"- {row['what']}", float(row["seconds"]), row["count"]) for row in compiled[:KERNELS]),
    ]
    for what in ("instance", "OPT", "online", "audits"):
        mine = [row for row in pieces if row["what"] == what]
        lines.append((f"{SUITE}: {what}", _sum(mine), f"{sum(int(float(row['count'])) for row in mine)} pieces"))
    body = [f"| {name} | {'' if seconds is None else f'{seconds:.1f}'} | {count} |" for name, seconds, count in lines]
    return "\n".join(["| What | Seconds | How many |", "|---|---:|---:|", *body])


def _sum(rows: Sequence[dict[str, str]]) -> float:
    return sum(float(row["seconds"]) for row in rows)


PARTS: tuple[Part, ...] = (
    Part("startup", "where the time of a first run goes, from the packages to the last audit", startup, warmed=False),
)

if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        print(markdown(list(csv.DictReader(file))))
