"""The search for a small instance that violates a claim: random ones, and of the first what cannot be left out.

An instance lasts at most `largest` seconds and has at most `nodes` GPUs; `slots` has no effect.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from ratiobench.bench.family.checks import Check
from ratiobench.bench.theory.claim import Case, find_claim
from ratiobench.bench.theory.search import Document, make_search
from ratiobench.instances.edgeflow.format import FORMAT, parse
from ratiobench.instances.edgeflow.model import Instance
from ratiobench.instances.io.seeds import Stream

RIVALS = ("afs", "edf")  # Their runs take the place of OPT in `for_good` until OPT is known
# The claims that can be searched for, and whose runs are looked at
SEARCHED: Mapping[str, str] = {
    "edge_helps": "elasticflow:edge=any", "guarantee": "elasticflow", "for_good": "elasticflow", "aware": "elasticflow",
}  # fmt: skip


def draw_document(stream: Stream, jobs: int, seconds: int, gpus: int) -> Document:
    """A random instance with at most so many jobs, seconds and GPUs; most jobs can be met when they are alone."""

    def chance(one_in: int) -> bool:
        return stream.integer(1, one_in) == 1

    cloud = stream.integer(1, gpus)
    models: list[Document] = []
    for k in range(stream.integer(1, 2)):
        shares = [share for share in (1, 2, 4, 8) if chance(2)] or [1]
        models.append(
            {
                "name": f"m{k}",
                "speed": [[share, stream.integer(1, 4 * share)] for share in shares],
                "edge_speed": stream.integer(0, 3),
                "overhead_s": stream.integer(0, 3),
                "edge_overhead_s": stream.integer(0, 2),
            }
        )
    listed: list[Document] = []
    for _ in range(stream.integer(0, jobs)):
        model = models[stream.integer(0, len(models) - 1)]
        submit = stream.integer(0, seconds - 1)
        deadline = stream.integer(submit + 1, seconds)
        fits = [pair for pair in model["speed"] if pair[0] <= cloud] or model["speed"]
        share, speed = fits[stream.integer(0, len(fits) - 1)]
        window = max(1, deadline - submit - chance(2) * model["overhead_s"])
        work = max(1, speed * window * stream.integer(20, 100) // 100)
        job = {"submit": submit, "deadline": deadline, "model": model["name"], "work": work, "gpus": share}
        listed.append(job)
    ends = sorted({stream.integer(0, seconds) for _ in range(2 * stream.integer(0, 2))})
    edge = [{"from": a, "to": b, "servers": stream.integer(1, 2)} for a, b in zip(ends[::2], ends[1::2], strict=False)]
    return {
        "format": FORMAT, "name": "tiny", "cloud": {"gpus": cloud, "node_gpus": 8}, "edge": edge, "models": models,
        "jobs": sorted(listed, key=lambda job: job["submit"]),
    }  # fmt: skip


def _smaller(document: Document) -> Iterator[Document]:
    """Documents with something less: jobs, windows, models, shares, then single numbers."""

    def without(*path: Any) -> Document:
        other = copy.deepcopy(document)
        place: Any = other
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]
        return other

    for part in ("jobs", "edge", "models"):
        yield from (without(part, k) for k in range(len(document[part])))
    for k, model in enumerate(document["models"]):
        yield from (without("models", k, "speed", j) for j in range(len(model["speed"])))
    for path, value in list(_numbers(document, ())):
        for less in dict.fromkeys((0, 1, value // 2, value - 1)):
            if 0 <= less < value:
                other = copy.deepcopy(document)
                place: Any = other
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = less
                other["jobs"].sort(key=lambda job: job["submit"])
                yield other


def _numbers(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Every number with its path, but for the GPUs of a node, which change nothing here."""
    if isinstance(value, int):
        yield path, value
    elif isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "node_gpus":
                yield from _numbers(each, (*path, key))


class _Problem:
    """Random instances of elastic jobs."""

    state_format, version, stream = "ratiobench/edgeflow-hunt/1", 1, "ratiobench/edgeflow/hunt"
    arrivals, nodes, most_shrinking = "jobs", 4, 4000

    @property
    def claims(self) -> Mapping[str, tuple[str, str]]:
        """Statement and algorithm of each, in the order of the audits."""
        from ratiobench.bench.edgeflow.claims import CLAIMS

        return {each.name: (each.statement, SEARCHED[each.name]) for each in CLAIMS if each.name in SEARCHED}

    def draw(self, stream: Stream, arrivals: int, largest: int, nodes: int) -> Document:
        return draw_document(stream, arrivals, largest, nodes)

    def smaller(self, document: Document) -> Iterator[Document]:
        return _smaller(document)

    def parse(self, document: Document, source: str = "<document>") -> Instance:
        return parse(document, source)

    def check(self, claim: str, instance: Instance, *, exact: bool) -> Check:
        """The audit's check on a run of the claim's policy; unless `exact`, against rivals' runs in place of OPT."""
        from ratiobench.bench.edgeflow.claims import CLAIMS
        from ratiobench.formulations.edgeflow.solve import solve
        from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
        from ratiobench.online.edgeflow.run import run

        own = run(instance, SEARCHED[claim])
        if exact:
            return find_claim(CLAIMS, claim).check_run(Case(instance, own, solve(instance)))
        rivals = [run(instance, name) for name in RIVALS] if claim == "for_good" else [own]
        best = max(rivals, key=lambda each: each.admitted)
        most = instance.jobs + 1  # an interval
        reference = SolveReport(
            Status.INTERVAL, best.admitted, most, best.decisions, Proof.TRIVIAL, "", "", Termination.NONE, False, 0.0
        )
        return find_claim(CLAIMS, claim).check_run(Case(instance, own, reference))


COUNTEREXAMPLES = make_search(_Problem())
