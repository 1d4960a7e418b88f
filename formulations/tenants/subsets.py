"""OPT of few jobs: the best order of every set on every type, and sets parted over GPUs; and by looking at everything.

On one GPU the best cost of a set follows from those without one job (Held and Karp 1962); with releases a set keeps
every pair (end, cost) that no other one dominates. Sets of several GPUs by min-plus convolution: 3^n steps each.

Of more jobs, prices pi_j leave few sets: with W_k the least c_k(S) - pi(S), OPT >= sum_j pi_j + sum_k m_k W_k, and a
schedule is dearer than that by the sum over its GPUs of c_k(S) - pi(S) - W_k. So a set for which this alone is as much
as the best schedule known is dearer is in none that is better (reduced cost fixing). The others are joined.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from ratiobench.formulations.kernels import compiled, inlined
from ratiobench.formulations.tenants.tables import Tables, solution_of
from ratiobench.instances.tenants.model import Instance, IntArray, Solution, Start

JOBS_LIMIT = 14  # Most jobs
PAIRS_LIMIT = 20_000_000  # Most pairs (end, cost) of one type, where there are releases
PRICED_LIMIT = 20  # Most jobs where prices and a schedule are known
JOINS_LIMIT = 3_000_000_000  # Most pairs of sets that are looked at for one more GPU
SETS_LIMIT = 2**24  # Most sets of all types and GPUs, of which some figures each are kept
NONE = 2**62
END, COST, LAST, BEFORE = range(4)  # Columns of a pair
Fronts = tuple[IntArray, IntArray]  # Of every set where its pairs begin, and the pairs


@inlined
def _copy(to, at, source, row):  # type: ignore[no-untyped-def]
    for column in range(4):
        to[at, column] = source[row, column]


@compiled
def fronts(run, release, deadline, late, weight, money, most):  # type: ignore[no-untyped-def]
    """Per set its pairs that nothing dominates, ends rising and costs falling: where they begin, and the pairs.

    The last begin is 0 if there are more than `most` pairs.
    """
    n = len(run)
    sets = 1 << n
    first = np.zeros(sets + 1, np.int64)
    pairs = np.zeros((1024, 4), np.int64)
    pairs[0, LAST] = -1
    pairs[0, BEFORE] = -1
    first[1] = 1
    filled = 1
    front = np.empty((1, 4), np.int64)
    for chosen in range(1, sets):
        count = 0
        for j in range(n):
            if chosen >> j & 1:
                count += first[(chosen ^ (1 << j)) + 1] - first[chosen ^ (1 << j)]
        if len(front) < count:
            front = np.empty((2 * count, 4), np.int64)
        number = 0
        for j in range(n):
            if not chosen >> j & 1:
                continue
            rest = chosen ^ (1 << j)
            for i in range(first[rest], first[rest + 1]):
                t = max(pairs[i, END], release[j]) + run[j]
                c = pairs[i, COST] + late * max(0, t - deadline[j]) + weight[j] * (t - release[j]) + money[j]
                # insert into what is sorted by end, if nothing that ends no later costs no more
                at = number
                while at > 0 and front[at - 1, END] > t:
                    at -= 1
                if at > 0 and front[at - 1, COST] <= c:
                    continue
                if at > 0 and front[at - 1, END] == t:
                    at -= 1
                upto = at
                while upto < number and front[upto, COST] >= c:
                    upto += 1
                if upto == at:
                    for y in range(number, at, -1):
                        _copy(front, y, front, y - 1)
                    number += 1
                else:
                    for y in range(upto, number):
                        _copy(front, at + 1 + y - upto, front, y)
                    number -= upto - at - 1
                front[at, END] = t
                front[at, COST] = c
                front[at, LAST] = j
                front[at, BEFORE] = i
        if filled + number > most:
            break
        while filled + number > len(pairs):
            pairs = np.concatenate((pairs, np.zeros(pairs.shape, np.int64)))
        for y in range(number):
            _copy(pairs, filled, front, y)
            filled += 1
        first[chosen + 1] = filled
    return first, pairs


@compiled
def convolve(one, other, part):  # type: ignore[no-untyped-def]
    """out[S] = least of one[T] + other[S - T] over the parts T of S; the best T into `part`."""
    out = np.empty(len(one), np.int64)
    for chosen in range(len(one)):
        inside = chosen
        least = one[chosen] + other[0]
        part[chosen] = chosen
        while inside:
            inside = (inside - 1) & chosen
            value = one[inside] + other[chosen ^ inside]
            if value < least:
                least = value
                part[chosen] = inside
        out[chosen] = least
    return out


@compiled
def join(left, left_over, right, right_over, spare, over, part):  # type: ignore[no-untyped-def]
    """The least excess of every union of two disjoint sets into `over`, if it is at most `spare`; the right one."""
    for a in range(len(left)):
        for b in range(len(right)):
            total = left_over[a] + right_over[b]
            if total > spare:
                break
            if left[a] & right[b] == 0 and total < over[left[a] | right[b]]:
                over[left[a] | right[b]] = total
                part[left[a] | right[b]] = right[b]


def subsets_optimum(problem: Tables) -> tuple[int, Solution]:
    if problem.jobs > JOBS_LIMIT:
        raise ValueError(f"{problem.jobs} jobs; at most {JOBS_LIMIT}")
    found, kinds = _all_fronts(problem), _useful(problem)
    alone = [_costs(pairs) for pairs in found]
    total, parts = alone[kinds[0]], []
    for kind in kinds[1:]:
        part = np.empty(len(total), np.int64)
        total = convolve(total, alone[kind], part)
        parts.append(part)
    chosen, sets = len(total) - 1, list[int]()
    for taken in (*reversed(parts), None):
        rest = 0 if taken is None else int(taken[chosen])
        sets.append(chosen ^ rest)
        chosen = rest
    return int(total[-1]), _schedule(problem, found, kinds, sets[::-1])


def priced_optimum(problem: Tables, prices: IntArray, upper: int) -> tuple[int, Solution | None]:
    """OPT and a schedule that attains it, or `upper` and None if no schedule costs less."""
    if problem.jobs > PRICED_LIMIT:
        raise ValueError(f"{problem.jobs} jobs; at most {PRICED_LIMIT}")
    kinds = _useful(problem)
    if (len(kinds) + len(problem.counts)) << problem.jobs > SETS_LIMIT:
        raise ValueError(f"more than {SETS_LIMIT} sets of all types and GPUs")
    found = _all_fronts(problem)
    paid = np.zeros(1, np.int64)
    for price in prices.tolist():
        paid = np.concatenate((paid, paid + price))
    over = [_costs(pairs) - paid for pairs in found]
    least = [int(each.min()) for each in over]
    bound = int(paid[-1]) + sum(least[kind] for kind in kinds)
    spare = upper - 1 - bound
    if spare < 0:
        return upper, None
    over = [each - low for each, low in zip(over, least, strict=True)]
    middle = (len(kinds) + 1) // 2
    halves = [_joined(over, part, spare) for part in (kinds[:middle], kinds[middle:])]
    (left, left_over, _), (right, right_over, _) = (half[-1] for half in halves)
    table = np.full(len(paid), NONE, np.int64)
    table[right] = right_over
    total = left_over + np.minimum(table[left ^ (len(paid) - 1)], NONE - spare)
    if not len(total) or total.min() > spare:
        return upper, None
    chosen = int(left[total.argmin()])
    sets = [*_parted(halves[0], chosen), *_parted(halves[1], chosen ^ (len(paid) - 1))]
    return bound + int(total.min()), _schedule(problem, found, kinds, sets)


# Sets that some GPUs can run, the excess of each, and by set what the last of these GPUs runs
Joined = tuple[IntArray, IntArray, IntArray]


def _joined(over: list[IntArray], kinds: list[int], spare: int) -> list[Joined]:
    """The sets of the first GPU, of the first two, ..., by excess."""
    every = np.arange(len(over[0]))
    steps: list[Joined] = [(np.zeros(1, np.int64), np.zeros(1, np.int64), every)]
    for kind in kinds:
        own = _sorted(over[kind], spare)
        left, left_over, _ = steps[-1]
        if np.searchsorted(own[1], spare - left_over, side="right").sum() > JOINS_LIMIT:
            raise ValueError(f"more than {JOINS_LIMIT} pairs of sets")
        table, part = np.full(len(every), NONE, np.int64), np.zeros(len(every), np.int64)
        join(left, left_over, *own, spare, table, part)
        steps.append((*_sorted(table, spare), part))
    return steps


def _sorted(over: IntArray, spare: int) -> tuple[IntArray, IntArray]:
    selection = np.flatnonzero(over <= spare)
    selection = selection[np.argsort(over[selection], kind="stable")]
    return selection, over[selection]


def _parted(steps: list[Joined], chosen: int) -> list[int]:
    sets = []
    for _, _, part in reversed(steps[1:]):
        sets.append(int(part[chosen]))
        chosen ^= sets[-1]
    return sets[::-1]


def _all_fronts(problem: Tables) -> list[Fronts]:
    found = []
    for k in range(len(problem.counts)):
        run, money = (np.ascontiguousarray(table[:, k]) for table in (problem.run, problem.money))
        first, pairs = fronts(run, problem.release, problem.deadline, problem.late, problem.weight, money, PAIRS_LIMIT)
        if first[-1] == 0:
            raise ValueError(f"more than {PAIRS_LIMIT} pairs of end and cost")
        found.append((first, pairs))
    return found


def _costs(fronts: Fronts) -> IntArray:
    """The least cost of every set: of its pairs the last one costs least."""
    first, pairs = fronts
    return np.asarray(pairs[first[1:] - 1, COST])


def _useful(problem: Tables) -> list[int]:
    """The type of every GPU; more of a type than jobs are of no use."""
    return [k for k, count in enumerate(problem.counts.tolist()) for _ in range(min(count, max(1, problem.jobs)))]


def _schedule(problem: Tables, found: list[Fronts], kinds: list[int], sets: list[int]) -> Solution:
    queues: list[list[int]] = [[] for _ in range(problem.instance.gpus)]
    free = problem.counts.cumsum().tolist()
    for kind, chosen in zip(reversed(kinds), reversed(sets), strict=True):
        free[kind] -= 1
        queues[free[kind]] = _order(found[kind], chosen)
    return solution_of(problem, queues)


def _order(fronts: Fronts, chosen: int) -> list[int]:
    first, pairs = fronts
    at, order = int(first[chosen + 1]) - 1, list[int]()
    while at > 0:
        order.append(int(pairs[at, LAST]))
        at = int(pairs[at, BEFORE])
    return order[::-1]


WAYS_LIMIT = 200_000  # Most pairs of an assignment and an order of all jobs that are looked at


def ways(instance: Instance) -> int:
    """n! m^n: an upper bound on the pairs of an assignment and an order that are looked at."""
    found = 1
    for j in range(1, instance.jobs + 1):
        found *= j * instance.gpus
        if found > WAYS_LIMIT:
            break
    return found


def enumerate_optimum(instance: Instance) -> tuple[int, Solution]:
    """OPT and a schedule by every partition of jobs and every order; shares nothing with the rest."""
    if ways(instance) > WAYS_LIMIT:
        raise ValueError(f"more than {WAYS_LIMIT} ways to order and place {instance.jobs} jobs")
    public, kinds = instance.public(), instance.gpu_type.tolist()
    jobs = [instance.job(j) for j in range(instance.jobs)]
    known: dict[tuple[int, tuple[int, ...]], tuple[int, tuple[int, ...]]] = {}

    def best_order(kind: int, members: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The least cost of the members on one GPU, and the order: each as early as possible."""
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
