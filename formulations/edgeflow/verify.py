"""The checker of certificates `ratiobench/edgeflow-certificate/1`; with what makes them it shares their format.

Let a GPU second of cell k cost lam_k, an edge second mu_k, and job i's work W_i be worth w_i. Its run of x seconds at
speed s earns at most w_i s (x - overhead) / W_i; the most that job i can earn less its cost, N_i, is found cell by cell
(a change within a cell is never better than one at its ends, and what a change of side adds makes N_i larger). A
schedule that meets job i earns w_i, so it costs at least w_i - N_i; all schedules cost at most what everything costs,

    S = sum_k length_k (G lam_k + servers_k mu_k).

So at most S + sum_i max(0, 1 - w_i + N_i) jobs are met; one that its fastest speed cannot finish counts 0.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from msgspec import Meta

from ratiobench.formulations.checksums import CertificateFiles, Verdict, check_certificate, require, run_checker
from ratiobench.instances.edgeflow.format import content_hash
from ratiobench.instances.edgeflow.format import parse as parse_instance
from ratiobench.instances.edgeflow.model import Instance, Job, Model, Piece, Solution
from ratiobench.instances.io.documents import Digest, Number, Signed

FORMAT = "ratiobench/edgeflow-certificate/1"
PRICE_LIMIT = 2**62

Price = Annotated[int, Meta(ge=0, le=PRICE_LIMIT)]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim lower <= OPT <= upper about one instance, with what proves it."""

    instance: Digest  # of its content
    scale: Annotated[int, Meta(ge=1, le=PRICE_LIMIT)]  # prices and worths are in 1/scale jobs
    points: tuple[Signed, ...]  # seconds, ascending: prices are constant from each one to the next
    # gpu_prices, edge_prices: one less than points: of a second of a GPU, and of an edge server.
    gpu_prices: tuple[Price, ...]
    edge_prices: tuple[Price, ...]
    worths: tuple[Price, ...]  # per job, of its whole work
    upper: Number  # upper, lower: jobs, as claimed
    lower: Number
    decisions: Solution  # the schedule that meets `lower` jobs


FILES = CertificateFiles(Certificate, FORMAT)
document, seal, parse, read, write = FILES.document, FILES.seal, FILES.parse, FILES.read, FILES.write


# What a valid certificate proves, and how
PROVES = (
    "the decisions are a schedule that meets `lower` jobs in time; and at the prices of GPU and edge seconds the worth "
    "of all capacity plus what every job gains at most is `upper` jobs, which no schedule exceeds (weak duality)"
)


def verify(instance: Instance, data: Any, source: str = "<document>") -> Verdict[Certificate]:
    """Recompute every number of a decoded certificate document from the instance."""
    return check_certificate(FILES, content_hash, _prove, instance, data, source)


def _prove(instance: Instance, certificate: Certificate) -> None:
    lower = met(instance, certificate.decisions)
    require(lower == certificate.lower, f"lower: {certificate.lower} claimed; the schedule meets {lower}")
    upper = most(instance, certificate)
    require(upper == certificate.upper, f"upper: {certificate.upper} claimed; the prices prove {upper}")
    require(lower <= upper, f"lower {lower} is above upper {upper}")


def met(instance: Instance, decisions: Solution) -> int:
    """How many jobs a schedule meets; CertificateError names the first rule that it breaks."""
    require(len(decisions) == instance.jobs, f"{len(decisions)} decisions for {instance.jobs} jobs")
    found = 0
    change: dict[int, list[int]] = {}
    for i, pieces in enumerate(decisions):
        job = instance.job(i)
        model = instance.models[job.model]
        last, done, stall = job.submit, 0, 0
        before: Piece | None = None
        for piece in pieces:
            start, end, place, gpus = piece
            require(last <= start < end, f"(1) job {i}: {list(piece)} does not begin at {last} or later and end later")
            speed = _speed(instance, model, i, piece)
            for second, sign in ((start, 1), (end, -1)):
                change.setdefault(second, [0, 0])[place] += sign * gpus
            # What goes on without a change goes on with what is left of its stall.
            if before is None or (before.end, *before[2:]) != (start, place, gpus):
                crossed = before is not None and before.place != place
                stall = model.overhead_s + (model.edge_overhead_s if crossed else 0)
            done += speed * max(0, min(end, job.deadline) - start - stall)
            stall, last, before = max(0, stall - (end - start)), end, piece
        found += done >= job.work
    used = [0, 0]
    for second in sorted(change.keys() | {w.start for w in instance.edge} | {w.end for w in instance.edge}):
        for place, by in enumerate(change.get(second, (0, 0))):
            used[place] += by
        servers = sum(w.servers for w in instance.edge if w.start <= second < w.end)
        require(used[0] <= instance.gpus, f"(3) {used[0]} GPUs in use at second {second}")
        require(used[1] <= servers, f"(3) {used[1]} edge servers in use at second {second}")
    return found


def _speed(instance: Instance, model: Model, i: int, piece: Piece) -> int:
    start, end, place, gpus = piece
    if place == 1:
        within = any(w.start <= start and end <= w.end for w in instance.edge)
        require(gpus == 1 and model.edge_speed > 0 and within, f"(2) job {i}: {list(piece)} is no run on the edge")
        return model.edge_speed
    shares = dict(zip(model.gpus, model.speed, strict=True))
    require(place == 0 and gpus in shares and gpus <= instance.gpus, f"(2) job {i}: {list(piece)} is no share of it")
    return shares[gpus]


def most(instance: Instance, certificate: Certificate) -> int:
    """The most jobs that can be met, as the certificate's prices prove it."""
    points, scale = certificate.points, certificate.scale
    lam, mu = certificate.gpu_prices, certificate.edge_prices
    require(len(lam) == len(mu) == len(points) - 1, f"prices: {len(lam)} and {len(mu)} for {len(points)} points")
    require(all(a < b for a, b in pairwise(points)), "points: not ascending")
    require(len(certificate.worths) == instance.jobs, f"worths: {len(certificate.worths)} for {instance.jobs} jobs")
    servers = []
    for start, end in pairwise(points):
        for window in instance.edge:
            for second in (window.start, window.end):
                require(not start < second < end, f"points: the edge changes at {second}, which is none of them")
        servers.append(sum(w.servers for w in instance.edge if w.start <= start < w.end))
    cells = list(zip(points, points[1:], lam, mu, servers, strict=False))
    total = sum((b - a) * (instance.gpus * price + count * edge) for a, b, price, edge, count in cells)
    begin = 0
    for i, worth in enumerate(certificate.worths):
        job = instance.job(i)
        while begin < len(cells) - 1 and cells[begin][1] <= job.submit:
            begin += 1
        total += _left(instance, job, worth, scale, cells[begin:])
    return total // scale


def _left(instance: Instance, job: Job, worth: int, scale: int, cells: list[tuple[int, int, int, int, int]]) -> int:
    """max(0, 1 - w + N) of a job in 1/scale jobs, rounded up; jobs come in order of submission."""
    model, work = instance.models[job.model], job.work
    modes = [(gpus, speed) for gpus, speed in zip(model.gpus, model.speed, strict=True) if gpus <= instance.gpus]
    if model.edge_speed and any(w.start < job.deadline and job.submit < w.end for w in instance.edge):
        modes.append((0, model.edge_speed))
    fastest = max((speed for _, speed in modes), default=0)
    if fastest * (job.deadline - job.submit - model.overhead_s) < work:
        return 0
    require(
        bool(cells) and cells[0][0] <= job.submit and job.deadline <= cells[-1][1],
        f"points: they do not hold the window of job {job.index}",
    )
    # All in 1/(scale W): N, and the best of every run that goes on.
    best, runs = 0, [None] * len(modes)  # type: int, list[int | None]
    for start, end, price, edge_price, servers in cells:
        if start >= job.deadline:
            break
        seconds = min(end, job.deadline) - max(start, job.submit)
        top = best
        for m, (gpus, speed) in enumerate(modes):
            if gpus == 0 and servers == 0:
                runs[m] = None
                continue
            fresh, on = best - worth * speed * model.overhead_s, runs[m]
            net = (fresh if on is None or on < fresh else on) + seconds * (
                worth * speed - work * (gpus * price if gpus else edge_price)
            )
            runs[m] = net
            top = max(top, net)
        best = top
    return max(0, scale - worth - -best // work)


if __name__ == "__main__":
    sys.exit(run_checker(parse_instance, verify, sys.argv[1:]))
