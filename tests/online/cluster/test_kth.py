"""The figures of an independent public simulator on the KTH log of the Parallel Workloads Archive.

`RATIOBENCH_DATA` names a folder with `logs/kth_sp2.swf.gz`; no row of the log is in this project.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from ratiobench.instances.cluster.logs import ClusterFile, LogPool, import_logs
from ratiobench.instances.cluster.model import Instance, make_costs
from ratiobench.online.cluster.replay import replay
from tests.support.cluster_rules import make_rule

# Mean bounded slowdown and mean flow time in seconds, with requested widths and one pass a second
FIGURES = {
    "easy": (92.69, 15694.5),
    "easy:belief=true": (71.72, 15187.6),
    "easy:belief=double": (79.67, 14889.7),
    "easy:candidates=shortest": (69.39, 14763.6),
    "easy:candidates=shortest,belief=true": (49.85, 14295.7),
    "easy:candidates=shortest,belief=double": (59.44, 14098.2),
}


@cache
def kth() -> Instance:
    folder = os.environ.get("RATIOBENCH_DATA")
    path = Path(folder or "") / "logs" / "kth_sp2.swf.gz"
    if not folder or not path.exists():
        pytest.skip("RATIOBENCH_DATA names no folder with logs/kth_sp2.swf.gz: no rows of a real log here")
    instance, report = import_logs([str(path)], ClusterFile(pools=[LogPool("sp2", 100, 1)]))
    assert (report.jobs, report.left_out, report.twice) == (28_481, {}, 0)
    return instance


@pytest.mark.parametrize("policy", FIGURES)
def test_the_public_figures_are_met(policy: str) -> None:
    """To 0.02 %."""
    instance = kth()
    start = replay(instance, make_rule(policy)).schedule.start
    slowdown, flow = FIGURES[policy]
    assert make_costs(instance.jobs, "slowdown").mean(start) == pytest.approx(slowdown, rel=2e-4)
    assert float((start - instance.jobs.submit + instance.jobs.run).mean()) == pytest.approx(flow, rel=2e-4)


def test_the_logs_own_waits_are_kept() -> None:
    """The mean wait in the log is 256 minutes."""
    jobs = kth().jobs
    assert float((jobs.logged - jobs.submit).mean()) / 60 == pytest.approx(256.4, abs=0.1)
