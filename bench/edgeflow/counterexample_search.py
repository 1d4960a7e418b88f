"""The search for a small instance that violates a claim: random ones, and of the first what cannot be left out.

An instance lasts at most `largest` seconds and has at most `nodes` GPUs; `slots` has no effect.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from ratiobench.bench.edgeflow.claims import CLAIMS
from ratiobench.bench.family.capabilities import SearchSettings
from ratiobench.bench.family.checks import Check
from ratiobench.bench.theory.claim import Case, Claim
from ratiobench.bench.theory.search import Document, Measure, SearchProblem, make_search
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.edgeflow.format import FORMAT, parse
from ratiobench.instances.edgeflow.model import Instance
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.online.edgeflow.run import run

RIVALS = ("afs", "edf")  # Their runs take the place of OPT in `for_good` until OPT is known
# The claims that can be searched for, and whose runs are looked at
SEARCHED: Mapping[str, str] = {
    "edge_helps": "elasticflow:edge=any", "guarantee": "elasticflow", "for_good": "elasticflow", "aware": "elasticflow",
}  # fmt: skip


def draw_document(draws: RandomNumbers, jobs: int, seconds: int, gpus: int) -> Document:
    """A random instance; most jobs can be met when they are alone."""

    def chance(one_in: int) -> bool:
        return draws.draw_between(1, one_in) == 1

    cloud = draws.draw_between(1, gpus)
    models: list[Document] = []
    for k in range(draws.draw_between(1, 2)):
        shares = [share for share in (1, 2, 4, 8) if chance(2)] or [1]
        models.append(
            {
                "name": f"m{k}",
                "speed": [[share, draws.draw_between(1, 4 * share)] for share in shares],
                "edge_speed": draws.draw_between(0, 3),
                "overhead_s": draws.draw_between(0, 3),
                "edge_overhead_s": draws.draw_between(0, 2),
            }
        )
    listed: list[Document] = []
    for _ in range(draws.draw_between(0, jobs)):
        model = models[draws.draw_between(0, len(models) - 1)]
        submit = draws.draw_between(0, seconds - 1)
        deadline = draws.draw_between(submit + 1, seconds)
        fits = [pair for pair in model["speed"] if pair[0] <= cloud] or model["speed"]
        share, speed = fits[draws.draw_between(0, len(fits) - 1)]
        window = max(1, deadline - submit - chance(2) * model["overhead_s"])
        work = max(1, speed * window * draws.draw_between(20, 100) // 100)
        job = {"submit": submit, "deadline": deadline, "model": model["name"], "work": work, "gpus": share}
        listed.append(job)
    ends = sorted({draws.draw_between(0, seconds) for _ in range(2 * draws.draw_between(0, 2))})
    windows = zip(ends[::2], ends[1::2], strict=False)
    edge = [{"from": a, "to": b, "servers": draws.draw_between(1, 2)} for a, b in windows]
    return {
        "format": FORMAT, "name": "tiny", "cloud": {"gpus": cloud, "node_gpus": 8}, "edge": edge, "models": models,
        "jobs": sorted(listed, key=lambda job: job["submit"]),
    }  # fmt: skip


def _numbers(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Every number with its path, but for the GPUs of a node, which change nothing here."""
    if isinstance(value, int):
        yield path, value
    elif isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "node_gpus":
                yield from _numbers(each, (*path, key))


class _Problem(SearchProblem[Document]):
    state_format, shrinking, is_exact = "ratiobench/edgeflow-hunt/2", 4000, False

    def __init__(self, claim: Claim[Case[Instance]], algorithm: str) -> None:
        super().__init__(claim.name, claim.statement, algorithm, nodes=4)
        self.claim = claim

    def name_stream(self, limits: SearchSettings, number: int, tries: int) -> tuple[str | int, ...]:
        sizes = limits.tasks, limits.nodes or self.nodes, limits.largest
        return "ratiobench/edgeflow/hunt", self.version, self.name, *sizes, limits.seed, tries

    def draw(self, draws: RandomNumbers, limits: SearchSettings) -> Document:
        return draw_document(draws, limits.tasks, limits.largest, limits.nodes or self.nodes)

    def smaller(self, candidate: Document) -> Iterator[Document]:
        """Documents with something less: jobs, windows, models, shares, then single numbers."""

        def change(path: tuple[Any, ...], less: int | None) -> Document:
            other = copy.deepcopy(candidate)
            place: Any = other
            for key in path[:-1]:
                place = place[key]
            if less is None:
                del place[path[-1]]
            else:
                place[path[-1]] = less
                other["jobs"].sort(key=lambda job: job["submit"])
            return other

        for part in ("jobs", "edge", "models"):
            yield from (change((part, k), None) for k in range(len(candidate[part])))
        for k, model in enumerate(candidate["models"]):
            yield from (change(("models", k, "speed", j), None) for j in range(len(model["speed"])))
        for path, value in list(_numbers(candidate, ())):
            for less in dict.fromkeys((0, 1, value // 2, value - 1)):
                if 0 <= less < value:
                    yield change(path, less)

    def size(self, candidate: Document) -> tuple[int, ...]:
        return len(candidate["jobs"]), sum(value for _, value in _numbers(candidate, ()))

    def restore(self, data: Any, source: str, key: str) -> Document:
        parse(data, source)
        return dict(data)

    def make_instance(self, candidate: Document, name: str, origin: Document) -> Instance:
        return parse(candidate | {"name": name, "origin": origin})

    def measure(self, candidate: Document, floor: Fraction = Fraction(-1)) -> Measure | None:
        try:
            instance = parse(candidate)
        except InputError:
            return None
        own = run(instance, self.algorithm)
        rivals = [run(instance, name) for name in RIVALS] if self.name == "for_good" else [own]
        best = max(rivals, key=lambda each: each.admitted)
        most = instance.jobs + 1  # an interval
        reference = SolveReport(
            Status.INTERVAL, best.admitted, most, best.decisions, Proof.TRIVIAL, "", "", Termination.NONE, False, 0.0
        )
        check = self.claim.check_run(Case(instance, own, reference))
        if check.left is None or check.right is None:
            return None
        left, right = Fraction(check.left), Fraction(check.right)
        return Measure(left, right, (left + 1) / (right + 1))

    def check(self, instance: Instance) -> Check:
        from ratiobench.formulations.edgeflow.solve import solve

        return self.claim.check_run(Case(instance, run(instance, self.algorithm), solve(instance)))


PROBLEMS = {claim.name: _Problem(claim, SEARCHED[claim.name]) for claim in CLAIMS if claim.name in SEARCHED}
COUNTEREXAMPLES = make_search(PROBLEMS)
