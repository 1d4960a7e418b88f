"""Theorem I: a bound on every policy that does not know the future, on its hand case and on random laws of days."""

from fractions import Fraction

import numpy as np
import pytest

from ratiobench.bench.family.checks import Verdict
from ratiobench.formulations import backends
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.report import Termination
from ratiobench.instances.io.seeds import RandomNumbers
from tests.support.samples import of_sample, samples
from tests.tools.theory_lookahead import (
    INVARIANTS,
    Day,
    Law,
    Option,
    Prices,
    Task,
    best_in_hindsight,
    best_policy,
    bound,
    bound_in_hindsight,
    draw_law,
    draw_prices,
    judged_law,
    mean_estimate,
    surplus,
)

ONE = (Option(1, (1,)),)
THREE = (Option(3, (1,)),)
# One cell; a task of value 1, then with probability 1/2 one of value 3
HAND = Law((1,), ((ONE, THREE), (ONE,)), (Fraction(1, 2), Fraction(1, 2)))


def least_bound(law: Law) -> float:
    """The least bound of Theorem I, a linear programme: multipliers of days, surplus of tasks by prefix."""
    rows, prefixes = len(law.capacity), sorted({day[: i + 1] for day in law.days for i in range(len(day))})
    width = len(law.days) * rows
    cost = [float(chance) * have for chance in law.chances for have in law.capacity]
    cost += [float(law.chance_of(prefix)) for prefix in prefixes]
    lines: list[dict[int, float]] = []
    limits: list[float] = []
    for n, prefix in enumerate(prefixes):
        for option in prefix[-1]:
            line = {width + n: 1.0}
            for d, (day, chance) in enumerate(zip(law.days, law.chances, strict=True)):
                if day[: len(prefix)] == prefix:
                    part = float(chance / law.chance_of(prefix))
                    line |= {d * rows + j: part * used for j, used in enumerate(option.use) if used}
            lines.append(line)
            limits.append(float(option.value))
    count = len(cost)
    model = LinearModel(
        name="multipliers",
        objective=-np.array(cost),
        lower=np.zeros(count),
        upper=np.full(count, 1e6),
        integer=np.zeros(count, bool),
        row_start=np.cumsum([0, *map(len, lines)]).astype(np.int64),
        index=np.array([column for line in lines for column in line], np.int64),
        value=np.array([value for line in lines for value in line.values()], float),
        row_lower=np.array(limits, float),
        row_upper=np.full(len(lines), np.inf),
        columns=tuple(f"x{number}" for number in range(count)),
        rows=tuple(f"r{number}" for number in range(len(lines))),
    )
    found = backends.solve("highs", model, Limits())
    assert found.termination is Termination.OPTIMAL
    assert found.values is not None
    return float(np.dot(cost, found.values))


def test_the_hand_case_is_tight() -> None:
    """Hindsight earns 2 in the mean, the best policy 3/2, and the bound with the right multipliers is 3/2, too."""
    right = [(Fraction(3),), (Fraction(0),)]
    assert (best_in_hindsight(HAND), best_policy(HAND)) == (2, Fraction(3, 2))
    assert bound(HAND, right) == Fraction(3, 2)
    assert bound_in_hindsight(HAND, right) == 2
    assert least_bound(HAND) == pytest.approx(1.5)
    # Both are duals of hindsight; with the larger one of the short day the bound is no better than hindsight.
    assert bound(HAND, [(Fraction(3),), (Fraction(1),)]) == 2
    # The mean of the estimator with one inner day is larger; less so if the day's own multipliers are averaged with it.
    assert mean_estimate(HAND, right, Fraction(0)) == 2
    assert mean_estimate(HAND, right, Fraction(1, 2)) == Fraction(7, 4)
    assert mean_estimate(HAND, right, Fraction(1)) == bound_in_hindsight(HAND, right)


def test_the_hand_case_by_all_policies() -> None:
    """A policy takes the first task or not, and the second or not: four policies, the best of them earns 3/2."""
    values = {
        (first, second): sum(
            (chance * (1 if first else 3 * second * (len(day) - 1)) for day, chance in zip(*HAND[1:], strict=True)),
            Fraction(0),
        )
        for first in (0, 1)
        for second in (0, 1)
    }
    assert max(values.values()) == best_policy(HAND) == values[0, 1] == Fraction(3, 2)


def test_the_theorem_holds_on_random_laws() -> None:
    """On random laws, on a tenth of which and more hindsight earns more than the best policy."""
    laws = [draw_law(RandomNumbers("theory", j, "lookahead")) for j in range(samples(600))]
    for j in range(len(laws)):
        checks = list(judged_law(j))
        assert [check.name for check in checks] == [*INVARIANTS]
        assert all(check.status is Verdict.HOLDS for check in checks), (j, checks)
    assert sum(best_in_hindsight(law) > best_policy(law) for law in laws) > of_sample(60, 600)


def test_the_least_bound_is_between_the_best_policy_and_hindsight() -> None:
    """By linear programming on 12 laws: it is the best policy that may serve parts of tasks."""
    closer = 0
    for j in range(12):
        law = draw_law(RandomNumbers("lookahead", j))
        found = least_bound(law)
        assert float(best_policy(law)) <= found + 1e-7
        draws = RandomNumbers("lookahead prices", j)
        assert found <= float(bound(law, draw_prices(law, draws))) + 1e-7
        closer += found < float(best_in_hindsight(law)) - 1e-7
    assert closer >= 1


def test_prices_that_overstate_the_mean_break_the_bound() -> None:
    """With twice the conditional mean it is no bound any more: the test of random laws would notice."""
    broken = 0
    for j in range(200):
        draws = RandomNumbers("theory", j, "lookahead")
        law = draw_law(draws)
        prices = draw_prices(law, draws)

        def of_task(prefix: Day, _: Prices, task: Task, law: Law = law, prices: list[Prices] = prices) -> Fraction:
            return surplus(task, tuple(2 * mean for mean in law.mean_after(prefix, prices)))

        found = bound(law, prices, of_task)
        broken += best_policy(law) > found
    assert broken > 0
