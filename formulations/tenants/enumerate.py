"""OPT by looking at everything: every assignment of jobs to GPUs, every order on each. For tiny instances.

It shares nothing with the bounds, the searches and the other exact methods, and is meant to be checked by reading.
"""

from __future__ import annotations

from itertools import permutations, product

from ratiobench.instances.tenants.model import Instance
from ratiobench.instances.tenants.solution import Solution, Start

WAYS_LIMIT = 200_000  # Most pairs of an assignment and an order of all jobs that are looked at


def ways(instance: Instance) -> int:
    """n! m^n: an upper bound on the pairs of an assignment and an order that are looked at.

    Distinct deployments, one ordered queue per GPU, are fewer: n! C(n + m - 1, m - 1), 24 for 3 jobs on 2 GPUs as the
    patent's page says.
    """
    found = 1
    for j in range(1, instance.jobs + 1):
        found *= j * instance.gpus
        if found > WAYS_LIMIT:
            break
    return found


def enumerate_optimum(instance: Instance) -> tuple[int, Solution]:
    """OPT and a schedule that attains it: every order of every set of jobs on every type, every partition of jobs."""
    if ways(instance) > WAYS_LIMIT:
        raise ValueError(f"more than {WAYS_LIMIT} ways to order and place {instance.jobs} jobs")
    public, kinds = instance.public(), instance.gpu_type.tolist()
    jobs = [instance.job(j) for j in range(instance.jobs)]
    known: dict[tuple[int, tuple[int, ...]], tuple[int, tuple[int, ...]]] = {}

    def best_order(kind: int, members: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The least cost of the members on one GPU, and the order: one after the other, as early as possible."""
        if (kind, members) not in known:
            found = []
            for order in permutations(members):
                free = cost = 0
                for j in order:
                    free = max(free, jobs[j].release) + jobs[j].run[kind]
                    cost += public.cost(jobs[j], kind, free)
                found.append((cost, order))
            known[kind, members] = min(found)
        return known[kind, members]

    best: tuple[int, list[tuple[int, ...]]] | None = None
    for places in product(range(len(kinds)), repeat=len(jobs)):
        parts = [tuple(j for j, place in enumerate(places) if place == g) for g in range(len(kinds))]
        orders = [best_order(kind, part) for kind, part in zip(kinds, parts, strict=True)]
        if best is None or sum(cost for cost, _ in orders) < best[0]:
            best = sum(cost for cost, _ in orders), [order for _, order in orders]
    assert best is not None
    starts: dict[int, Start] = {}
    for gpu, order in enumerate(best[1]):
        free = 0
        for j in order:
            start = max(free, jobs[j].release)
            starts[j], free = Start(gpu, start), start + jobs[j].run[kinds[gpu]]
    return best[0], tuple(starts[j] for j in range(len(jobs)))
