"""Speed, side by side: every comparison within one run, in turns, with nothing compiled while a clock runs.

A family offers its measurements as `Family.benchmarks`. What is reported are medians
of several turns and their ratios; seconds are those of one machine with whatever else it was doing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ratiobench.bench.family.capabilities import Benchmark
from ratiobench.bench.family.registry import families
from ratiobench.bench.perf import startup
from ratiobench.bench.perf.measurement import Measurement, time_call
from ratiobench.bench.perf.page import format_csv, format_table, render_page
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.files import write_atomically


def parts() -> dict[str, Benchmark]:
    """The parts of all families, by name, after those of no family."""
    found: dict[str, Benchmark] = {part.name: part for part in startup.PARTS}
    for family in families().values():
        for part in family.benchmarks():
            if part.name in found:
                raise InputError(family.name, "PARTS", f"{part.name!r} is the name of another part")
            found[part.name] = part
    return found


def run(names: Sequence[str], out: Path, quick: bool) -> int:
    """Run the parts (all, if none is named), print their tables, write PART.csv and perf.html into the folder.

    Raises
    ------
    InputError : for a part that does not exist.
    """
    known = parts()
    for name in names:
        if name not in known:
            raise InputError("part", "", explain_unknown_name(name, known))
    chosen = [known[name] for name in dict.fromkeys(names or known)]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(out), "", f"cannot be made: {error.strerror}") from None
    warm = 0.0
    if any(part.warmed for part in chosen):
        warm = sum(time_call(family.warm) for family in families().values())
        print(f"compiling, or loading what was compiled: {warm:.1f} s, in no figure below", file=sys.stderr)
    done: list[tuple[Benchmark, Measurement]] = []
    for part in chosen:
        measured = part.measure(quick, lambda text, part=part: print(f"{part.name}: {text}", file=sys.stderr))  # type: ignore[misc]
        done.append((part, measured))
        write_atomically(out / f"{part.name}.csv", format_csv(measured).encode())
        print(f"{part.name}: {part.summary}\n{format_table(measured)}")
        for note in measured.notes:
            print(f"  {note}")
        print(flush=True)
    write_atomically(out / "perf.html", render_page(done, quick, warm).encode())
    print(f"page: {out / 'perf.html'}")
    return 0
