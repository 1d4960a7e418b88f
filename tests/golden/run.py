"""Computes cases in worker processes and compares them with what is stored."""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import tempfile
import time
import traceback
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tests.golden.case import Case

PARTS = ("figures", "decisions", "intervals", "verdicts", "interfaces")
STORED = Path(__file__).parent / "stored"
SHOWN = 20  # Findings of one case that are printed


def cases_of(part: str) -> dict[str, Case]:
    cases: dict[str, Case] = importlib.import_module(f"tests.golden.{part}").CASES
    return cases


def stored_of(part: str) -> dict[str, Any]:
    file = STORED / f"{part}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def compute(part: str, name: str) -> tuple[Any, float, str]:
    """The document of a case today, the seconds it took, and why it failed."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        os.chdir(folder)
        try:
            document = json.loads(json.dumps(cases_of(part)[name].compute(Path(folder)), allow_nan=False))
        except Exception:
            return None, time.perf_counter() - began, traceback.format_exc(limit=-3)
        finally:
            os.chdir("/")
    return document, time.perf_counter() - began, ""


def main() -> int:
    """Compare, print one line a finding, and return 1 if there is one."""
    parser = argparse.ArgumentParser(prog="nox -s golden --", description="Compare with what is stored.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these of {', '.join(PARTS)}")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="only cases whose name contains one of these texts")
    parser.add_argument("--long", action="store_true", help="the long cases, too")
    parser.add_argument("--write", action="store_true", help="store the documents of today")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    given = parser.parse_args()
    parts = list(dict.fromkeys("--long" if part == "long" else part for part in given.parts))
    given.long |= "--long" in parts
    parts = [part for part in parts if part != "--long"] or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(PARTS)}")
    chosen = {
        (part, name): case
        for part in parts
        for name, case in cases_of(part).items()
        if any(text in name for text in given.only or [""]) and (given.long or not case.long)
    }
    began, findings = time.perf_counter(), 0
    documents: dict[str, dict[str, Any]] = {part: stored_of(part) for part in parts}
    # A process for each case: what an earlier case leaves in memory may not decide a figure
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.workers, context, _prepare, max_tasks_per_child=1) as pool:
        order = sorted(chosen, key=lambda key: -chosen[key].seconds)
        running: dict[Future[tuple[Any, float, str]], tuple[str, str]] = {
            pool.submit(compute, *key): key for key in order
        }
        for done, future in enumerate(as_completed(running), 1):
            part, name = running[future]
            document, seconds, problem = future.result()
            if problem:
                lines = [f"failed: {problem.strip()}"]
            elif given.write:
                documents[part][name], lines = document, []
            elif name not in documents[part]:
                lines = ["nothing is stored"]
            else:
                lines = list(chosen[part, name].compare(documents[part][name], document))
            findings += len(lines)
            print(f"[{done}/{len(chosen)}] {part} {name}: {len(lines) or 'no'} findings, {seconds:.1f} s", flush=True)
            for line in lines[:SHOWN]:
                print(f"  {part} {name}: {line}", flush=True)
            if len(lines) > SHOWN:
                print(f"  {part} {name}: and {len(lines) - SHOWN} more", flush=True)
    if given.write:
        for part in parts:
            cases = cases_of(part)
            kept = {name: documents[part][name] for name in cases if name in documents[part]}
            (STORED / f"{part}.json").write_text(_lines(kept))
    elif not given.only:
        for part in parts:
            for name in sorted({*documents[part]} - {*cases_of(part)}):
                findings += 1
                print(f"  {part} {name}: is stored, and no case computes it")
    print(f"{len(chosen)} cases, {findings or 'no'} findings, {time.perf_counter() - began:.0f} s")
    return int(findings > 0)


def _lines(documents: dict[str, Any]) -> str:
    """One case a line, so that a change shows which case it is about."""
    rows = [f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in documents.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _prepare() -> None:
    """Keep the user's caches out; say nothing by the clock."""
    os.environ["RATIOBENCH_CACHE"] = ""
