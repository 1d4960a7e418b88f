"""Exact verification of a schedule, in Python integers, from the data alone; shares nothing with what it judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ratiobench.formulations.report import ConstraintViolation
from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Instance, Model, Piece, Solution, Window
from ratiobench.instances.io.errors import shorten


@dataclass(frozen=True, slots=True)
class CheckReport:
    valid: bool  # no rule is broken
    violations: tuple[ConstraintViolation, ...]  # every broken rule found
    value: int | None  # the objective, how many jobs are met; None when the schedule is not valid
    # per job, whether its work is done in the seconds before its deadline; a job whose pieces break a rule is not.
    met: tuple[bool, ...]
    # per job, the first whole second at which its work is done, also after the deadline; None where it is never.
    ends: tuple[int | None, ...]
    moves: int  # changes of share or side, and restarts, of all jobs; a first start is none
    gpu_seconds: int  # gpu_seconds, edge_seconds: how long GPUs and edge servers are in use, stalls included
    edge_seconds: int

    def document(self) -> dict[str, Any]:
        return {
            "valid": self.valid,
            "met": self.value,
            "moves": self.moves,
            "gpu_seconds": self.gpu_seconds,
            "edge_seconds": self.edge_seconds,
            "violations": [str(violation) for violation in self.violations],
        }


def check(instance: Instance, solution: Solution) -> CheckReport:
    """Verify a schedule and count the jobs that it meets, exactly."""
    breaches: list[ConstraintViolation] = []
    if len(solution) != instance.jobs:
        breaches.append(ConstraintViolation("1", None, f"{len(solution)} decisions for {instance.jobs} jobs"))
    met, ends = [False] * instance.jobs, [None] * instance.jobs  # type: list[bool], list[int | None]
    good: list[Piece] = []
    moves = 0
    for i, raw in enumerate(solution[: instance.jobs]):
        job, model = instance.job(i), instance.models[int(instance.model[i])]
        wrong = _broken(instance, model, job.submit, raw)
        if wrong is not None:
            breaches.append(ConstraintViolation(wrong[0], i, wrong[1], "job"))
            continue
        pieces = [Piece(*(int(x) for x in piece)) for piece in raw]
        good += pieces
        runs = join_pieces(pieces)
        moves += max(0, len(runs) - 1)
        ends[i] = finish(model, job.work, runs)
        end = ends[i]
        met[i] = end is not None and end <= job.deadline
    breaches += _crowded(instance.gpus, instance.edge, good)
    return CheckReport(
        valid=not breaches,
        violations=tuple(breaches),
        value=None if breaches else sum(met),
        met=tuple(met),
        ends=tuple(ends),
        moves=moves,
        gpu_seconds=sum(p.gpus * (p.end - p.start) for p in good if p.place == CLOUD),
        edge_seconds=sum(p.end - p.start for p in good if p.place == EDGE),
    )


def join_pieces(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, each that continues the one before (same place and GPUs, no gap) made one with it."""
    runs: list[Piece] = []
    for piece in pieces:
        if runs and (runs[-1].end, *runs[-1][2:]) == (piece.start, *piece[2:]):
            runs[-1] = runs[-1]._replace(end=piece.end)
        else:
            runs.append(piece)
    return runs


def finish(model: Model, work: int, runs: Sequence[Piece]) -> int | None:
    """The first whole second at which the work is done; None where it never is. Rule 4."""
    left, before = work, None
    for run in runs:
        stall = model.overhead_s
        if before is not None and before != run.place:
            stall += model.edge_overhead_s
        before = run.place
        speed = model.edge_speed if run.place == EDGE else model.speed[model.gpus.index(run.gpus)]
        seconds = max(0, run.end - run.start - stall)
        if speed * seconds >= left:
            return run.start + stall + -(-left // speed)
        left -= speed * seconds
    return None


def _broken(instance: Instance, model: Model, submit: int, raw: Any) -> tuple[str, str] | None:
    """The first rule that a job's pieces break by themselves, and how."""
    last = submit
    for j, piece in enumerate(raw):
        if len(piece) != 4 or not all(isinstance(x, Integral) and not isinstance(x, bool) for x in piece):
            return "1", f"piece {j} is {shorten(piece)}, not four integers"
        start, end, place, gpus = (int(x) for x in piece)
        if start >= end:
            return "1", f"piece {j} ends at {end}, it begins at {start}"
        if start < last:
            since = "the job is submitted" if j == 0 else "the piece before ends"
            return "1", f"piece {j} begins at {start}, {since} at {last}"
        last = end
        if place == CLOUD:
            if gpus not in model.gpus or gpus > instance.gpus:
                return "2", f"piece {j} runs on {gpus} GPUs, {shorten(model.name)} has no such share here"
        elif place == EDGE:
            if gpus != 1 or model.edge_speed == 0:
                why = "one GPU is what runs there" if model.edge_speed else f"{shorten(model.name)} does not fit there"
                return "2", f"piece {j} runs on an edge server on {gpus} GPUs, {why}"
            if not any(window.start <= start and end <= window.end for window in instance.edge):
                return "3", f"piece {j} runs on an edge server from {start} to {end}, not within one window"
        else:
            return "2", f"piece {j} runs at place {place}, not 0 (cloud) or 1 (edge)"
    return None


def _crowded(gpus: int, windows: Sequence[Window], pieces: Sequence[Piece]) -> list[ConstraintViolation]:
    """The first seconds in which more GPUs, and more edge servers, are in use than there are."""
    found = []
    change: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for piece in pieces:
        for second, by in ((piece.start, piece.gpus), (piece.end, -piece.gpus)):
            change[second][piece.place] += by
    for window in windows:
        change[window.start][2] += window.servers
        change[window.end][2] -= window.servers
    used = [0, 0, 0]
    crowded = [False, False]
    for second in sorted(change):
        for k in range(3):
            used[k] += change[second][k]
        if used[CLOUD] > gpus and not crowded[CLOUD]:
            crowded[CLOUD] = True
            found.append(
                ConstraintViolation("3", None, f"{used[CLOUD]} GPUs in use at second {second}, there are {gpus}")
            )
        if used[EDGE] > used[2] and not crowded[EDGE]:
            crowded[EDGE] = True
            found.append(
                ConstraintViolation("3", None, f"{used[EDGE]} edge servers in use at second {second} of {used[2]}")
            )
    return found
