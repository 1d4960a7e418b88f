"""The remarks that a mean inherits from its runs, with the number of runs that have each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ratiobench.instances.io.errors import make_printable
from ratiobench.online.remarks import LIMITED, OVERCHARGED, Remark, Remarks, percentage

# Facts that differ from run to run, by their field: what all of a kind are called. All others count as they stand.
KINDS = {"limit": LIMITED, "overcharged": OVERCHARGED}
MOST = 4  # Different remarks on a mean; of more the number


def remarks_of_runs(algorithm: str, runs: Sequence[Remarks]) -> str:
    """The remarks on an algorithm's runs, each with the number of runs that have it."""
    options, counted = algorithm.rpartition(":")[2].split(","), Counter[Remark]()
    for run in runs:
        remarks: dict[Remark, int] = {}
        for field, text in run.listed():
            if rest := ", ".join(part for part in text.split(", ") if part not in options):
                counts_as = KINDS.get(field) if len(runs) > 1 else None
                remarks[Remark(field, counts_as or make_printable(rest, 120))] = 1
        counted.update(remarks)
    gaps = [run.gap_ppm for run in runs if run.gap_ppm is not None]
    parts = []
    for remark, count in counted.items():
        if len(runs) == 1 or (count == len(runs) and remark.field not in KINDS):
            parts.append(remark.text)
        else:
            gap = f", worst gap {percentage(max(gaps))} %" if remark.field == "limit" and gaps else ""
            parts.append(f"{remark.text} in {count} of {len(runs)} runs{gap}")
    return " and ".join([*parts[:MOST], *([f"{len(parts) - MOST} more"] if len(parts) > MOST else [])])


def label_of_runs(algorithm: str, runs: Sequence[Remarks]) -> str:
    """An algorithm's name with the remarks on its runs; ``NAME (key=value)`` if all runs have these options."""
    head, _, text = algorithm.partition(":")
    options = set(text.split(",")) if text else set()
    shown = next((run.options for run in runs if run.name == head and options and options <= set(run.options)), ())
    rest = [replace(run, options=()) if run.options == shown else run for run in runs]
    name, remarks = f"{head} ({', '.join(shown)})" if shown else algorithm, remarks_of_runs(algorithm, rest)
    return f"{name} ({remarks})" if remarks else name


def is_user_algorithm(algorithm: str) -> bool:
    """Whether the name is an import path, ``package.module:Class[:key=value,...]``: a user's algorithm."""
    attribute = algorithm.partition(":")[2].partition(":")[0]
    return bool(attribute) and "=" not in attribute
