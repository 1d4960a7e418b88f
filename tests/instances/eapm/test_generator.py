"""EAPM's generators: the same integers everywhere, calibrated to the paper's table, paired across recipes."""

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.eapm.suites import GAMMAS, TABLE1
from ratiobench.instances.eapm import Instance, content_hash, loads, write
from ratiobench.instances.eapm.format import dumps
from ratiobench.instances.eapm.generate import ORDERS, expected, generate, named, names
from ratiobench.instances.eapm.laws import BITS, REACH, exponential, exponentials, gamma, normal
from ratiobench.instances.eapm.matrices import (
    ENERGY,
    RATE,
    SOURCE_KEYS,
    SPAN,
    TOLERANCE,
    Matrices,
    Source,
    matrices,
    read_source,
)
from ratiobench.instances.eapm.model import anchors_of, describe, find_anchors, profit_rate
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import round_half_up, text_of_fraction
from ratiobench.instances.io.keys import Values
from ratiobench.instances.io.seeds import Stream
from tests.support.documents import refusal_of
from tests.support.samples import samples

CVB = {"method": "cvb", "seed": "x", "types": 7, "machines": 4, "consistency": "consistent"}
RANGE = {"method": "range", "seed": ["a", 2], "etc": {"task": [10, 20]}, "apc": {"machine": [500, 700]}}

PINNED: list[tuple[dict[str, Any], str]] = [
    ({"kind": "table1"}, "455dd6881cc1270225d533109f581a4d75af0da1164508298f391fbe7555505b"),
    (
        {"kind": "table1", "gamma": "1.05", "seed": ["table1", 7], "matrix": {"seed": 3}},
        "33051bee8f4fe77421d1c4e10189185ddc881909ea4fa872c2d55f5d98bee8d5",
    ),
    (
        {"kind": "users", "users": 200, "gamma": "4/3", "seed": 5},
        "283a38380cbd802b9580ca0b9e75c9afa2da06c606cefec53c54c507e6cd0d73",
    ),
    ({"kind": "users", "matrix": CVB}, "98e62678b8e7d6164807ff09ceb07af074bd8263d422de5c3bd26ff1497c3896"),
    (
        {"kind": "table1", "matrix": RANGE, "tasks": [1, 9]},
        "7be8745c3180d93db9be02f420f8bb7765c7c289943dfb648208edf0bc7dfc93",
    ),
    ({"kind": "orders", "order": "BaS"}, "4b7d0e5e76920407ae01d7f295316f5c998c0092976f12a02a6a3d871a099de1"),
    (
        {"kind": "orders", "order": "Rand", "users": 31, "big": [7, 8], "small": [1, 1]},
        "254571b35504ef2a94acbf02f18247f4e765337d1718a6d71d5334814531d52f",
    ),
    (
        {"kind": "orders", "order": "Equal", "equal": 3},
        "cbf0a006611452c06251159b4db382ca98f97bd02c071167238cff7af16ad4f2",
    ),
]


@pytest.mark.parametrize(("recipe", "digest"), PINNED)
def test_a_recipe_gives_the_same_instance_everywhere(recipe: dict[str, Any], digest: str) -> None:
    """And so does the recipe in the file, defaults filled in; it is JSON values throughout."""
    instance = generate(recipe)
    assert content_hash(instance) == digest
    again = json.loads(json.dumps(instance.origin["recipe"]))
    assert again["kind"] == recipe["kind"]
    assert generate(again).origin == instance.origin
    assert content_hash(generate(again)) == content_hash(instance)
    assert loads(dumps(instance)).origin == instance.origin


def test_table_1_yields_the_three_constants() -> None:
    """Greedy and Average are linear in gamma, so their rows tell E_avg/E_min, MS_greedy/MS_avg and E_min/MS_greedy."""
    gammas = [Fraction(g) for g in GAMMAS]
    greedy, average = ([Fraction(cell) for cell in TABLE1[name]] for name in ("greedy", "average"))
    width = gammas[-1] - gammas[0]
    rate = (greedy[-1] - greedy[0]) / width  # E_min / MS_greedy
    faster = (average[-1] - average[0]) / width  # E_min / MS_avg
    spent = gammas[0] * faster - average[0]  # E_avg / MS_avg
    assert rate == pytest.approx(RATE, abs=0.05)
    assert faster / rate == pytest.approx(SPAN, abs=0.0005)
    assert spent / faster == pytest.approx(ENERGY, abs=0.0005)
    for k, value in enumerate(gammas):
        assert average[k] == pytest.approx(faster * value - spent, abs=0.04)
        if GAMMAS[k] != "1.1":
            assert greedy[k] == pytest.approx(RATE * (value - 1), abs=0.02)


def test_table_1_contradicts_its_text() -> None:
    """At gamma 1.05 Greedy is above Online; at 1.1 what stands in Online's cell is what Greedy's law gives."""
    online, greedy = ([Fraction(cell) for cell in TABLE1[name]] for name in ("online", "greedy"))
    assert [g for g, a, b in zip(GAMMAS, online, greedy, strict=True) if a <= b] == ["1.05"]
    assert online[1] == RATE / 10
    assert abs(greedy[1] - RATE / 10) > 1
    assert {len(row) for row in TABLE1.values()} == {len(GAMMAS)}


def test_the_normal_law_is_normal() -> None:
    """Its distribution function is Phi at the middle between two thousandths, and draws lie within the reach."""
    draws = normal(Stream("normal"), 40_000) / 1000
    assert abs(draws).max() <= REACH / 1000
    for z in (-2.0, -1.0, -0.3, 0.0, 0.5, 1.2, 2.3):
        share = 0.5 * (1 + math.erf((z + 0.0005) / math.sqrt(2)))
        assert np.mean(draws <= z + 0.0002) == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 40_000))
    assert draws.std() == pytest.approx(1, abs=0.02)


def test_the_gamma_law_of_cv_1_is_exponential() -> None:
    """Shape 1 has the distribution function 1 - exp(-x)."""
    draws = gamma(Stream("gamma"), Fraction(1), 40_000) / 2000
    assert draws.min() > 0
    for x in (0.05, 0.3, 1.0, 2.0, 4.0):
        share = 1 - math.exp(-x)
        assert np.mean(draws < x) == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 40_000))


@pytest.mark.parametrize("cv", ["1/50", "0.1", "0.35", "0.6", "1"])
def test_gamma_draws_have_their_mean_and_variation(cv: str) -> None:
    """Mean 1 and the coefficient of variation that was asked for; the skewness of a gamma law is twice that."""
    draws = gamma(Stream("gamma", cv), Fraction(cv), 40_000) / 2000
    spread = float(Fraction(cv))
    assert draws.mean() == pytest.approx(1, abs=5 * spread / 200)
    assert draws.std() == pytest.approx(spread, rel=0.04)
    assert (((draws - 1) / spread) ** 3).mean() == pytest.approx(2 * spread, abs=0.1 + 0.15 * spread)


def test_no_gamma_law_is_made_for_other_variations() -> None:
    """Below 1/50 the grid is too coarse, and above 1 the density has no bound."""
    for cv in (Fraction(1, 51), Fraction(101, 100)):
        with pytest.raises(ValueError, match=r"not in 1/50\.\.1"):
            gamma(Stream("gamma"), cv, 1)


def test_exponentials_are_right_to_the_last_places() -> None:
    """The table agrees with the single values, and these with the machine's exp."""
    table = exponentials(Fraction(1, 5))
    assert len(table) == 2 * REACH + 1
    assert table[REACH] == exponential(Fraction(0)) == 2**BITS
    for k in (-REACH, -1234, -1, 1, 777, REACH):
        assert abs(table[k + REACH] - exponential(Fraction(k, 5000))) <= 1
        assert table[k + REACH] / 2**BITS == pytest.approx(math.exp(k / 5000), rel=1e-14)


def calibrated(instance: Instance) -> bool:
    """Whether both ratios of the matrices, with equal bags of every type, are within 3 % of the paper's."""
    etc, cost = instance.etc_ms.tolist(), instance.cost.tolist()
    least = [min(row) for row in cost]
    greedy = [sum(t[j] for t, c in zip(etc, cost, strict=True) if c.index(min(c)) == j) for j in range(9)]
    average = Fraction(max(sum(t[j] for t in etc) for j in range(9)), 9)
    energy = Fraction(sum(map(sum, cost)), 9 * sum(least))
    return (
        abs(energy / Fraction("1.596") - 1) <= Fraction(3, 100)
        and abs(max(greedy) / average / Fraction("1.548") - 1) <= Fraction(3, 100)
        and abs(profit_rate(sum(least), max(greedy)) - Fraction("452.6")) <= Fraction(1, 1000)
    )


@pytest.mark.parametrize("seed", range(6))
def test_table1_matrices_are_calibrated(seed: int) -> None:
    """Both ratios are within 3 % and E_min/MS_greedy is 452.6 W, on the final integers."""
    instance = generate({"kind": "table1", "matrix": {"seed": seed}})
    assert (len(instance.task_types), len(instance.machines)) == (30, 9)
    assert calibrated(instance)
    assert instance.origin["matrices"]["attempts"] >= 1
    assert Fraction(3, 100) == TOLERANCE


def test_draws_that_are_not_calibrated_are_thrown_away() -> None:
    """The tolerance is a real condition: most seeds need more than one draw, and the count is told."""
    attempts = [matrices(seeded(seed)).attempts for seed in range(6)]
    assert max(attempts) > 5
    assert len(set(attempts)) > 1


def test_fast_machines_draw_more_power() -> None:
    """In the calibrated family speed and power go together, so there is something to trade."""
    logs = [np.log(np.array([made.etc_ms, made.apc_mw])).mean(axis=1) for made in map(matrices, map(seeded, range(8)))]
    found = [np.corrcoef(time, power)[0, 1] for time, power in logs]
    assert np.mean(found) < -0.6


def seeded(seed: int) -> Source:
    return Source("table1", (seed,))


def make(**matrix: Any) -> Matrices:
    return matrices(read_source(Values("recipe", SOURCE_KEYS, {"matrix": matrix})))


def test_cvb_has_the_variations_that_are_asked_for() -> None:
    """Row means vary by V_task, entries of a row by V_machine, and the mean is mu."""
    etc = {"mean": 50_000, "task_cv": "0.5", "machine_cv": "0.25"}
    made = make(method="cvb", types=500, machines=60, etc=etc)
    rows = np.array(made.etc_ms, dtype=float)
    assert rows.shape == (500, 60)
    means = rows.mean(axis=1)
    assert rows.mean() == pytest.approx(50_000, rel=0.08)
    assert means.std() / means.mean() == pytest.approx(0.5, rel=0.1)
    assert (rows.std(axis=1) / means).mean() == pytest.approx(0.25, rel=0.03)
    power = np.array(made.apc_mw, dtype=float)
    assert power.mean() == pytest.approx(120_000, rel=0.02)
    assert power.mean(axis=1).std() / power.mean() == pytest.approx(0.1, rel=0.15)


def test_range_stays_in_its_ranges_and_fills_them() -> None:
    """Each entry is a base times a factor of its own."""
    options = {"task": [1000, 4000], "machine": [1000, 3000]}
    made = make(method="range", types=400, machines=20, etc=options)
    rows = np.array(made.etc_ms)
    assert 1000 <= rows.min() < 1100
    assert 11_000 < rows.max() <= 12_000
    assert (rows.max(axis=1) <= 3 * rows.min(axis=1) + 3).all()
    assert rows.mean() == pytest.approx(2500 * 2, rel=0.05)
    assert np.array(made.apc_mw).min() >= 50_000


@pytest.mark.parametrize("method", ["cvb", "range"])
def test_consistent_rows_are_sorted(method: str) -> None:
    """Consistency reorders the times of each row, changes no figure, and leaves the powers alone."""
    plain, sorted_ = (make(method=method, consistency=c) for c in ("inconsistent", "consistent"))
    assert sorted_.etc_ms == tuple(tuple(sorted(row)) for row in plain.etc_ms) != plain.etc_ms
    assert sorted_.apc_mw == plain.apc_mw


@pytest.mark.parametrize("method", ["cvb", "range"])
def test_more_types_and_machines_change_nothing_else(method: str) -> None:
    """A smaller matrix is a corner of the larger one of the same seed."""
    small, large = (make(method=method, types=k, machines=m) for k, m in ((3, 2), (8, 5)))
    assert small.etc_ms == tuple(row[:2] for row in large.etc_ms[:3])
    assert small.apc_mw == tuple(row[:2] for row in large.apc_mw[:3])


def test_methods_and_seeds_select_their_own_streams() -> None:
    """Any difference in the source gives other matrices; an equal source gives the same object."""
    sources = [{"method": m, "seed": s} for m in ("cvb", "range") for s in (0, 1, "0x", [0, 0])]
    made = [make(**source) for source in sources]
    assert len({each.etc_ms for each in made}) == len({each.apc_mw for each in made}) == len(sources)
    assert make(**sources[0]) is made[0]
    assert make() is matrices(seeded(0))


def columns(instance: Instance) -> tuple[Any, ...]:
    """Everything but the prices."""
    tables = (instance.etc_ms, instance.apc_mw, instance.kind, instance.tasks)
    return (instance.machines, instance.task_types, *(table.tolist() for table in tables))


@pytest.mark.parametrize("base", [{"kind": "table1"}, {"kind": "users"}, {"kind": "orders", "order": "Rand"}])
def test_recipes_that_differ_in_gamma_share_the_rest(base: dict[str, Any]) -> None:
    """So runs over gamma are paired; other seeds give other bags on the same matrices."""
    one, two = (generate({**base, "seed": 4, "gamma": g}) for g in ("1.05", "3/2"))
    other = generate({**base, "seed": 5})
    assert columns(one) == columns(two)
    assert (one.price < two.price).all()
    assert other.etc_ms.tolist() == one.etc_ms.tolist()
    assert columns(other) != columns(one)


def test_fresh_matrices_leave_the_bags_alone() -> None:
    one, two = (generate({"kind": "users", "seed": 4, "matrix": {"seed": s}}) for s in (0, 1))
    assert one.etc_ms.tolist() != two.etc_ms.tolist()
    assert (one.kind.tolist(), one.tasks.tolist()) == (two.kind.tolist(), two.tasks.tolist())


def test_table1_brings_each_type_once() -> None:
    """In an order of its own for every seed, with bags in 200..1000."""
    made = [generate({"kind": "table1", "seed": seed}) for seed in range(5)]
    for instance in made:
        assert sorted(instance.kind.tolist()) == list(range(30))
        assert 200 <= instance.tasks.min() <= instance.tasks.max() <= 1000
    assert len({tuple(instance.kind.tolist()) for instance in made}) == len(made)


def test_more_users_are_the_same_and_others_after_them() -> None:
    """The first users of 2,000 are those of 30; types are drawn uniformly and bags are in their range."""
    few, many = (generate({"kind": "users", "users": n, "seed": 2}) for n in (30, 2000))
    assert many.users == 2000
    for column in ("kind", "tasks", "price"):
        assert getattr(many, column)[:30].tolist() == getattr(few, column).tolist()
    counts = np.bincount(many.kind, minlength=30)
    assert 30 < counts.min() <= counts.max() < 110
    assert (many.tasks.min(), many.tasks.max()) == (200, 1000)


@pytest.mark.parametrize("size", [1, 2, 30, 31])
def test_the_orders_are_orders_of_the_same_users(size: int) -> None:
    """BaS has the big bags first, SaB the small ones, Rand mixes them; Equal has bags of 400."""
    made = {order: generate({"kind": "orders", "order": order, "users": size, "seed": 9}) for order in ORDERS}
    bags = {order: list(zip(each.kind.tolist(), each.tasks.tolist(), strict=True)) for order, each in made.items()}
    big = [tasks > 500 for _, tasks in bags["BaS"]]
    assert big == [True] * (size // 2) + [False] * (size - size // 2)
    assert all(501 <= tasks <= 1000 or 1 <= tasks <= 199 for _, tasks in bags["BaS"])
    assert bags["SaB"] == bags["BaS"][size // 2 :] + bags["BaS"][: size // 2]
    assert sorted(bags["Rand"]) == sorted(bags["BaS"])
    assert bags["Equal"] == [(kind, 400) for kind, _ in bags["BaS"]]
    if size >= 30:
        assert bags["Rand"] not in (bags["BaS"], bags["SaB"])


def test_every_place_of_a_random_order_can_be_big() -> None:
    """Over seeds a big bag comes first about as often as last, and about half of the time."""
    made = [generate({"kind": "orders", "order": "Rand", "seed": seed, "matrix": RANGE}) for seed in range(200)]
    big = np.array([instance.tasks > 500 for instance in made])
    assert (big.sum(axis=1) == 15).all()
    assert ((big.mean(axis=0) > 0.3) & (big.mean(axis=0) < 0.7)).all()


RATIOS = st.fractions(0, 1000, max_denominator=10**6).filter(lambda g: g.numerator < 10**9)


@settings(max_examples=samples(60))
@given(ratio=RATIOS, seed=st.integers(0, 5))
def test_prices_are_gamma_times_the_least_cost(ratio: Fraction, seed: int) -> None:
    """p_i = gamma a_i min_j cost_ij, rounded half up, exactly."""
    text = f"{ratio.numerator}/{ratio.denominator}"
    instance = generate({"kind": "users", "users": 5, "gamma": text, "seed": seed, "matrix": RANGE})
    for i in range(instance.users):
        user = instance.user(i)
        exact = ratio * user.tasks * int(user.cost.min())
        assert Fraction(-1, 2) < user.price - exact <= Fraction(1, 2)


@pytest.mark.parametrize("gamma", [GAMMAS[0], GAMMAS[-1]])
def test_the_price_as_printed_has_no_number_of_tasks(gamma: str) -> None:
    """p_i = gamma min_j cost_ij; the rest of the instance is the same, and every placement loses money."""
    recipe = {"kind": "table1", "gamma": gamma, "tasks": [200, 1000]}
    bag, printed = generate(recipe), generate(recipe | {"price": "printed"})
    for name in ("etc_ms", "apc_mw", "kind", "tasks"):
        assert np.array_equal(getattr(bag, name), getattr(printed, name))
    for i in range(printed.users):
        user = printed.user(i)
        exact = Fraction(gamma) * int(user.cost.min())
        assert Fraction(-1, 2) < user.price - exact <= Fraction(1, 2)
        assert user.price < user.tasks * int(user.cost.min())
    assert content_hash(generate(recipe | {"price": "bag"})) == content_hash(bag)
    assert printed.name != bag.name


@given(st.fractions(0, 1000, max_denominator=10**4))
def test_fractions_are_written_as_they_are_read(value: Fraction) -> None:
    assert Fraction(text_of_fraction(value)) == value
    assert ("/" in text_of_fraction(value)) is (10**9 % value.denominator != 0)


def test_halves_are_rounded_up() -> None:
    """Of two equally near integers, the larger; below 0 too."""
    assert [round_half_up(Fraction(k, 4)) for k in range(-3, 8)] == [-1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2]


BAD: list[tuple[Mapping[str, Any], str]] = [
    ({}, "kind"),
    ({"kind": "paper"}, "kind"),
    ({"kind": ["table1"]}, "kind"),
    ({"kind": "table1", "users": 30}, "users"),
    ({"kind": "table1", "colour": 1}, "colour"),
    ({"kind": "table1", "name": ""}, "name"),
    ({"kind": "table1", "seed": []}, "seed"),
    ({"kind": "table1", "seed": 1.5}, "seed"),
    ({"kind": "table1", "seed": [True]}, "seed"),
    ({"kind": "table1", "gamma": 1.05}, "gamma"),
    ({"kind": "table1", "gamma": True}, "gamma"),
    ({"kind": "table1", "gamma": None}, "gamma"),
    ({"kind": "table1", "gamma": "-1"}, "gamma"),
    ({"kind": "table1", "gamma": "1e9"}, "gamma"),
    ({"kind": "table1", "gamma": "1/0"}, "gamma"),
    ({"kind": "table1", "gamma": "1/00"}, "gamma"),
    ({"kind": "table1", "gamma": "1.05 "}, "gamma"),
    ({"kind": "table1", "gamma": "\u0661"}, "gamma"),
    ({"kind": "table1", "gamma": 1001}, "gamma"),
    ({"kind": "table1", "gamma": 10**40}, "gamma"),
    ({"kind": "table1", "gamma": "9" * 10_000}, "gamma"),
    ({"kind": "table1", "tasks": [0, 5]}, "tasks[0]"),
    ({"kind": "table1", "tasks": [5, 4]}, "tasks[1]"),
    ({"kind": "table1", "tasks": 5}, "tasks"),
    ({"kind": "table1", "order": "BaS"}, "order"),
    ({"kind": "users", "users": 0}, "users"),
    ({"kind": "users", "users": 100_001}, "users"),
    ({"kind": "users", "users": "30"}, "users"),
    ({"kind": "orders"}, "order"),
    ({"kind": "orders", "order": "bas"}, "order"),
    ({"kind": "orders", "order": "BaS", "tasks": [1, 2]}, "tasks"),
    ({"kind": "orders", "order": "BaS", "big": [1, 10**6 + 1]}, "big[1]"),
    ({"kind": "orders", "order": "BaS", "equal": 0}, "equal"),
    ({"kind": "users", "matrix": 3}, "matrix"),
    ({"kind": "users", "matrix": []}, "matrix"),
    ({"kind": "users", "matrix": {"method": "CVB"}}, "matrix.method"),
    ({"kind": "users", "matrix": {"types": 5}}, "matrix.types"),
    ({"kind": "users", "matrix": {"seed": {}}}, "matrix.seed"),
    ({"kind": "users", "matrix": {"method": "cvb", "types": 0}}, "matrix.types"),
    ({"kind": "users", "matrix": {"method": "cvb", "machines": 101}}, "matrix.machines"),
    ({"kind": "users", "matrix": {"method": "cvb", "consistency": "x"}}, "matrix.consistency"),
    ({"kind": "users", "matrix": {"method": "cvb", "etc": 1}}, "matrix.etc"),
    ({"kind": "users", "matrix": {"method": "cvb", "etc": {"mean": 0}}}, "matrix.etc.mean"),
    ({"kind": "users", "matrix": {"method": "cvb", "etc": {"task_cv": 0.5}}}, "matrix.etc.task_cv"),
    ({"kind": "users", "matrix": {"method": "cvb", "apc": {"task_cv": "0.01"}}}, "matrix.apc.task_cv"),
    ({"kind": "users", "matrix": {"method": "cvb", "apc": {"machine_cv": 2}}}, "matrix.apc.machine_cv"),
    ({"kind": "users", "matrix": {"method": "cvb", "apc": {"task": [1, 2]}}}, "matrix.apc.task"),
    ({"kind": "users", "matrix": {"method": "range", "etc": {"task": [0, 2]}}}, "matrix.etc.task[0]"),
    ({"kind": "users", "matrix": {"method": "range", "apc": {"machine": [3, 2]}}}, "matrix.apc.machine[1]"),
    ({"kind": "named"}, "name"),
    ({"kind": "named", "name": "absent"}, "name"),
    ({"kind": "named", "name": "expected"}, "name"),
    ({"kind": "file", "path": 5}, "path"),
    ({"kind": "file", "path": "x", "seed": 1}, "seed"),
]


@pytest.mark.parametrize(("recipe", "field"), BAD, ids=[f"{k}-{field}" for k, (_, field) in enumerate(BAD)])
def test_a_bad_recipe_is_one_line_that_names_the_key(recipe: Mapping[str, Any], field: str) -> None:
    """Whatever cannot be used is an InputError with the key's path; nothing is clipped or guessed."""
    assert refusal_of(generate, recipe).partition(": ")[2].startswith(f"{field}: ")


def test_figures_that_do_not_fit_are_told() -> None:
    """A recipe whose costs pass the format's limit is an error of its instance, not an overflow."""
    huge = {"method": "range", "etc": {"task": [10**8, 10**8], "machine": [10**7, 10**7]}}
    with pytest.raises(InputError, match=r"users\[\d+\]\.tasks: .* over 2\^62"):
        generate({"kind": "users", "gamma": 0, "matrix": huge})


def test_a_file_is_an_instance(tmp_path: Path) -> None:
    instance = generate({"kind": "users", "users": 3, "matrix": RANGE})
    write(instance, tmp_path / "x.json.gz")
    assert content_hash(generate({"kind": "file", "path": str(tmp_path / "x.json.gz")})) == content_hash(instance)


def cheapest(instance: Instance) -> list[tuple[int, ...]]:
    """Greedy: every bag on its cheapest machine, of equally cheap ones the first."""
    placed = []
    for i in range(instance.users):
        user = instance.user(i)
        place = user.energy_uj.tolist().index(user.energy_uj.min())
        placed.append(tuple(user.tasks if j == place else 0 for j in range(len(user.cost))))
    return placed


def even(instance: Instance) -> list[tuple[int, ...]]:
    """Average: every bag split evenly, the remainder to the first machines."""
    m = len(instance.machines)
    return [tuple(a // m + (j < a % m) for j in range(m)) for a in instance.tasks.tolist()]


def outcome(instance: Instance, placed: list[tuple[int, ...]]) -> tuple[int, int]:
    """Profit in micro-units and makespan in milliseconds, from the definition."""
    users = [instance.user(i) for i in range(instance.users)]
    spent, loads = 0, [0] * len(instance.machines)
    for user, row in zip(users, placed, strict=True):
        for j, tasks in enumerate(row):
            spent += tasks * int(user.cost[j])
            loads[j] += tasks * int(user.etc_ms[j])
    return sum(user.price for user in users) - spent, max(loads)


@pytest.mark.parametrize("recipe", [recipe for recipe, _ in PINNED])
def test_the_anchors_are_what_the_two_placements_cost_and_take(recipe: dict[str, Any]) -> None:
    """E_min and MS_greedy exactly; the even split in fractions is near the one in whole tasks."""
    instance = generate(recipe)
    known = find_anchors(instance, instance.cost)
    paid = int(instance.price.sum())
    profit, makespan = outcome(instance, cheapest(instance))
    assert (paid - profit, makespan) == (known.least_cost, known.greedy_ms)
    assert known.rate == Fraction(known.least_cost, 1000 * makespan)
    profit, makespan = outcome(instance, even(instance))
    slack = sum(max(row) for row in instance.etc_ms[instance.kind].tolist())
    assert abs(makespan - known.average_ms) <= slack
    assert abs(paid - profit - known.average_cost) <= sum(map(sum, instance.cost[instance.kind].tolist()))
    told = describe(instance)
    assert told["users"] == instance.users
    assert told["price"] == pytest.approx(float(Fraction(instance.origin["recipe"]["gamma"])), abs=0.001)
    assert json.loads(json.dumps(told)) == told


def test_free_energy_has_no_energy_ratio() -> None:
    """Where the cheapest placement costs nothing the ratio of costs and the mean gamma are undefined."""
    instance = named("free_energy")
    assert find_anchors(instance, instance.cost).energy is None
    assert describe(instance)["price"] is None
    assert anchors_of([[2, 4]], [[3, 5]], [6]).energy == Fraction(8, 6)
    assert anchors_of([[2, 4]], [[3, 5]], [6]).span == 1


def splits(tasks: int, machines: int) -> Iterator[tuple[int, ...]]:
    if machines == 1:
        yield (tasks,)
        return
    for first in range(tasks + 1):
        for rest in splits(tasks - first, machines - 1):
            yield (first, *rest)


@pytest.mark.parametrize("name", names())
def test_the_expected_figures_of_named_instances_are_right(name: str) -> None:
    """OPT by trying every placement, Greedy and Average from their definitions."""
    instance = named(name)
    every = itertools.product(*(list(splits(a, len(instance.machines))) for a in instance.tasks.tolist()))
    assert instance.name == name
    assert expected(name) == {
        "opt": str(max(profit_rate(*outcome(instance, list(placed))) for placed in every)),
        "greedy": str(profit_rate(*outcome(instance, cheapest(instance)))),
        "average": str(profit_rate(*outcome(instance, even(instance)))),
    }
    assert content_hash(generate({"kind": "named", "name": name})) == content_hash(instance)


def together(instance: Instance, i: int, loads: list[int], machines: set[int]) -> tuple[Fraction, dict[int, Fraction]]:
    """System (20): the finish time that the machines share, and their shares of bag i."""
    user = instance.user(i)
    etc: list[int] = user.etc_ms.tolist()
    done = sum((Fraction(loads[j], etc[j]) for j in machines), Fraction(user.tasks))
    finish = done / sum((Fraction(1, etc[j]) for j in machines), Fraction(0))
    return finish, {j: (finish - loads[j]) / etc[j] for j in machines}


def test_the_printed_rule_has_negative_shares() -> None:
    """The first bag goes to m2 at rate 10; then both machines together have -4.5 tasks on m2, and claim the most."""
    instance = named("negative_shares")
    # The first bag: (1100 - 100) / 100 on m2 against a loss with m1.
    assert together(instance, 0, [0, 0], {1}) == (Fraction(100), {1: Fraction(10)})
    finish, shares = together(instance, 1, [0, 100], {0, 1})
    assert (finish, shares) == (Fraction(55), {0: Fraction(11, 2), 1: Fraction(-9, 2)})
    claim = (1120 - 100 - Fraction(11, 2) * 20 + Fraction(9, 2) * 10) / finish
    alone, _ = together(instance, 1, [0, 100], {1})
    assert claim == Fraction(191, 11) > (1120 - 100 - 10) / alone
    assert claim / 1000 > Fraction(expected("negative_shares")["opt"])


def test_the_printed_rule_pays_for_a_finish_time_below_the_makespan() -> None:
    """m2 and m3 would finish the second bag at 40 ms while m1 runs until 100: dearer, and no earlier than m2 alone."""
    instance = named("finish_below_makespan")
    loads = [100, 0, 0]
    claims: dict[int, tuple[Fraction, Fraction]] = {}
    truths: dict[int, Fraction] = {}
    for machines in ({1}, {1, 2}, {0, 1, 2}):
        finish, shares = together(instance, 1, loads, machines)
        profit = Fraction(1500 - 100) - sum(share * int(instance.cost[1, j]) for j, share in shares.items())
        claims[len(machines)] = (finish, profit / finish)
        truths[len(machines)] = profit / max(finish, Fraction(100))
    assert {size: finish for size, (finish, _) in claims.items()} == {1: 80, 2: 40, 3: 60}
    assert max(claims, key=lambda size: claims[size][1]) == 2
    assert truths[2] < truths[1] == 1000 * Fraction(expected("finish_below_makespan")["opt"])


def test_lemma_1_misses_the_optimum_at_the_current_makespan() -> None:
    """Best are 10 tasks on m2 until 100 ms and 5 on m1; the lemma's floors want 10 there, and (20) misses it too."""
    instance = named("lemma1_misses")
    loads = [0, 0, 100]
    best = max(splits(15, 3), key=lambda x: profit_rate(*outcome(instance, [(0, 0, 10), x])))
    profit, makespan = outcome(instance, [(0, 0, 10), best])
    assert (best, profit, makespan) == ((5, 10, 0), 1750, 100)
    assert profit_rate(profit, makespan) == Fraction(expected("lemma1_misses")["opt"])
    floors = [(makespan - loads[j]) // 10 for j in range(3)]
    assert floors == [10, 10, 0]  # m1 dearer than m2: with m1 in use the lemma wants 10 on each, 20 tasks of 15
    order = sorted(range(3), key=lambda j: -int(instance.cost[1, j]))
    shares = [together(instance, 1, loads, set(order[tau:]))[1] for tau in range(3)]
    assert all({0: 5, 1: 10}.items() - share.items() for share in shares)


def test_with_a_loss_the_longest_schedule_is_best() -> None:
    """Prices below the energy's cost make the rate negative, and a longer makespan makes it less so."""
    instance = named("negative_opt")
    found = {x: outcome(instance, [x]) for x in splits(2, 2)}
    assert found == {(2, 0): (-15_000, 2_000), (1, 1): (-29_000, 3_000), (0, 2): (-43_000, 6_000)}
    assert max(found, key=lambda x: profit_rate(*found[x])) == (0, 2)


def test_names_are_the_shipped_files() -> None:
    """The table of expected figures is complete and no instance."""
    assert len(names()) >= 7
    assert "expected" not in names()
    for name in names():
        assert set(expected(name)) == {"opt", "greedy", "average"}
        assert named(name).origin["about"]
