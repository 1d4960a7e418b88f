"""Plant faults one by one and run the tests that reach them: `python -m tests.power [--count N] [--workers N]`.

The tests of a fault are those that run its line, or else any line of its file, the shortest first, up to a minute.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from xml.etree import ElementTree

from tests.power.faults import faults
from tests.power.mutants import Fault, mutants

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 60  # Seconds of tests for each fault
MOST = 400  # Tests for each fault
# What runs in processes that are not measured, and what always runs beside it
ELSEWHERE = {"online/referee/runner.py": "online/referee/isolation.py"}
LEFT_OUT = {".git", ".nox", ".venv", "results", ".mypy_cache", ".ruff_cache"}  # Of the root, in the trees of faults


class Reach:
    """Which tests run which lines, and how long each takes."""

    def __init__(self, data: Path, report: Path) -> None:
        self.seconds: dict[str, float] = {}
        for case in ElementTree.parse(report).iter("testcase"):
            name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
            self.seconds[name] = float(case.get("time") or 0)
        self.tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        from coverage.numbits import numbits_to_nums

        with sqlite3.connect(data) as base:
            query = (
                "select file.path, context.context, numbits from line_bits join file on file.id = file_id "
                "join context on context.id = context_id where context.context != ''"
            )
            for path, context, bits in base.execute(query):
                test = context.partition("|")[0]
                for line in numbits_to_nums(bits):
                    self.tests[_relative(path)][line].add(test)

    def of(self, file: str, line: int) -> list[str]:
        """The tests of a line, or of its file where no test was seen on it; the shortest first."""
        lines = self.tests[ELSEWHERE.get(file, file)]
        chosen = lines.get(line) or set().union(*lines.values())
        return sorted(chosen, key=lambda test: (self.seconds.get(test, 1.0), test))


def _relative(path: str) -> str:
    """The path in the tree: the links of the folder `ratiobench` lead out of it again."""
    inside = os.path.relpath(path, ROOT)
    return inside.removeprefix("ratiobench/")


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), os.environ.get("PYTHONPATH", "")])}


def measure(folder: Path, workers: int, chosen: list[str], files: set[str]) -> Reach:
    """Run the tests once, with the lines of these files that each one runs."""
    settings = folder / "coverage.ini"
    # A file is imported from the folder of its package, or through the links of the folder `ratiobench`.
    paths = [f"{ROOT}/{link}{file}" for file in sorted(files) for link in ("", "ratiobench/")]
    settings.write_text("[run]\ninclude =\n" + "".join(f"    {path}\n" for path in paths))
    command = [
        sys.executable, "-m", "pytest", "-q", "-m", "not nightly", "-p", "no:cacheprovider", "-n", str(workers),
        "--dist", "loadfile", "--cov", "--cov-context=test", f"--cov-config={settings}", "--cov-report=",
        f"--junitxml={folder / 'tests.xml'}", "-o", "junit_family=xunit1", *chosen,
    ]  # fmt: skip
    environment = {**_environment(ROOT), "COVERAGE_FILE": str(folder / "coverage.data")}
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    return Reach(folder / "coverage.data", folder / "tests.xml")


def attempt(fault: Fault, reach: Reach, tree: Path) -> tuple[str, str, float]:
    """Plant a fault in a tree and run its tests: the verdict, the test that failed, seconds."""
    source = (tree / fault.file).read_text()
    names = reach.of(fault.file, fault.line(source))[:MOST]
    if not names:
        return "no test", "", 0.0
    total, chosen = 0.0, []
    for name in names:
        total += reach.seconds.get(name, 1.0) + 0.02
        if chosen and total > LIMIT:
            break
        chosen.append(name)
    fault.plant(tree)
    began = time.perf_counter()
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *chosen]
        answer = subprocess.run(
            command, cwd=tree, env=_environment(tree), capture_output=True, text=True, timeout=2 * LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return "killed", "by the time limit", time.perf_counter() - began
    finally:
        (tree / fault.file).write_text(source)
    seconds = time.perf_counter() - began
    failed = [line for line in answer.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if answer.returncode in (1, 2, 3, 4):  # 4: not even a test can be found
        return "killed", failed[0].split(" - ")[0] if failed else "", seconds
    return ("survived" if answer.returncode == 0 else f"pytest ended with {answer.returncode}"), "", seconds


def main() -> int:
    """Print one line a fault, and write all as JSON; 1 if one survived."""
    parser = argparse.ArgumentParser(prog="nox -s power --", description=__doc__)
    parser.add_argument("--count", type=int, default=200, metavar="N", help="mutants (default: 200)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="trees that are tried at once (default: 2)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep or take the coverage in this folder")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S", help="begin no fault after S")
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults whose name or file contains this")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table as JSON")
    parser.add_argument("tests", nargs="*", metavar="PATH", help="measure with these tests only")
    given = parser.parse_args()
    began = time.monotonic()
    folder = given.data or Path(tempfile.mkdtemp(prefix="power-"))
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [*faults(ROOT), *mutants(ROOT, given.count)]
    if (folder / "tests.xml").exists():
        reach = Reach(folder / "coverage.data", folder / "tests.xml")
    else:
        reach = measure(folder, given.workers, given.tests, {fault.file for fault in chosen})
    chosen = [fault for fault in chosen if given.only in fault.name or given.only in fault.file]
    trees: SimpleQueue[Path] = SimpleQueue()
    for number in range(given.workers):
        tree = folder / f"tree{number}"
        if not tree.exists():
            shutil.copytree(ROOT, tree, symlinks=True, ignore=lambda at, _: LEFT_OUT if Path(at) == ROOT else set())
        trees.put(tree)
    rows = []

    def one(fault: Fault) -> dict[str, object]:
        if time.monotonic() - began > given.seconds:
            return {"fault": fault.name, "file": fault.file, "verdict": "not tried", "by": "", "seconds": 0.0}
        tree = trees.get()
        try:
            verdict, test, seconds = attempt(fault, reach, tree)
        finally:
            trees.put(tree)
        return {"fault": fault.name, "file": fault.file, "verdict": verdict, "by": test, "seconds": round(seconds, 1)}

    with ThreadPoolExecutor(given.workers) as pool:
        for row in pool.map(one, chosen):
            rows.append(row)
            print(f"[{len(rows)}/{len(chosen)}] {row['verdict']}: {row['fault']} {row['by']}", flush=True)
            if given.out:
                given.out.write_text(json.dumps(rows, indent=0))
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in {str(r["verdict"]) for r in rows}}
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return int(counts.get("survived", 0) > 0)
