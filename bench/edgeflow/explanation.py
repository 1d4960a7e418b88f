"""A run on a small instance, second by second where something changes, with Gantt charts of it and of OPT."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ratiobench.bench.edgeflow.claims import CLAIMS
from ratiobench.bench.edgeflow.evaluation import find_stalls
from ratiobench.bench.family.capabilities import Explainer
from ratiobench.bench.family.checks import Check
from ratiobench.bench.family.explanation import Explanation, Figure, Grid, Listing, Moment, Square, explain_run
from ratiobench.bench.theory.claim import find_claim
from ratiobench.formulations.edgeflow.check import check as verify
from ratiobench.formulations.edgeflow.check import join_pieces
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.edgeflow.model import EDGE, Instance, Piece, Solution
from ratiobench.online.outcome import OnlineRun


def explain(instance: Instance, run: OnlineRun, reference: SolveReport, check: Check) -> Explanation:
    opt = "OPT" if reference.lower == reference.upper else "OPT or less"
    return explain_run(
        instance,
        run,
        reference,
        " jobs met",
        "A square says on how many GPUs a job runs, `e` on an edge server, `-` that it waits; a job that has just "
        "started or moved stands still for its stall.",
        tables=[_jobs(instance, run.decisions), _models(instance), _windows(instance)],
        moments=_moments(instance, run.decisions),
        outcome=[
            gantt(instance, run.decisions, "ALG"),
            *([gantt(instance, reference.solution, opt)] if reference.solution else []),
        ],
        ending=find_claim(CLAIMS, check.name).end_explanation(check),
    )


def _jobs(instance: Instance, solution: Solution) -> Listing:
    found = verify(instance, solution)
    rows: list[list[Figure]] = []
    for i in range(instance.jobs):
        job = instance.job(i)
        name = instance.models[job.model].name
        end = found.ends[i]
        done: Figure = "met" if found.met[i] else "missed"
        rows.append([i, name, job.submit, job.deadline, job.work, job.gpus, done, "never" if end is None else end])
    head = ["job", "model", "submitted", "deadline", "work, milli-iterations", "GPUs asked for", "deadline is", "done"]
    return Listing("Jobs", head, rows)


def _models(instance: Instance) -> Listing:
    rows: list[list[Figure]] = []
    for model in instance.models:
        stalls: list[Figure] = [model.overhead_s, model.edge_overhead_s]
        useful = dict(model.useful(instance.gpus))
        for gpus, speed in zip(model.gpus, model.speed, strict=True):
            rows.append([model.name, _some(gpus, "GPU") + ("" if gpus in useful else " (not useful)"), speed, *stalls])
        if model.edge_speed:
            rows.append([model.name, "edge server", model.edge_speed, *stalls])
    return Listing("Models", ["model", "on", "milli-iterations per s", "stall, s", "more to change sides, s"], rows)


def _windows(instance: Instance) -> Listing:
    rows: list[list[Figure]] = [["cloud", "always", _some(instance.gpus, "GPU")]]
    rows += [["edge", f"{each.start} to {each.end}", _some(each.servers, "server")] for each in instance.edge]
    return Listing("Places", ["place", "seconds", "there are"], rows)


def list_changes(instance: Instance, solution: Solution) -> list[int]:
    seconds = {0, *instance.submit.tolist(), *instance.deadline.tolist()}
    seconds |= {x for window in instance.edge for x in (window.start, window.end)}
    seconds |= {x for pieces in solution for piece in pieces for x in (piece.start, piece.end)}
    return sorted(seconds)


def gantt(instance: Instance, solution: Solution, title: str) -> Grid:
    """Jobs against time: a column for each stretch in which nothing changes."""
    seconds = list_changes(instance, solution)
    rows: list[tuple[str, list[Square]]] = []
    ends = verify(instance, solution).ends
    for i, pieces in enumerate(solution):
        last, end = int(instance.deadline[i]), ends[i]
        there = range(int(instance.submit[i]), last if end is None else min(end, last))
        rows.append((f"job {i}", [_square(pieces, i, start, start in there) for start in seconds[:-1]]))
    head = [f"{start} to {end}" for start, end in pairwise(seconds)]
    return Grid(f"{title}: who runs on how many GPUs", "seconds", head, rows)


def _square(pieces: Sequence[Piece], job: int, second: int, there: bool) -> Square:
    for piece in pieces:
        if piece.start <= second < piece.end:
            return Square("e" if piece.place == EDGE else piece.gpus, job)
    return Square("-" if there else None)


def _moments(instance: Instance, solution: Solution) -> list[Moment]:
    found = verify(instance, solution)
    runs = [join_pieces(pieces) for pieces in solution]
    moments = []
    for second in list_changes(instance, solution):
        happened = [
            *(f"job {i} is done" for i, end in enumerate(found.ends) if end == second),
            *(f"the deadline of job {i} passes" for i, end in enumerate(instance.deadline.tolist())
              if end == second and not found.met[i]),
            *(f"idle edge servers: {there}" for there in _idle(instance, second)),
            *(f"job {i} comes" for i, start in enumerate(instance.submit.tolist()) if start == second),
        ]  # fmt: skip
        begun = [
            (i, piece, stall)
            for i, pieces in enumerate(runs)
            for piece, stall in find_stalls(instance.models[int(instance.model[i])], pieces)
            if piece.start == second
        ]
        ended = [
            i for i, pieces in enumerate(runs)
            if any(p.end == second for p in pieces) and not any(p.start == second for p in pieces)
        ]  # fmt: skip
        if not happened and not begun and not ended:
            continue
        lines = [f"job {i} {_place(piece)}{f', still for {stall} s' if stall else ''}" for i, piece, stall in begun]
        lines += [f"job {i} stops" for i in ended if found.ends[i] != second]
        text, decision = "; ".join(happened) or "the policy wakes", "; ".join(lines) or "nothing changes"
        moments.append(Moment(f"Second {second}", [text], [], None, [], [decision]))
    return moments


def _idle(instance: Instance, second: int) -> list[int]:
    """How many servers there are from a second on in which that changes; empty if it does not."""
    starting = [window.servers for window in instance.edge if window.start == second]
    return starting or [0 for window in instance.edge if window.end == second]


def _place(piece: Piece) -> str:
    return "goes to an edge server" if piece.place == EDGE else f"runs on {_some(piece.gpus, 'GPU')}"


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


EXPLAINER = Explainer(explain, "elasticflow", "for_good", {"jobs": 20})
