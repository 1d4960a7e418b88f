"""Extremes of bbar over all covers: Dinkelbach against lists of covers and count vectors, at every sign and size."""

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.lora.theory.basis.density import Menu, Totals, find_bbar_range, menus
from ratiobench.formulations.lora.covering.schedules import minimal_covers
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora import Instance
from tests.support.literal import schedules
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

MEMORY = st.sampled_from([Fraction(1), Fraction(7, 2), Fraction(1, 10**6), Fraction(2**70 + 1, 3**40)])


def _by_listing(instance: Instance, memory: Fraction) -> tuple[Fraction, Fraction] | None:
    public = instance.public("")
    kind = public.type_of_node.tolist()
    found = []
    for i in range(instance.tasks):
        task = instance.task(i)
        for option, cells in schedules(task, public):
            cost = task.options[option].price + sum(int(task.cost[kind[k], t - 1]) for k, t in cells)
            work = sum(int(task.rate[kind[k]]) for k, _ in cells)
            found.append((task.bid - cost) / (work + memory * task.memory_mb * len(cells)))
    return (min(found), max(found)) if found else None


def _by_count_vectors(instance: Instance, memory: Fraction) -> tuple[Fraction, Fraction] | None:
    """Least and largest cost of every count vector, wasteful ones included."""
    public = instance.public("")
    found = []
    for i in range(instance.tasks):
        task = instance.task(i)
        for m in minimal_covers(task, public, every_cover=True):
            for cost in (m.largest_cost, m.least_cost):
                for e, s, n in zip(cost.tolist(), m.work.tolist(), m.cells.tolist(), strict=True):
                    found.append((task.bid - m.price - e) / (s + memory * task.memory_mb * n))
    return (min(found), max(found)) if found else None


@st.composite
def _wide_instances(draw: st.DrawFn) -> Instance:
    """Up to 3 tasks, 3 types and 9 slots, with several vendors, costs and net values of both signs, large figures."""
    slots, types = draw(st.integers(4, 9)), draw(st.integers(1, 3))
    scale = draw(st.sampled_from([1, 1, 10**6, 2**30]))
    low = draw(st.sampled_from([0, 0, -2, -9]))
    tasks: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 3))):
        row = st.lists(st.integers(low, 9), min_size=slots, max_size=slots)
        tasks.append(
            {
                "deadline": draw(st.integers(2, slots)),
                "memory_mb": draw(st.integers(1, 9)),
                "work": draw(st.integers(1, 40)) * draw(st.sampled_from([1, scale])),
                "bid": draw(st.integers(0, 60)) * draw(st.sampled_from([1, scale])),
                "rate": [draw(st.integers(1, 9)) * draw(st.sampled_from([1, scale])) for _ in range(types)],
                "cost": [[value * scale for value in draw(row)] for _ in range(types)],
                "vendors": [
                    {"price": draw(st.integers(0, 20)), "delay": draw(st.integers(0, slots))}
                    for _ in range(draw(st.integers(0, 3)))
                ],
            }
        )
    return make_instance(slots, [make_node(9 * scale, 9)] * types, tasks)


@settings(max_examples=samples(300), deadline=None)
@given(instance=tiny_instances(max_tasks=5), money=st.sampled_from([Fraction(1), Fraction(2, 3)]), memory=MEMORY)
def test_the_extremes_over_all_covers_are_the_listed_ones(
    instance: Instance, money: Fraction, memory: Fraction
) -> None:
    """Negative costs, negative net values, vendors and windows without room included."""
    wanted = _by_listing(instance, memory)
    assert find_bbar_range(instance, money, memory) == (
        None if wanted is None else tuple(money * end for end in wanted)
    )


@settings(max_examples=samples(150), deadline=None)
@given(instance=_wide_instances(), memory=MEMORY)
def test_the_extremes_in_wide_windows_are_those_of_the_count_vectors(instance: Instance, memory: Fraction) -> None:
    """Doubles sort out what they can; whole numbers decide."""
    assert find_bbar_range(instance, Fraction(1), memory) == _by_count_vectors(instance, memory)


@settings(max_examples=samples(100), deadline=None)
@given(
    instance=_wide_instances(),
    theta=st.fractions(-10, 10, max_denominator=50),
    sign=st.sampled_from([-1, 1]),
    memory=MEMORY,
)
def test_doubles_are_no_farther_off_than_they_say(
    instance: Instance, theta: Fraction, sign: int, memory: Fraction
) -> None:
    """h(theta) in doubles against the whole numbers, and each cover's own value at theta."""
    for menu in menus(instance):
        value, cover, slack = menu.search(sign, float(theta), float(memory))
        scaled, best = menu.decide(sign, theta, memory)
        exact = Fraction(scaled, (theta / memory.denominator).denominator)
        assert abs(Fraction(value) - exact) <= slack
        assert _value(menu, best, sign, theta, memory) == exact
        assert abs(_value(menu, cover, sign, theta, memory) - exact) <= 2 * slack


def _value(menu: Menu, cover: Totals, sign: int, theta: Fraction, memory: Fraction) -> Fraction:
    size = cover.work + memory * menu.memory_mb * cover.cells
    return sign * (int(menu.net[cover.option]) - cover.cost) - theta * size


def test_ratios_that_doubles_cannot_tell_apart_are_told_apart() -> None:
    """(2^40 - 1)/2^40, (2^40 - 2)/(2^40 - 1), and a third that doubles take for one of them."""
    tops = [(LIMIT - 1, LIMIT), (LIMIT - 2, LIMIT - 1), (LIMIT - 3, LIMIT - 2)]
    instance = make_instance(1, [make_node(LIMIT, 1)], [{"bid": bid, "rate": [rate]} for bid, rate in tops])
    memory = Fraction(1, 2**60)
    wanted = [bid / (rate + memory) for bid, rate in tops]
    assert len({float(value) for value in wanted}) < len(tops)
    assert find_bbar_range(instance, Fraction(1), memory) == (min(wanted), max(wanted))


def test_a_day_of_wide_windows_has_its_extremes_too() -> None:
    """144 slots and 4 types: 10^8 count vectors, some hundreds below M."""
    task = {"memory_mb": 2, "bid": 900, "rate": [7, 11, 13, 17], "energy_wh": [1, 2, 3, 4]}
    tasks = [task | {"work": 50 + j} for j in range(3)]
    instance = make_instance(144, [make_node(17, 2, tariff=[1] * 144)] * 4, tasks)
    found = find_bbar_range(instance, Fraction(1), Fraction(1))
    # Least: all 144 slots on the dearest type. Largest: 51 = 17 + 17 + 17 for 12, or 13 + 13 + 13 + 13 > 51 for more.
    assert found is not None
    assert found[0] == Fraction(900 - 144 * 4, 144 * (17 + 2))
    assert found[1] == max(
        Fraction(900 - e, s + 2 * n)
        for a in range(9) for b in range(6) for c in range(5) for d in range(4)
        for s, e, n in [(7 * a + 11 * b + 13 * c + 17 * d, a + 2 * b + 3 * c + 4 * d, a + b + c + d)]
        if s >= 50
    )  # fmt: skip
