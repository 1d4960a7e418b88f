"""Compile kernels before a run needs them, in as many processes as there are cores."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import suppress

from ratiobench.bench.family.registry import families
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.machine import usable_cores
from ratiobench.bench.running.pool import SpawnPool
from ratiobench.bench.running.progress import Progress, clock
from ratiobench.instances.io.errors import InputError


def compile_kernels(chosen: Mapping[str, Collection[str] | None]) -> None:
    """Compile and cache the kernels of OPT, of these algorithms of each family (None: of all) and of their audits.

    Calls are made in any order: a kernel that two processes need is compiled by one of them.
    """
    began, cores = time.monotonic(), usable_cores()
    parts = [(name, names, part) for name, names in chosen.items() for part in families()[name].compilations(names)]
    progress = Progress(len(parts))
    set_current("")  # the progress tells from here on
    progress.line(f"compiling once what {', '.join(chosen)} needs, in {cores} processes")
    with SpawnPool(cores) as pool:
        left = {pool.submit(_compile, *part): part for part in parts}
        while left:
            finished, _ = wait(left, 1.0, FIRST_COMPLETED)
            so_far = time.monotonic() - began
            progress.tick([(name, part, so_far, None) for future, (name, _, part) in left.items() if future.running()])
            for future in finished:
                del left[future]
                future.result()
                progress.advance()
    progress.line(f"compiled in {clock(time.monotonic() - began)}")
    progress.close()


def _compile(family: str, algorithms: Collection[str] | None, part: str) -> None:
    with suppress(InputError):  # not every algorithm runs on a small instance
        families()[family].compilations(algorithms)[part]()
