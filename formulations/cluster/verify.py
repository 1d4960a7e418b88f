"""The checker of certificates: both ends of an interval on OPT, recomputed from the instance's data alone.

It shares no code with what computed them: of this project it uses the readers of instance and certificate files and the
check of schedules, beyond that integers. Short, exact and easy to read is the point.

Lower end. Prices lambda_cq(i) >= 0 belong to classes c of jobs of equal shape and pools, to pools q and to segments
i = [b_i, b_i+1); there is none outside the segments. Let Phi_cq be the integral over time. In every second of a segment
the jobs that run on a pool are a packing of their pieces into the free GPUs of its nodes, so that for every h

    sum_c n_c m_c floor(k_c / h) <= sum over nodes of floor(F / h),    n_c <= N_c(i),

where F is the greatest number of GPUs that the node has free in the segment, and N_c(i) counts the jobs of the class
released before b_i+1, at most as many as can run at once. V_q(i) is the least, over h, of the greatest
sum_c n_c lambda_cq(i). Integrating what runs over time: every schedule costs at least

    sum_j min over q, s >= r_j of [c_j(s) + Phi(s + p_j) - Phi(s)] - sum_q sum_i (b_i+1 - b_i) V_q(i).

The minimum over s is at r_j, at the kink of c_j, at a border, or at a border less p_j.

Branches split the schedules by the second in which a job starts, so that the sum holds in each leaf for prices of its
own, with s between the first and the last start that the leaf allows; the least of all leaves holds for all schedules.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ratiobench.formulations.checksums import CertificateError, Verdict, require, run_checker
from ratiobench.formulations.cluster.certificate import Certificate, PriceRow, parse, seal
from ratiobench.formulations.cluster.check import check
from ratiobench.instances.cluster.format import content_hash
from ratiobench.instances.cluster.format import parse as parse_instance
from ratiobench.instances.cluster.model import Instance

# What a valid certificate proves, and how
PROVES = (
    "the schedule costs at most `upper`; and at the prices of classes, pools and times, what any schedule costs is at "
    "least `lower` (weak duality)"
)

SAFE = 2**61  # NumPy's integers are exact below; beyond, Python's are used
MOST_CELLS = 2**27  # Nodes of a pool times segments
ANY_START = 2**60  # The last start of a job that no branch limits
Key = tuple[int, int]  # A class and a pool
MOST_UNITS = 4096  # GPUs of a knapsack; of more, sizes and room are rounded down together, which only adds value


def verify(instance: Instance, data: Any, source: str = "<document>") -> Verdict[Certificate]:
    """Check a decoded certificate document against an instance: every number in it is recomputed and must be equal."""
    certificate = parse(data, source)
    try:
        require(certificate.instance == content_hash(instance), "the certificate is about another instance")
        for name in ("classes", "starts", "pools"):
            length, n = len(getattr(certificate, name)), len(instance.jobs)
            require(length == n, f"{name}: {length} entries for {n} jobs")
        report = check(instance, certificate.decisions, certificate.cost)
        if report.cost is None:
            raise CertificateError(str(report.violations[0]))
        upper = -(-report.cost.numerator * certificate.scale // report.cost.denominator)
        require(upper == certificate.scaled_upper, f"upper: {certificate.scaled_upper} claimed; the cost is {upper}")
        lower = bound(instance, certificate)
        require(lower == certificate.scaled_lower, f"lower: {certificate.scaled_lower} claimed; proved is {lower}")
        require(lower <= upper, f"lower {lower} is above upper {upper}")
        require(seal(certificate) == certificate.sha256, "sha256: the certificate was changed after it was made")
    except CertificateError as wrong:
        return Verdict(False, str(wrong), certificate)
    return Verdict(True, "", certificate)


def bound(instance: Instance, certificate: Certificate) -> int:
    """What the prices prove, in 1/scale; CertificateError if they are no prices of this instance."""
    leaves = _split_starts(instance, certificate)
    require(all(a < b for a, b in pairwise(certificate.borders)), "borders: they do not ascend")
    given: list[list[PriceRow]] = [[] for _ in leaves]
    for row in certificate.rows:
        require(row.leaf < len(leaves), f"prices of class {row.job_class}: there is no leaf {row.leaf}")
        given[row.leaf].append(row)
    rows = [_check_rows(instance, certificate, own) for own in given]
    proved = []
    for starts, own in zip(leaves, rows, strict=True):
        tables = {key: _Prices(certificate, row) for key, row in own.items() if row.prices}
        costs = (_least_cost(instance, certificate, tables, j, starts.get(j)) for j in range(len(instance.jobs)))
        proved.append(sum(costs))
    for q in range(len(instance.pools)):
        free = _greatest_free(instance, certificate, q)
        for leaf, own in enumerate(rows):
            proved[leaf] -= _packings(instance, certificate, own, q, free)
    total = min(proved)
    if certificate.cost != "slowdown":  # whole seconds, so that OPT is an integer
        total = -(-total // certificate.scale) * certificate.scale
    return total


def _split_starts(instance: Instance, certificate: Certificate) -> list[dict[int, tuple[int, int]]]:
    """Of every leaf the first and the last second at which a job may start, of the jobs that branches limit."""
    release = instance.jobs.release.tolist()
    leaves: list[dict[int, tuple[int, int]]] = [{}]
    for branch in certificate.branches:
        leaf, j, second = branch.leaf, branch.job, branch.second
        require(leaf < len(leaves) and j < len(release), f"branches: there is no leaf {leaf} or no job {j}")
        first, last = leaves[leaf].get(j, (release[j], ANY_START))
        require(first < second <= last, f"branches: the starts of job {j} in leaf {leaf} cannot be split at {second}")
        leaves.append(leaves[leaf] | {j: (second, last)})
        leaves[leaf][j] = first, second - 1
    return leaves


def _check_rows(instance: Instance, certificate: Certificate, given: list[PriceRow]) -> dict[Key, PriceRow]:
    """A leaf's rows by class and pool; all jobs of a class have one shape."""
    jobs, borders = instance.jobs, certificate.borders
    shapes: dict[int, tuple[Any, ...]] = {}
    columns = (jobs.nodes.tolist(), jobs.gpus.tolist(), jobs.allowed.tolist())
    for c, nodes, gpus, allowed in zip(certificate.classes, *columns, strict=True):
        shape = (nodes, gpus, allowed)
        require(shapes.setdefault(c, shape) == shape, f"classes: jobs of class {c} differ in shape or pools")
    rows: dict[Key, PriceRow] = {}
    for row in given:
        where = f"prices of class {row.job_class} on pool {row.pool}"
        require(row.job_class in shapes and row.pool < len(instance.pools), f"{where}: there is no such class or pool")
        require(shapes[row.job_class][2][row.pool], f"{where}: the class may not use the pool")
        require((row.job_class, row.pool) not in rows, f"{where}: they are given twice")
        require(row.first + len(row.prices) < len(borders), f"{where}: outside the segments")
        require(min(row.prices, default=0) >= 0, f"{where}: one is negative")
        rows[row.job_class, row.pool] = row
    return rows


def _array(values: Sequence[int], most: int) -> Any:
    """Integers as NumPy's if nothing computed of them exceeds `most` and that is safe; else as Python's."""
    return np.array(values, dtype=np.int64 if most < SAFE else object)


class _Prices:
    """The prices of a row with a 0 behind them, its borders, and the integral of its prices up to each border."""

    def __init__(self, certificate: Certificate, row: PriceRow) -> None:
        borders = certificate.borders[row.first : row.first + len(row.prices) + 1]
        self.last = borders[-1]
        self.integral = sum(p * (b - a) for p, (a, b) in zip(row.prices, pairwise(borders), strict=True))
        self.borders, self.prices = np.array(borders), _array([*row.prices, 0], self.integral)
        self.sums = np.concatenate((self.prices[:1] * 0, np.cumsum(self.prices[:-1] * np.diff(self.borders))))

    def phi(self, moments: Any) -> Any:
        """The integral up to these seconds."""
        at = np.maximum(0, np.searchsorted(self.borders, moments, "right") - 1)
        return self.sums[at] + self.prices[at] * np.maximum(0, moments - self.borders[at])


def _least_cost(
    instance: Instance, certificate: Certificate, tables: dict[Key, _Prices], j: int, limits: tuple[int, int] | None
) -> int:
    """min over q and s >= r_j, or within the limits of its leaf, of floor(scale c_j(s)) + Phi(s + p_j) - Phi(s)."""
    jobs, scale = instance.jobs, certificate.scale
    submit, run = int(jobs.submit[j]), int(jobs.run[j])
    first, last = limits or (int(jobs.release[j]), ANY_START)
    width = int(jobs.nodes[j]) * int(jobs.gpus[j])
    weight = {"wait": 1, "wait-gpus": width, "wait-gpu-hours": width * run, "slowdown": 1}[certificate.cost]
    add, low, unit = (run, max(run, 10), max(run, 10)) if certificate.cost == "slowdown" else (0, 0, 1)
    least = []
    for q in np.flatnonzero(jobs.allowed[j]).tolist():
        row = tables.get((certificate.classes[j], q))
        if row is None:
            return scale * max(low, weight * (first - submit) + add) // unit
        ends = [first, max(first, submit + low - add), *([] if last == ANY_START else [last])]
        most = scale * (low + add + weight * (max(row.last, *ends) - submit)) + 2 * row.integral
        starts = np.concatenate((row.borders, row.borders - run, ends))
        starts = starts[(starts >= first) & (starts <= last)]
        wait = (starts - submit).astype(np.int64 if most < SAFE else object)
        cost = scale * np.maximum(low, weight * wait + add) // unit
        least.append(int((cost + row.phi(starts + run) - row.phi(starts)).min()))
    return min(least)


def _packings(instance: Instance, certificate: Certificate, rows: dict[Key, PriceRow], q: int, free: Any) -> int:
    """sum_i (b_i+1 - b_i) V_q(i)."""
    jobs, borders = instance.jobs, certificate.borders
    shape = dict(zip(certificate.classes, zip(jobs.nodes.tolist(), jobs.gpus.tolist(), strict=True), strict=True))
    releases: dict[int, list[int]] = {c: [] for c in shape}
    for c, release in zip(certificate.classes, jobs.release.tolist(), strict=True):
        releases[c].append(release)
    # (first segment, row, releases) of the classes that have prices here, in order of time
    priced = sorted((row.first, c, row, sorted(releases[c])) for (c, pool), row in rows.items() if pool == q)
    units = sorted({1, *(shape[c][1] for _, c, _, _ in priced)})
    total, come = 0, 0
    active: list[tuple[int, int, PriceRow, list[int]]] = []
    rooms: dict[tuple[int, ...], dict[int, tuple[int, int]]] = {}
    for i in range(len(borders) - 1):
        while come < len(priced) and priced[come][0] <= i:
            active.append(priced[come])
            come += 1
        active = [entry for entry in active if entry[0] + len(entry[2].prices) > i]
        nodes = tuple(free[:, i].tolist())
        if nodes not in rooms:  # of every unit: sum over nodes of floor(F / h), and nodes with at least h
            rooms[nodes] = {h: (sum(f // h for f in nodes), sum(f >= h for f in nodes)) for h in units}
        room = rooms[nodes]
        items = []  # price, nodes, GPUs, most
        for first, c, row, times in active:
            price, (m, k) = row.prices[i - first], shape[c]
            number = bisect_left(times, borders[i + 1])
            number = min(number, room[k][0] // m) if room[k][1] >= m else 0
            if price and number:
                items.append((price, m, k, number))
        if items:
            total += (borders[i + 1] - borders[i]) * min(_packing(items, h, room[h][0]) for h in units)
    return total


def _greatest_free(instance: Instance, certificate: Certificate, q: int) -> Any:
    """(nodes of the pool, segments) the greatest number of free GPUs of every node in every segment."""
    borders = np.array(certificate.borders)
    require(len(borders) * instance.pools[q].nodes <= MOST_CELLS, f"borders: more than {MOST_CELLS} segments of nodes")
    first, pool, running = int(instance.first_node[q]), instance.pools[q], instance.running
    held: dict[int, list[tuple[int, int, int]]] = {}
    owner = np.repeat(np.arange(len(running)), running.nodes).tolist()
    for i, node in zip(owner, running.node.tolist(), strict=True):
        held.setdefault(node - first, []).append((instance.begin, int(running.end[i]), int(running.gpus[i])))
    for closure in pool.closures:
        held.setdefault(closure.node, []).append((closure.start, closure.end, pool.gpus))
    free = np.full((pool.nodes, len(borders) - 1), pool.gpus)
    for node, spans in held.items():
        if not 0 <= node < pool.nodes:
            continue  # a running job of another pool
        # Free GPUs rise only where a span ends: the greatest is at a border or at such an end.
        free[node] = [_free_at(pool.gpus, spans, t) for t in certificate.borders[:-1]]
        for _, end, _ in spans:
            i = int(np.searchsorted(borders, end, "right")) - 1
            if 0 <= i < len(borders) - 1:
                free[node, i] = max(free[node, i], _free_at(pool.gpus, spans, end))
    return free


def _free_at(gpus: int, spans: list[tuple[int, int, int]], second: int) -> int:
    return max(0, gpus - sum(wide for start, end, wide in spans if start <= second < end))


def _packing(items: list[tuple[int, int, int, int]], h: int, room: int) -> int:
    """The greatest sum of prices of jobs whose pieces, counted in units of h GPUs, fit into the room."""
    rounding = -(-room // MOST_UNITS) if room > MOST_UNITS else 1
    room //= rounding
    value, total = 0, sum(price * number for price, _, _, number in items)
    by_size: dict[int, list[tuple[int, int]]] = {}
    for price, m, k, number in items:
        size = m * (k // h) // rounding
        if size:
            by_size.setdefault(size, []).append((price, number))
        else:
            value += price * number
    if sum(size * number for size, group in by_size.items() for _, number in group) <= room:
        return total
    best = _array([0] * (room + 1), total)
    for size, group in by_size.items():
        left = room // size  # Of equal sizes a best packing holds the dearest
        for price, number in sorted(group, reverse=True):
            rest, chunk = min(number, left), 1
            left -= rest
            while rest:  # chunks of 1, 2, 4, ... jobs and one of the rest: every number is a sum of some of them
                chunk = min(chunk, rest)
                best[size * chunk :] = np.maximum(best[size * chunk :], best[: -size * chunk] + price * chunk)
                rest, chunk = rest - chunk, 2 * chunk
    return value + int(best[room])


if __name__ == "__main__":
    sys.exit(run_checker(parse_instance, verify, sys.argv[1:]))
