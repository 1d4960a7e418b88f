"""Where the waits of a run come from, whose they are, and which jobs wait longer than in the best known schedule."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from ratiobench.bench.cluster.measures import mean_text
from ratiobench.bench.family.capabilities import Explainer
from ratiobench.bench.family.explanation import Explanation, Figure, Listing
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.cluster.model import Instance
from ratiobench.instances.cluster.waits import PARTS, Waits, blocked, split_logged, tabulate
from ratiobench.online.outcome import OnlineRun

ROWS = 10  # of a table, at most


def explain(instance: Instance, run: OnlineRun, reference: SolveReport, check: Any) -> Explanation:
    """Split the waits by cause, for the run beside the best known schedule and the log."""
    remarks: list[list[str]] = [[f"INVALID: {violation}"] for violation in run.violations]
    tables: list[Listing] = []
    if run.valid and len(instance.jobs):
        best, waits = blocked(instance, reference.solution), blocked(instance, run.decisions)
        remarks = [["Waits count from the submit, or from the beginning of the file, in minutes."]]
        tables = [_causes(instance, run, waits, best), *_groups(instance, waits, best), _jobs(instance, waits, best)]
    result = [f"OPT: {mean_text(instance, reference.lower, reference.upper)}, ALG = ", run.welfare]
    return Explanation(instance.name, "", run.label, result, tables, remarks, [], [], None)


def _minutes(seconds: float) -> Fraction:
    return Fraction(round(seconds / 6), 10)


def _causes(instance: Instance, run: OnlineRun, waits: Waits, best: Waits) -> Listing:
    columns = {run.label: waits.means(), "best known schedule": best.means()}
    if (instance.jobs.logged >= 0).any():
        columns["log"], _ = split_logged(instance)
    causes, means = PARTS | {"wait": "together"}, columns.values()
    rows: list[list[Figure]] = [[text, *(_minutes(mean[part]) for mean in means)] for part, text in causes.items()]
    return Listing("Mean wait of a job by cause", ["cause", *columns], rows)


def _groups(instance: Instance, waits: Waits, best: Waits) -> Iterator[Listing]:
    """By partition, user and width, for labels that tell jobs apart; the groups with the most GPU-hours."""
    head = ["jobs", "GPU-hours", "wait", "blocked", "behind a blocked job", "neither", "in the best known schedule"]
    for by in ("partition", "user", "width"):
        groups, least = tabulate(instance, waits, by), tabulate(instance, best, by)
        rows: list[list[Figure]] = []
        for name, row in islice(groups.items(), ROWS):
            means = [*(row[part] for part in ("wait", "blocked", "queue", "other")), least[name]["wait"]]
            rows.append([name or "(none)", int(row["jobs"]), round(row["GPU-hours"]), *map(_minutes, means)])
        if len(groups) > 1:
            title = f"Mean wait of a job by {by}" + f", {ROWS} of {len(groups)}" * (len(groups) > ROWS)
            yield Listing(title, ["GPUs" if by == "width" else by, *head], rows)


def _jobs(instance: Instance, waits: Waits, best: Waits) -> Listing:
    """The jobs that wait longest beyond the best known schedule."""
    jobs, later = instance.jobs, waits.total - best.total
    users, partitions = [*instance.users, ""], [*(part.name for part in instance.partitions), ""]  # "" for -1
    rows: list[list[Figure]] = []
    for j in np.argsort(-later, kind="stable")[:ROWS].tolist():
        names = [users[jobs.user[j]], partitions[jobs.partition[j]]]
        cause = max(PARTS, key=lambda part: getattr(waits, part)[j])
        seconds = (jobs.run[j], waits.total[j], later[j])
        rows.append([jobs.ids[j], *names, int(jobs.width[j]), *map(_minutes, seconds), PARTS[cause]])
    longer, shorter = later[later > 0], later[later < 0]
    title = (
        f"{len(longer):,} of {len(jobs):,} jobs wait longer than in the best known schedule, together "
        f"{longer.sum() // 3600:,} h; {len(shorter):,} wait less, together {-shorter.sum() // 3600:,} h"
    )
    head = ["job", "user", "partition", "GPUs", "run", "wait", "longer by", "mostly"]
    return Listing(title, head, rows[: len(longer)])


EXPLAINER = Explainer(explain, "easy", "", {})
