"""Figures about a run beside the number of jobs met: the part that is met, how often jobs move, how GPUs are used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from ratiobench.bench.family.checks import Check
from ratiobench.formulations.edgeflow.check import check, join_pieces
from ratiobench.instances.edgeflow.model import CLOUD, Instance, Model
from ratiobench.instances.edgeflow.quantities import span
from ratiobench.instances.edgeflow.solution import Piece
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
