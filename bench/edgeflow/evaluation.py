"""What the family adds to `evaluate`: tiny instances, shipped policies, and which jobs a run misses that OPT meets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ratiobench.bench.family.capabilities import EvaluationSupport, Loss, LossReport, SizeRange
from ratiobench.bench.family.checks import Check
from ratiobench.formulations.edgeflow.check import check, join_pieces
from ratiobench.instances.edgeflow.model import CLOUD, Instance, Model, Piece, Solution, span
from ratiobench.instances.edgeflow.tables import arrivals
from ratiobench.instances.io.seeds import Stream
from ratiobench.online.outcome import OnlineRun

MEASURES = ("satisfied", "moves", "crossings", "stalled_s", "gpu_use", "well_used")


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check] = ()) -> Mapping[str, Fraction | None]:
    """Exact figures by name; None where one is undefined.

    Returns stalled_s : seconds per job in which it stands still because it starts or moves.
    """
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
    """Each piece with the seconds of it in which the job stands still; of pieces none of which continues another."""
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
    """Which jobs the run misses that the best known solution meets, and what GPU time the missed jobs used."""
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
    """A job whose deadline the run misses and the best known solution meets."""
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
