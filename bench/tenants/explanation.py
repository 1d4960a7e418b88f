"""A run on a small instance, tick by tick where something changes, with Gantt charts of it and of OPT."""

from __future__ import annotations

from itertools import pairwise

from ratiobench.bench.family.capabilities import Explainer
from ratiobench.bench.family.checks import Check
from ratiobench.bench.family.explanation import Explanation, Figure, Grid, Listing, Moment, Square, explain_run
from ratiobench.bench.tenants.claims import CLAIMS
from ratiobench.bench.theory.claim import find_claim
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.tenants.model import Instance, Solution
from ratiobench.online.outcome import OnlineRun


def explain(instance: Instance, run: OnlineRun, reference: SolveReport, check: Check) -> Explanation:
    theirs, opt = reference.solution, "OPT" if reference.lower == reference.upper else "OPT or more"
    return explain_run(
        instance,
        run,
        reference,
        ", in 1/100 micro-dollar",
        "A square says which job runs on the GPU.",
        tables=[_types(instance), _jobs(instance, run.decisions, theirs)],
        moments=_moments(instance, run.decisions),
        outcome=[gantt(instance, run.decisions, "ALG"), *([] if theirs is None else [gantt(instance, theirs, opt)])],
        ending=find_claim(CLAIMS, check.name).end_explanation(check),
    )


def _types(instance: Instance) -> Listing:
    rows: list[list[Figure]] = [[kind.name, kind.count, kind.price] for kind in instance.gpu_types]
    title = f"GPUs; micro-dollars per tick of time: {instance.theta}, of lateness: {instance.late_penalty}"
    return Listing(title, ["type", "GPUs", "micro-dollars per tick"], rows)


def _jobs(instance: Instance, ours: Solution, theirs: Solution | None) -> Listing:
    names = [kind.name for kind in instance.gpu_types]
    rows: list[list[Figure]] = []
    for j in range(instance.jobs):
        job = instance.job(j)
        row: list[Figure] = [j, job.release, job.deadline, job.cost_sensitivity, *job.run]
        rows.append([*row, *(_cost(instance, each, j) for each in (ours, theirs) if each is not None)])
    head = ["job", "released", "deadline", "cs, percent", *(f"ticks on {name}" for name in names), "cost"]
    return Listing("Jobs", [*head, *([] if theirs is None else ["cost in OPT"])], rows)


def _cost(instance: Instance, solution: Solution, j: int) -> Figure:
    start = solution[j]
    if start is None:
        return "never ran"
    kind = int(instance.gpu_type[start.gpu])
    return instance.public().cost(instance.job(j), kind, start.tick + int(instance.run[j, kind]))


def _spans(instance: Instance, solution: Solution) -> list[tuple[int, int, int, int]]:
    """(start, end, GPU, job) in order of time."""
    kinds = instance.gpu_type.tolist()
    found = [(s.tick, s.tick + int(instance.run[j, kinds[s.gpu]]), s.gpu, j) for j, s in enumerate(solution) if s]
    return sorted(found)


def gantt(instance: Instance, solution: Solution, title: str) -> Grid:
    """GPUs against time: a column for each stretch in which nothing changes."""
    spans = _spans(instance, solution)
    ticks = sorted({0, *(x for start, end, _, _ in spans for x in (start, end))})
    names = [kind.name for kind in instance.gpu_types for _ in range(kind.count)]
    rows: list[tuple[str, list[Square]]] = []
    for gpu, name in enumerate(names):
        squares = []
        for tick in ticks[:-1]:
            job = next((j for start, end, g, j in spans if g == gpu and start <= tick < end), None)
            squares.append(Square(job, job) if job is not None else Square(None))
        rows.append((f"GPU {gpu} ({name})", squares))
    return Grid(f"{title}: which job runs where", "ticks", [f"{a} to {b}" for a, b in pairwise(ticks)], rows)


def _moments(instance: Instance, solution: Solution) -> list[Moment]:
    spans = _spans(instance, solution)
    ticks = sorted({*instance.release.tolist(), *(x for start, end, _, _ in spans for x in (start, end))})
    moments = []
    for tick in ticks:
        ended = [f"job {j} ends on GPU {g}" + _late(instance, j, end) for _, end, g, j in spans if end == tick]
        came = [f"job {j} is released" for j, release in enumerate(instance.release.tolist()) if release == tick]
        begun = [f"job {j} starts on GPU {g}" for start, _, g, j in spans if start == tick]
        text, decision = ("; ".join(each) or "nothing" for each in ([*ended, *came], begun))
        moments.append(Moment(f"Tick {tick}", [text], [], None, [], [decision]))
    return moments


def _late(instance: Instance, j: int, end: int) -> str:
    late = end - int(instance.deadline[j])
    return f", {late} late" if late > 0 else ""


EXPLAINER = Explainer(explain, "patent", "optimal", {"jobs": 20, "gpus": 12})
