"""Compare `replan` with the rule chosen on other windows: `python tools/replan_table.py` prints a Markdown table.

Windows, rival and settings stand in docs/reference/algorithms/cluster.md. `RATIOBENCH_DATA` names a folder with
`logs/kth_sp2.swf.gz`. Intervals are of 95 %, paired over weeks or days of submits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ratiobench.bench.cluster.measures import compare
from ratiobench.instances.cluster.generate import make
from ratiobench.instances.cluster.logs import ClusterFile, LogPool, import_logs
from ratiobench.instances.cluster.model import DAY, Instance
from ratiobench.online.cluster.run import run

RIVAL = "easy:order=shortest"
POLICIES = ("easy", RIVAL, "replan", "replan:gpu_hours=100", "replan:guard=0,slowdown=36000,spare=1000")
FIRST_DAY = 110  # Of the KTH log; settings were chosen on the days before it
SEEDS = (1001, 1002)  # Of generated months that were used for nothing else


def windows() -> Iterator[tuple[str, Instance]]:
    path = os.path.join(os.environ["RATIOBENCH_DATA"], "logs", "kth_sp2.swf.gz")
    log, _ = import_logs([path], ClusterFile(pools=[LogPool("sp2", 100, 1)]))
    yield "KTH log, from day 110", replace(log, judged=(log.begin + FIRST_DAY * DAY, 2**60), cache={})
    for seed in SEEDS:
        month = make({"kind": "month", "seed": seed})
        yield f"month {seed}", replace(month, judged=(month.begin, 2**60), cache={})


def main() -> None:
    print("| window | policy | wait, min | slowdown | GPU-hour, min | longest, h | wait - rival | slowdown - rival |")
    print("|---" * 2 + "|---:" * 6 + "|")
    for name, instance in windows():
        jobs, judged = instance.jobs, instance.judged_jobs
        starts = {policy: run(instance, policy).decisions.start for policy in POLICIES}
        one, area = np.ones(len(jobs), dtype=np.int64), jobs.width * jobs.run
        bound = np.maximum(jobs.run, 10)
        slowdowns = {
            policy: np.maximum(1, (start - jobs.submit + jobs.run) / bound) for policy, start in starts.items()
        }
        for policy, start in starts.items():
            wait, slowdown = (start - jobs.submit)[judged], slowdowns[policy][judged].mean()
            hours = (wait * area[judged]).sum() / area[judged].sum() / 60
            row = f"{wait.mean() / 60:,.1f} | {slowdown:.2f} | {hours:,.0f} | {wait.max() / 3600:.1f}"
            for values, unit, digits in ((starts, 60, 1), (slowdowns, 1, 2)):
                found = compare(instance, values[policy], values[RIVAL], one, judged)
                low, high = ((end or 0.0) / unit for end in (found.low, found.high))
                row += f" | {found.mean / unit:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"
            print(f"| {name} | `{policy}` | {row} |", flush=True)


if __name__ == "__main__":
    main()
