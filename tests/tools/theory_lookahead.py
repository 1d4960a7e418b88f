"""Theorem I (what knowing the future is worth) on small random laws of days, in exact fractions.

A law is a finite list of days with probabilities. A day is a list of tasks, a task a list of options, an option a value
and its use of each resource. Of each law: the best policy that does not know the future, by looking at every decision
in every state; the theorem's bound at random multipliers; the mean bound of hindsight at the same multipliers; and the
mean of the estimator with one inner day. Part of `nox -s theory`; a sample runs in the tests.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.instances.io.seeds import RandomNumbers

INVARIANTS = ("theorem_i", "theorem_i_hindsight", "theorem_i_samples")


class Option(NamedTuple):
    """A way to serve a task: its value, and what it takes of each resource."""

    value: int
    use: tuple[int, ...]


Task = tuple[Option, ...]
Day = tuple[Task, ...]
Prices = tuple[Fraction, ...]


class Law(NamedTuple):
    """Days with their probabilities, and the capacity of each resource."""

    capacity: tuple[int, ...]
    days: tuple[Day, ...]
    chances: tuple[Fraction, ...]

    def chance_of(self, prefix: Day) -> Fraction:
        """The probability of days that begin with these tasks."""
        found = zip(self.days, self.chances, strict=True)
        return sum((chance for day, chance in found if day[: len(prefix)] == prefix), Fraction(0))

    def mean_after(self, prefix: Day, prices: Sequence[Prices]) -> Prices:
        """The conditional mean of prices, one vector for each day, once these tasks have arrived."""
        total = self.chance_of(prefix)
        result = [Fraction(0)] * len(self.capacity)
        for day, chance, vector in zip(self.days, self.chances, prices, strict=True):
            if day[: len(prefix)] == prefix:
                result = [mean + chance / total * price for mean, price in zip(result, vector, strict=True)]
        return tuple(result)


def surplus(task: Task, prices: Prices) -> Fraction:
    """The most that a task leaves at prices, at least 0."""
    return max(
        Fraction(0),
        *(
            option.value - sum((price * used for price, used in zip(prices, option.use, strict=True)), Fraction(0))
            for option in task
        ),
    )


def best_policy(law: Law) -> Fraction:
    """The largest mean welfare of a policy that decides on each task by what has arrived so far."""

    def value(prefix: Day, free: tuple[int, ...]) -> Fraction:
        following = {day[len(prefix)] for day in law.days if day[: len(prefix)] == prefix and len(day) > len(prefix)}
        total = Fraction(0)
        for task in following:
            longer = (*prefix, task)
            best = value(longer, free)
            for option in task:
                left = tuple(have - used for have, used in zip(free, option.use, strict=True))
                if min(left) >= 0:
                    best = max(best, option.value * law.chance_of(longer) + value(longer, left))
            total += best
        return total

    return value((), law.capacity)


def best_in_hindsight(law: Law) -> Fraction:
    """The mean of OPT."""
    total = Fraction(0)
    for day, chance in zip(law.days, law.chances, strict=True):
        best = 0
        for chosen in product(*((None, *task) for task in day)):
            options = [option for option in chosen if option is not None]
            used = [sum(option.use[j] for option in options) for j in range(len(law.capacity))]
            if all(take <= have for take, have in zip(used, law.capacity, strict=True)):
                best = max(best, sum(option.value for option in options))
        total += chance * best
    return total


def bound(
    law: Law, prices: Sequence[Prices], of_task: Callable[[Day, Prices, Task], Fraction] | None = None
) -> Fraction:
    """The bound of Theorem I at multipliers, a vector for each day.

    `of_task`: the part of a task, from the tasks up to it, the day's own multipliers and the task; None: the theorem's,
    its surplus at the conditional mean of the multipliers.
    """
    total = Fraction(0)
    for day, chance, vector in zip(law.days, law.chances, prices, strict=True):
        total += chance * sum((have * price for have, price in zip(law.capacity, vector, strict=True)), Fraction(0))
        for i, task in enumerate(day):
            prefix = day[: i + 1]
            part = surplus(task, law.mean_after(prefix, prices)) if of_task is None else of_task(prefix, vector, task)
            total += chance * part
    return total


def bound_in_hindsight(law: Law, prices: Sequence[Prices]) -> Fraction:
    """The mean of D, the bound on OPT of each day by its own multipliers."""
    return bound(law, prices, lambda prefix, vector, task: surplus(task, vector))


def mean_estimate(law: Law, prices: Sequence[Prices], own: Fraction) -> Fraction:
    """The mean of the estimator with one inner day, whose multipliers have the weight 1 - own beside the day's own."""

    def of_task(prefix: Day, vector: Prices, task: Task) -> Fraction:
        total = Fraction(0)
        for day, chance, other in zip(law.days, law.chances, prices, strict=True):
            if day[: len(prefix)] == prefix:
                mixed = tuple(own * one + (1 - own) * two for one, two in zip(vector, other, strict=True))
                total += chance / law.chance_of(prefix) * surplus(task, mixed)
        return total

    return bound(law, prices, of_task)


def draw_law(draws: RandomNumbers) -> Law:
    """A random law: one to three resources, two to five days of at most four tasks that are often alike."""
    rows = draws.draw_between(1, 3)
    capacity = tuple(draws.draw_between(1, 2) for _ in range(rows))

    def draw_option() -> Option:
        use = [draws.draw_below(2) for _ in range(rows)]
        use[draws.draw_below(rows)] = 1
        return Option(draws.draw_magnitude(12), tuple(use))

    known = [tuple(draw_option() for _ in range(draws.draw_between(1, 2))) for _ in range(3)]
    days = []
    for _ in range(draws.draw_between(2, 5)):
        shared = days[draws.draw_below(len(days))] if days and draws.draw_below(4) else ()
        day = shared[: draws.draw_below(len(shared) + 1)]
        days.append((*day, *(known[draws.draw_below(3)] for _ in range(draws.draw_between(0, 4 - len(day))))))
    weights = [draws.draw_between(1, 5) for _ in days]
    return Law(capacity, tuple(days), tuple(Fraction(weight, sum(weights)) for weight in weights))


def draw_prices(law: Law, draws: RandomNumbers) -> list[Prices]:
    """Random multipliers for each day, many of them 0."""
    return [
        tuple(
            Fraction(draws.draw_below(30), draws.draw_between(1, 6)) if draws.draw_below(3) else Fraction(0)
            for _ in law.capacity
        )
        for _ in law.days
    ]


def judged_law(j: int) -> Iterator[Check]:
    """Theorem I on law number j."""
    draws = RandomNumbers("theory", j, "lookahead")
    law = draw_law(draws)
    prices = draw_prices(law, draws)
    found = bound(law, prices)
    best, hindsight = best_policy(law), best_in_hindsight(law)
    yield _at_most("theorem_i", best, found)
    yield _at_most("theorem_i_hindsight", max(found, hindsight), bound_in_hindsight(law, prices))
    yield _at_most("theorem_i_samples", found, mean_estimate(law, prices, Fraction(draws.draw_below(3), 2)))


def _at_most(name: str, left: Fraction, right: Fraction) -> Check:
    return Check(name, Verdict.HOLDS if left <= right else Verdict.VIOLATED, left, right)
