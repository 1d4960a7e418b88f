"""Exact figures about a run, its time line, and what the family adds to `evaluate`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ratiobench.bench.family.capabilities import (
    EvaluationSupport,
    Loss,
    LossReport,
    Refusal,
    SizeRange,
    Timeline,
    TimeSeries,
)
from ratiobench.bench.family.checks import Check
from ratiobench.bench.show import clock_text
from ratiobench.formulations.edgeflow.check import check, join_pieces
from ratiobench.instances.edgeflow.model import CLOUD, DAY, Instance, Job, Model, Piece, Solution, is_hopeless, span
from ratiobench.instances.edgeflow.tables import arrivals
from ratiobench.instances.io.seeds import Stream
from ratiobench.online.outcome import OnlineRun

PLACES = 240  # A time line has at most so many times, but for one that is not whole
STEPS = (1, 10, 60, 300, 600, 1800, 3600, 10_800, 43_200, DAY)
HOPELESS, NEVER, LATE = "cannot be met", "never ran", "ran and missed"
REASONS = {
    HOPELESS: "its deadline is too early even with the whole cloud and an edge server to itself",
    NEVER: "declined, or never given a GPU or a server before its deadline",
    LATE: "given GPUs or a server, but too few or too late",
}


def timeline(instance: Instance, run: OnlineRun) -> Timeline:
    end = max([span(instance), *(piece.end for pieces in run.decisions for piece in pieces), 1])
    step = next((each for each in STEPS if -(-end // each) <= PLACES), -(-end // PLACES))
    count = -(-end // step)
    met = check(instance, run.decisions).met
    jobs = [instance.job(i) for i in range(instance.jobs)]
    cloud = _use(
        ((p.start, p.end, p.gpus) for pieces in run.decisions for p in pieces if p.place == CLOUD), step, count
    )
    edge = _use(((p.start, p.end, 1) for pieces in run.decisions for p in pieces if p.place != CLOUD), step, count)
    most = max((window.servers for window in instance.edge), default=0)
    loads = [TimeSeries("cloud GPUs", [Fraction(each, step * instance.gpus) for each in cloud])]
    if most:
        there = _use(((w.start, w.end, w.servers) for w in instance.edge), step, count)
        loads += [
            TimeSeries("edge servers", [Fraction(each, step * most) for each in edge]),
            TimeSeries("edge servers idle", [Fraction(each, step * most) for each in there]),
        ]
    refused = []
    for job, done, pieces in zip(jobs, met, run.decisions, strict=True):
        if not done:
            reason = HOPELESS if is_hopeless(instance, job) else LATE if pieces else NEVER
            about = f"{instance.models[job.model].name}, {job.deadline - job.submit:,} s to its deadline"
            refused.append(Refusal(job.index, job.submit // step + 1, reason, about))
    admitted = [0] * count
    for job, done in zip(jobs, met, strict=True):
        admitted[job.submit // step] += done
    return Timeline(
        unit=_unit(step), times=range(1, count + 1), loads=loads, prices={}, admitted=admitted, refused=refused,
        reasons=REASONS, clock=[clock_text(k * step) for k in range(count)],
        clock_title="time since the instance began",
        asked=[Fraction(each, step * instance.gpus) for each in _use(_asked(instance, jobs), step, count)],
    )  # fmt: skip


def _use(spans: Iterable[tuple[int, int, int]], step: int, count: int) -> list[int]:
    """The amount times the seconds in each step, of (from, to, amount)."""
    found = [0] * count
    for start, end, amount in spans:
        for k in range(start // step, min(count, -(-end // step))):
            found[k] += amount * (min(end, (k + 1) * step) - max(start, k * step))
    return found


def _asked(instance: Instance, jobs: Sequence[Job]) -> Iterable[tuple[int, int, int]]:
    """What the jobs that can be met would use if each ran at once, with the least share that meets it."""
    for job in jobs:
        model = instance.models[job.model]
        window = job.deadline - job.submit - model.overhead_s
        for gpus, speed in model.useful(instance.gpus):
            if window > 0 and speed * window >= job.work:
                yield job.submit, job.submit + model.overhead_s + -(-job.work // speed), gpus
                break


def _unit(step: int) -> str:
    for size, word in ((DAY, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if step % size == 0:
            return word if step == size else f"{step // size}-{word} slot"
    raise AssertionError(step)


MEASURES = ("satisfied", "moves", "crossings", "stalled_s", "gpu_use", "well_used")


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check] = ()) -> Mapping[str, Fraction | None]:
    """Exact figures by name; stalled_s: seconds per job in which it stands still because it starts or moves."""
    found = check(instance, run.decisions)
    first = int(instance.submit.min()) if instance.jobs else 0
    whole = instance.gpus * (span(instance) - first)
    stalls = crossings = use = met_use = 0
    for i, pieces in enumerate(run.decisions):
        runs = join_pieces(pieces)
        crossings += sum(one.place != other.place for one, other in pairwise(runs))
        stalls += sum(each for _, each in find_stalls(instance.models[int(instance.model[i])], runs))
        mine = sum(p.gpus * max(0, min(p.end, span(instance)) - p.start) for p in runs if p.place == CLOUD)
        use += mine
        met_use += found.met[i] * mine

    def part(count: int, of: int) -> Fraction | None:
        return Fraction(count, of) if of else None

    return {
        "satisfied": part(found.value or 0, instance.jobs),
        "moves": part(found.moves, instance.jobs),
        "crossings": part(crossings, instance.jobs),
        "stalled_s": part(stalls, instance.jobs),
        "gpu_use": part(use, whole),
        "well_used": part(met_use, use),
    }


def find_stalls(model: Model, runs: Sequence[Piece]) -> Iterator[tuple[Piece, int]]:
    """Each piece with the seconds in which the job stands still; no piece continues another."""
    before: Piece | None = None
    for piece in runs:
        stall = model.overhead_s + model.edge_overhead_s * (before is not None and before.place != piece.place)
        yield piece, min(stall, piece.end - piece.start)
        before = piece


_CLUSTERS = ("pai", "philly", "helios")


def tiny_recipe(seed: int, number: int) -> Mapping[str, Any]:
    """Ten jobs of a cluster's day on one to four GPUs, half of the time with an edge server."""
    return {
        "kind": "gpu-day",
        "name": f"tiny_{seed}_{number}",
        "seed": ["evaluate", seed, number],
        "cluster": _CLUSTERS[number % 3],
        "day": number % 5,
        "jobs": 10,
        "gpus": (1, 2, 4)[number // 3 % 3],
        "node_gpus": 4,
        "servers": number % 2,
    }


def draw_day(recipe: Mapping[str, Any], stream: Stream) -> Mapping[str, Any]:
    """The recipe with another day of the same cluster, unless the durations are those of its day."""
    if recipe.get("kind") != "gpu-day" or recipe.get("durations") == "day":
        return recipe
    own = recipe.get("day", 0)
    others = [day for day in range(len(arrivals(recipe.get("cluster", "pai")))) if day != own]
    return {**recipe, "day": others[stream.integer(0, len(others) - 1)]}


def explain_loss(instance: Instance, decisions: Solution, best: Solution) -> LossReport:
    met, best_met = check(instance, decisions).met, check(instance, best).met
    missed = [i for i in range(instance.jobs) if best_met[i] and not met[i]]
    extra = [i for i in range(instance.jobs) if met[i] and not best_met[i]]
    used = [_gpu_seconds(pieces) for pieces in decisions]
    wasted = sum(amount for amount, hit in zip(used, met, strict=True) if not hit)
    losses = [_missed(instance, i, decisions, best[i], met) for i in missed]
    losses.sort(key=lambda each: (-each.figures["done"], each.arrival))
    summary = [
        f"The best known solution meets the deadlines of {len(missed)} jobs that the policy misses; the policy meets "
        f"those of {len(extra)} jobs that the best known solution misses."
    ]
    if total := sum(used):
        share = 100 * wasted / total
        summary.append(f"{share:.1f} % of the policy's GPU-seconds went to jobs that miss their deadline after all.")
    never = sum(not decisions[i] for i in missed)
    if never:
        summary.append(f"{never} of the missed jobs never ran.")
    return LossReport(summary, losses)


def _progress(instance: Instance, i: int, pieces: Sequence[Piece]) -> int:
    """Milli-iterations that are done by the deadline."""
    model, deadline = instance.models[int(instance.model[i])], int(instance.deadline[i])
    speed = dict(zip(model.gpus, model.speed, strict=True))
    in_time = [piece._replace(end=min(piece.end, deadline)) for piece in pieces if piece.start < deadline]
    done = 0
    for piece, stall in find_stalls(model, join_pieces(in_time)):
        rate = speed[piece.gpus] if piece.place == CLOUD else model.edge_speed
        done += rate * (piece.end - piece.start - stall)
    return done


def _gpu_seconds(pieces: Sequence[Piece]) -> int:
    return sum((piece.end - piece.start) * piece.gpus for piece in pieces if piece.place == CLOUD)


def _missed(instance: Instance, i: int, decisions: Solution, best: Sequence[Piece], met: Sequence[bool]) -> Loss:
    job = instance.job(i)
    done = min(1.0, _progress(instance, i, decisions[i]) / max(1, job.work))
    first, best_first = (pieces[0].start if pieces else None for pieces in (decisions[i], best))
    text = f"job {i} is submitted at {job.submit} s with deadline {job.deadline} s"
    text += f"; the best known solution starts it at {best_first} s on {best[0].gpus} "
    text += "GPUs" if best[0].place == CLOUD else "edge server"
    text += f" and uses {_gpu_seconds(best):,} GPU-seconds"
    if first is None:
        text += ". It never ran"
    else:
        text += f". It started at {first} s and had done {100 * done:.0f} % of its work at its deadline"
    holders = _holders(decisions, best, i)
    if holders:
        named = ", ".join(f"job {j}{'' if met[j] else ' (missed as well)'}" for j in holders[:3])
        text += f"; in that time most GPU-seconds went to {named}"
    figures = {
        "arrival": i, "kind": "missed", "submit": job.submit, "deadline": job.deadline, "done": round(done, 6),
        "best_pieces": [list(piece) for piece in best], "pieces": [list(piece) for piece in decisions[i]],
        "held_by": [{"arrival": j, "met": met[j]} for j in holders[:3]],
    }  # fmt: skip
    return Loss(i, 1, f"{text}.", figures)


def _holders(decisions: Solution, best: Sequence[Piece], i: int) -> list[int]:
    """Other jobs by the GPU-seconds that they used while the best known solution runs the job."""
    used: dict[int, int] = {}
    for j, pieces in enumerate(decisions):
        for piece in pieces if j != i else ():
            for ours in best:
                shared = min(piece.end, ours.end) - max(piece.start, ours.start)
                if shared > 0 and piece.place == ours.place:
                    used[j] = used.get(j, 0) + shared * piece.gpus
    return sorted(used, key=lambda j: (-used[j], j))


EVALUATION = EvaluationSupport(
    tiny_recipe,
    {"parts": SizeRange(1, 120, 10), "days": SizeRange(121, 300, 4)},
    ("edf", "elasticflow", "edgeflow", "hold", "hold:edge=none"),
    explain_loss,
    draw_day,
)
