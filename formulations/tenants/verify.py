"""The checker of certificates `ratiobench/tenants-certificate/1`; with what makes them it shares their format.

Pay pi_j for every time that job j is run, and let V_k(t) be the least cost less pay of what one GPU of type k runs from
tick t on, among sequences that hold all that schedules do: jobs one after another, each after its release, ended by the
horizon (last release + sum of longest runs: some best schedule ends by then), no job twice in a row. A schedule with
m_k GPUs of type k pays every job once, so its cost is at least sum_j pi_j + sum_k m_k V_k(0).

V is found backwards in t. The best sequence from t on is kept with its first job, and the best with another first job.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ratiobench.formulations.checksums import CertificateFiles, Verdict, check_certificate, require, run_checker
from ratiobench.instances.io.documents import Digest
from ratiobench.instances.tenants.format import content_hash
from ratiobench.instances.tenants.format import parse as parse_instance
from ratiobench.instances.tenants.model import Instance, Solution

FORMAT = "ratiobench/tenants-certificate/1"
PRICE_LIMIT = 2**62

Price = Annotated[int, Meta(ge=-PRICE_LIMIT, le=PRICE_LIMIT)]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim lower <= OPT <= upper about one instance, with what proves it."""

    instance: Digest  # of its content
    prices: tuple[Price, ...]  # pi_j, one per job, 1/100 micro-dollar
    lower: Price  # lower, upper: 1/100 micro-dollar, as claimed
    upper: Price
    decisions: Solution  # the schedule whose cost is `upper`


FILES = CertificateFiles(Certificate, FORMAT)
document, seal, parse, read, write = FILES.document, FILES.seal, FILES.parse, FILES.read, FILES.write


# What a valid certificate proves, and how
PROVES = (
    "the decisions are a schedule that costs `upper`; and at the prices of the jobs, what all GPUs can do at least "
    "costs `lower`, below which no schedule is (weak duality)"
)

SMALL = 200_000  # Up to so many jobs times ticks of a type in plain Python
LONGEST = 2**22  # Most ticks of a type that are looked at

# Of a job on a type: position, release, run, last start that pays, and cost less pay at tick 0 in time, per tick
Row = tuple[int, int, int, int, int, int]


def verify(instance: Instance, data: Any, source: str = "<document>") -> Verdict[Certificate]:
    """Recompute every number of a decoded certificate document from the instance."""
    return check_certificate(FILES, content_hash, _prove, instance, data, source)


def _prove(instance: Instance, certificate: Certificate) -> None:
    upper = cost(instance, certificate.decisions)
    require(upper == certificate.upper, f"upper: {certificate.upper} claimed; the schedule costs {upper}")
    lower = bound(instance, certificate.prices)
    require(lower == certificate.lower, f"lower: {certificate.lower} claimed; the prices prove {lower}")
    require(lower <= upper, f"lower {lower} is above upper {upper}")


def cost(instance: Instance, decisions: Solution) -> int:
    """What a schedule costs, 1/100 micro-dollar; CertificateError names the first rule that it breaks."""
    require(len(decisions) == instance.jobs, f"{len(decisions)} decisions for {instance.jobs} jobs")
    kinds = instance.gpu_type.tolist()
    busy: dict[int, list[tuple[int, int, int]]] = {}
    total = 0
    for j, start in enumerate(decisions):
        require(start is not None, f"job {j}: no start")
        assert start is not None
        gpu, tick = start
        require(0 <= gpu < len(kinds), f"job {j}: GPU {gpu} is not in 0..{len(kinds) - 1}")
        require(tick >= instance.release[j], f"job {j}: starts at {tick}, before its release")
        end = tick + int(instance.run[j, kinds[gpu]])
        busy.setdefault(gpu, []).append((tick, end, j))
        total += _cost(instance, j, kinds[gpu], end)
    for gpu, intervals in busy.items():
        free = 0
        for tick, end, j in sorted(intervals):
            require(tick >= free, f"job {j}: starts at {tick} on GPU {gpu}, which is busy until {free}")
            free = end
    return total


def _cost(instance: Instance, j: int, kind: int, end: int) -> int:
    cs = int(instance.cost_sensitivity[j])
    late = 100 * instance.late_penalty * max(0, end - int(instance.deadline[j]))
    time = (100 - cs) * instance.theta * (end - int(instance.release[j]))
    return late + time + cs * instance.gpu_types[kind].price * int(instance.run[j, kind])


def bound(instance: Instance, prices: tuple[int, ...]) -> int:
    """What the prices prove."""
    require(len(prices) == instance.jobs, f"{len(prices)} prices for {instance.jobs} jobs")
    for j, price in enumerate(prices):
        require(price >= 0, f"prices[{j}]: {price} is negative")
    horizon = sum(max(row) for row in instance.run.tolist()) + int(instance.release.max(initial=0))
    total = sum(prices)
    for kind, gpus in enumerate(instance.gpu_types):
        rows = [row for j, price in enumerate(prices) if (row := _row(instance, j, kind, price, horizon))]
        ticks = max((row[3] for row in rows), default=-1) + 1
        require(ticks <= LONGEST, f"prices: jobs pay for {ticks} ticks; at most {LONGEST} are looked at")
        late = 100 * instance.late_penalty
        # Within 2^62 NumPy's integers are exact: no tick adds more than the dearest price, and no start costs more.
        exact = (ticks + 1) * max(prices, default=0) < 2**61
        find = least_numpy if rows and exact and len(rows) * ticks > SMALL else least_python
        total += gpus.count * find(rows, instance.deadline.tolist(), late, ticks)
    return total


def _row(instance: Instance, j: int, kind: int, price: int, horizon: int) -> Row | None:
    """The job on the type; None if no start pays. Costs never fall with time: the last start is found by halving."""
    release, run = int(instance.release[j]), int(instance.run[j, kind])
    low, high = release - 1, horizon - run
    while low < high:
        middle = (low + high + 1) // 2
        if _cost(instance, j, kind, middle + run) < price:
            low = middle
        else:
            high = middle - 1
    if low < release:
        return None
    slope = (100 - int(instance.cost_sensitivity[j])) * instance.theta
    money = int(instance.cost_sensitivity[j]) * instance.gpu_types[kind].price * run
    return j, release, run, low, slope * (run - release) + money - price, slope


def least_python(rows: list[Row], deadline: list[int], late: int, ticks: int) -> int:
    """V(0) of a type."""
    best, other, first = [0] * (ticks + 1), [0] * (ticks + 1), [-1] * (ticks + 1)
    for t in range(ticks - 1, -1, -1):
        a, b, head = best[t + 1], other[t + 1], first[t + 1]
        for j, release, run, last, base, slope in rows:
            if not release <= t <= last:
                continue
            end = t + run
            value = base + slope * t + late * max(0, end - deadline[j])
            if end < ticks:
                value += other[end] if first[end] == j else best[end]
            if value < a:
                a, b, head = value, b if head == j else a, j
            elif value < b and j != head:
                b = value
        best[t], other[t], first[t] = a, b, head
    return best[0]


def least_numpy(rows: list[Row], deadline: list[int], late: int, ticks: int) -> int:
    """The same, all jobs of a tick at once."""
    rows = sorted(rows, key=lambda row: -row[3])
    job, release, run, last, base, slope = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    due = np.array(deadline, dtype=np.int64)[job] - run
    paying = np.searchsorted(-last, -np.arange(ticks), side="right").tolist()  # those that pay at a tick come first
    released, none = int(release.max()), np.int64(2**62)
    size = ticks + int(run.max()) + 1
    best, other, first = np.zeros(size, np.int64), np.zeros(size, np.int64), np.full(size, -1, np.int64)
    for t in range(ticks - 1, -1, -1):
        n = paying[t]
        end = t + run[:n]
        value = np.where(first[end] == job[:n], other[end], best[end])
        value += base[:n] + slope[:n] * t + late * np.maximum(0, t - due[:n])
        if t < released:
            value[release[:n] > t] = none
        head = first[t + 1]
        best[t], other[t], first[t] = best[t + 1], other[t + 1], head
        if not n:
            continue
        i = int(value.argmin())
        if value[i] < best[t]:
            best[t], first[t] = value[i], job[i]
            if head != job[i]:
                other[t] = best[t + 1]
        value[job[:n] == first[t]] = none
        other[t] = min(int(other[t]), int(value.min()))
    return int(best[0])


if __name__ == "__main__":
    sys.exit(run_checker(parse_instance, verify, sys.argv[1:]))
