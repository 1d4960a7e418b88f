"""Limits of every algorithm on many small random members of the families `limit:NAME`, in exact arithmetic.

Of each member: OPT of every prefix by brute force beside the closed form, and an algorithm, whose largest OPT/ALG must
not be below the theorem's bound. Part of `nox -s theory`; a sample runs in the tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product

from ratiobench.bench.family.suite import YESTERDAY
from ratiobench.bench.lora import FAMILY
from ratiobench.bench.lora.counterexamples.moves import RandomNumbers
from ratiobench.bench.lora.theory.limits import cases
from ratiobench.instances.lora import limits
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import run

ALGORITHMS = (
    "greedy", "posted", "posted:growth=2", "minimal-edit", "minimal-edit:units=canonical", "capped", "bbar-rule",
    "eft", "eft:admit=all", "eris", "pdftsp", "guarded:inner=greedy,beta=3", "learned:guard=20",
)  # fmt: skip
"""Deterministic algorithms that decide task by task at arrival."""
INVARIANTS = ("limit_opt", "limit_bound", "limit_units")


class Failure(AssertionError):
    """A closed form that is wrong, or an algorithm below what no algorithm can beat."""


def recipe_of_number(j: int) -> dict[str, object]:
    """Number j of the members: the families in turn, all of them small."""
    draws = RandomNumbers("limits", j)
    name = tuple(limits.families())[j % len(limits.families())]
    size: dict[str, object] = {"K": draws.draw_between(1, 2), "n": draws.draw_between(1, 3)}
    theta = str(draws.draw_between(2, 30))
    shared: dict[str, object] = {"memory": "bid"} if draws.draw_below(3) == 0 else {}
    if draws.draw_below(4) == 0:
        shared["apart"] = True
    keys: dict[str, object] = {}
    if name == "rising":
        levels = sorted({1 + draws.draw_below(20) for _ in range(draws.draw_between(1, 5))})
        keys = {"levels": levels, **size, "T": draws.draw_between(1, 3)}
        keys["window"] = ("slot", "all")[draws.draw_below(2)]
    elif name == "two":
        keys = {"theta": theta}
    elif name == "units":
        keys = {**size, "theta": theta, "steps": draws.draw_between(1, 8)}
    elif name == "flat":
        keys = {"v": f"1/{theta}", "cap": draws.draw_between(1, 9), "delta": f"{draws.draw_between(1, 4)}/2", **size}
    elif name == "block":
        keys = {"delta": f"{draws.draw_between(1, 3)}/{draws.draw_between(4, 9)}"}
    elif name == "nested":
        keys = {"L": draws.draw_between(1, 4), "sigma": f"{draws.draw_between(4, 9)}/4", **size}
    elif name == "lengths":
        longest = 2 ** draws.draw_below(3)
        keys = {"L": longest, "T": longest * draws.draw_between(1, 2), **size}
    else:
        types = draws.draw_between(2, 3)
        keys = {"G": types, "m": draws.draw_between(1, types - 1), "theta": theta, "delta": "2", **size}
    return {"kind": "limit", "name": name, **keys, **shared}


def find_optimum(instance: Instance, tasks: int) -> int:
    """OPT of the first tasks by brute force: all numbers of equal tasks that are admitted, feasibility by augmenting.

    Equal tasks of one unit per cell only; a task takes at most one unit of each slot, so nodes of a type are one pool.
    """
    kinds: Counter[tuple[int, int, int, int, tuple[int, ...]]] = Counter()
    public = instance.public("")
    for i in range(tasks):
        task = instance.task(i)
        (first,) = {option.first for option in task.options}
        usable = tuple(g for g, rate in enumerate(task.rate.tolist()) if rate)
        (rate,) = {int(task.rate[g]) for g in usable}
        kinds[task.bid, first, task.deadline, -(-task.work // rate), usable] += 1
    room = {
        (g, t): node.count * (int(public.compute[g]) // limits.RATE)
        for g, node in enumerate(instance.node_types)
        for t in range(1, instance.slots + 1)
    }
    ordered = sorted(kinds.items(), key=lambda each: (-Fraction(each[0][0], each[0][3]), -each[0][3], each[0]))
    reached = {(g, t) for _, first, last, _, usable in kinds for g in usable for t in range(first, last + 1)}
    cells = sum(room[cell] for cell in reached)
    best = 0

    def search(place: int, admitted: list[tuple[int, int, int, tuple[int, ...]]], value: int, used: int) -> None:
        nonlocal best
        best = max(best, value)
        if place == len(ordered):
            return
        (bid, first, last, length, usable), count = ordered[place]
        if value + Fraction(bid, length) * (cells - used) <= best:
            return  # no later task is worth more per cell
        trial = list(admitted)
        trials = [trial[:]]
        for _ in range(min(count, (cells - used) // length)):
            trial.append((first, last, length, usable))
            if not _fits(trial, room):
                break
            trials.append(trial[:])
        for number in range(len(trials) - 1, -1, -1):
            search(place + 1, trials[number], value + number * bid, used + number * length)

    search(0, [], 0, 0)
    return best


def _fits(tasks: Sequence[tuple[int, int, int, tuple[int, ...]]], room: dict[tuple[int, int], int]) -> bool:
    """Whether all tasks have a schedule together: a flow from tasks over slots to the units of types."""
    holders: dict[tuple[int, int], list[tuple[int, int]]] = {cell: [] for cell in room}
    taken: dict[tuple[int, int], tuple[int, int]] = {}

    def place(task: int, slot: int, seen: set[tuple[int, int]]) -> bool:
        """Give the task a unit in the slot, moving others of that slot to other types."""
        for g in tasks[task][3]:
            cell = (g, slot)
            if cell in seen:
                continue
            seen.add(cell)
            if len(holders[cell]) < room[cell]:
                holders[cell].append((task, slot))
                taken[task, slot] = cell
                return True
            for other in list(holders[cell]):
                holders[cell].remove(other)
                del taken[other]
                holders[cell].append((task, slot))
                taken[task, slot] = cell
                if place(other[0], slot, seen) or move(other[0], slot, seen):
                    return True
                holders[cell].remove((task, slot))
                del taken[task, slot]
                holders[cell].append(other)
                taken[other] = cell
        return False

    def move(task: int, without: int, seen: set[tuple[int, int]]) -> bool:
        """Give the task a unit in another slot of its window in which it has none."""
        first, last, _, _ = tasks[task]
        slots = [t for t in range(first, last + 1) if t != without and (task, t) not in taken]
        return any(place(task, slot, seen) for slot in slots)

    for task, (first, last, length, _) in enumerate(tasks):
        for _ in range(length):
            seen: set[tuple[int, int]] = set()
            slots = [t for t in range(first, last + 1) if (task, t) not in taken]
            if not any(place(task, slot, seen) for slot in slots):
                return False
    return True


def find_worst(recipe: dict[str, object], algorithm: str) -> Fraction | None:
    """The largest OPT/ALG over the prefixes, ALG the mean over all orders of a random family; None: unbounded."""
    orders: list[dict[str, object]] = [{}]
    if recipe["name"] == "choice":
        orders = [{"order": list(order)} for order in permutations(range(1, 1 + int(str(recipe["G"]))))]
    sums: list[int] = []
    announced = limits.generate_announced(recipe)
    told = algorithm if announced is None else FAMILY.with_prior(algorithm, YESTERDAY)
    for order in orders:
        _, _, made = limits.read(recipe | order)
        instance = limits.generate(recipe | order)
        result = run(instance, told, prior=announced if told != algorithm else None)
        if not result.valid:
            raise Failure(f"{algorithm}: {result.violations[0]}")
        gains = cases.find_gains(instance, result)
        if sum(gains) != result.welfare:
            raise Failure(f"{algorithm}: the gains are {sum(gains)}, the referee counts {result.welfare}")
        found = [sum(gains[: prefix.tasks]) for prefix in made.prefixes]
        sums = [a + b for a, b in zip(sums, found, strict=True)] if sums else found
    prefixes = limits.read(recipe | orders[0])[2].prefixes
    if 0 in sums:
        return None
    return max(Fraction(len(orders) * prefix.opt, alg) for prefix, alg in zip(prefixes, sums, strict=True))


@cache
def least_by_counts(units: int, levels: tuple[int, ...]) -> Fraction:
    """The least max over j of N v_j / ALG_j over all numbers of units sold at each level (Theorem N4)."""
    best = None
    for counts in product(range(units + 1), repeat=len(levels)):
        if sum(counts) > units or not counts[0]:
            continue
        earned, worst = 0, Fraction(0)
        for level, count in zip(levels, counts, strict=True):
            earned += level * count
            worst = max(worst, Fraction(units * level, earned))
        best = worst if best is None else min(best, worst)
    assert best is not None
    return best


def checked(j: int) -> Iterator[str]:
    """The invariants that hold on member j; Failure for one that does not."""
    recipe = recipe_of_number(j)
    family, values, made = limits.read(recipe)
    instance = limits.generate(recipe)
    if instance.tasks != made.prefixes[-1].tasks:
        raise Failure(f"{instance.tasks} tasks, not {made.prefixes[-1].tasks}")
    if family.name == "block":
        if [prefix.opt for prefix in made.prefixes] != instance.bid.tolist():
            raise Failure("the larger task alone is not OPT")
        yield "limit_opt"
    elif made.types * made.nodes * made.units * made.slots <= 30:
        for prefix in made.prefixes:
            found = find_optimum(instance, prefix.tasks)
            if found != prefix.opt:
                raise Failure(f"OPT up to {prefix.label} is {found}, not {prefix.opt}")
        yield "limit_opt"
    bounds = cases.find_bounds(family, values, made)
    algorithm = ALGORITHMS[j // len(limits.families()) % len(ALGORITHMS)]
    worst, least = find_worst(recipe, algorithm), max(bound.value for bound in bounds)
    if worst is not None and worst < least:
        raise Failure(f"{algorithm}: OPT/ALG is at most {worst} = {float(worst)}, below {least} = {float(least)}")
    yield "limit_bound"
    units = made.nodes * made.units * made.slots
    if family.name in ("rising", "units", "flat", "two") and (units + 1) ** len(made.levels) <= 5000:
        [exact] = [bound.value for bound in bounds if bound.deterministic]
        if exact != least_by_counts(units, made.values):
            raise Failure(f"Theorem N4 gives {exact}, brute force {least_by_counts(units, made.values)}")
        yield "limit_units"


def theory(first: int, count: int) -> Counter[str]:
    """On how many of the members each invariant holds.

    Raises
    ------
    Failure : for the first that does not, with the recipe.
    """
    held: Counter[str] = Counter()
    for j in range(first, first + count):
        try:
            held.update(["members", *checked(j)])
        except Failure as failure:
            raise Failure(f"member {j}, {recipe_of_number(j)}: {failure}") from None
    return held
