"""What an import counted, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from ratiobench.instances.cluster.logs import Report
from ratiobench.instances.cluster.model import Instance

MOST_BAD = 5  # Lines that could not be read and are shown


def list_lines(instance: Instance, report: Report) -> Iterator[str]:
    """Jobs and GPU-hours kept and left out by reason, load and utilisation, remarks."""
    pools = ", ".join(f"{pool.name} {pool.nodes} x {pool.gpus}" for pool in instance.pools)
    yield f"{instance.name}: {report.jobs:,} jobs of {report.gpu_seconds / 3600:,.0f} GPU-hours on {pools} GPUs"
    for reason, (count, seconds) in sorted(report.left_out.items(), key=lambda item: -item[1][1]):
        yield f"left out, {reason}: {count:,} jobs of {seconds / 3600:,.0f} GPU-hours"
    if report.running or report.waiting:
        yield f"at the beginning {report.running:,} jobs run and {report.waiting:,} wait"
    if report.twice:
        yield f"{report.twice:,} lines have the id and submit of another one and count once"
    yield (
        f"load {100 * report.load:.1f} % (GPU-seconds asked for over capacity), utilisation "
        f"{100 * report.utilisation:.1f} %"
    )
    if report.bad:
        yield f"{len(report.bad):,} lines could not be read and were skipped:"
        yield from (f"  {line}" for line in report.bad[:MOST_BAD])
    yield from report.remarks
