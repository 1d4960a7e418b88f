"""Theorems N1 to N7: closed forms against linear programmes and brute force, families of instances, the command."""

from __future__ import annotations

import contextlib
import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ratiobench
from ratiobench.bench.cli.main import main
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.theory.limits import cases, chart, formulas
from ratiobench.formulations import backends
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.report import Termination
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import limits
from ratiobench.instances.lora.format import document, parse
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.registry import entries
from ratiobench.online.lora.run import ENVIRONMENT
from ratiobench.online.lora.run import run as run_algorithm
from tests.support.contestants import Declares, Honest, HonestBatch
from tests.support.samples import of_sample, samples
from tests.tools import theory_limits

TINY = (
    "rising:levels=1+2+5,K=1,n=2",
    "rising:levels=1+3,K=1,n=1,T=2",
    "rising:levels=1+3,K=1,n=1,T=2,window=all,memory=bid",
    "rising:levels=1+2,K=2,n=1,apart=true",
    "two:theta=7",
    "units:n=2,K=1,theta=9,steps=3",
    "flat:v=1/4,cap=8,delta=1,K=1,n=2",
    "block:delta=2/7",
    "nested:L=2,sigma=3/2,K=1,n=1",
    "nested:L=3,sigma=1,K=1,n=1",
    "lengths:L=2,T=2,K=1,n=1",
    "choice:G=3,m=2,levels=1+3,K=1,n=1,order=2+3+1",
    "choice:G=2,m=1,levels=1+2+3,K=1,n=1,seed=4",
)
"""Members of every family, small enough for an enumeration of all schedules."""


def _first(instance: Instance, tasks: int) -> Instance:
    data = document(instance)
    data["tasks"] = data["tasks"][:tasks]
    return parse(data, "prefix")


@pytest.mark.parametrize("text", TINY)
def test_opt_of_every_prefix_is_what_enumeration_finds(text: str) -> None:
    """The closed form, and what the instance says of itself; whole numbers, no costs."""
    recipe = cases.parse_recipe(text)
    _, _, made = limits.read(recipe)
    instance = limits.generate(recipe)
    origin = document(instance)["origin"]["prefixes"]
    assert [each["opt_micro_dollars"] for each in origin] == [prefix.opt for prefix in made.prefixes]
    assert instance.tasks == made.prefixes[-1].tasks
    assert not instance.cost(0).any()
    for prefix in made.prefixes:
        part = _first(instance, prefix.tasks)
        optimum = enumerate_optimum(part)[0] if prefix.tasks <= 8 else solve(part).upper
        assert optimum == prefix.opt, prefix


def test_files_are_what_the_theorems_say() -> None:
    """Rates, units, windows; the example's number of tasks; memory in proportion to the bid gives U = theta + 1."""
    recipe = cases.parse_recipe("rising")
    _, _, made = limits.read(recipe)
    assert (made.prefixes[-1].tasks, len(made.levels)) == (1144, 143)
    assert made.values[:3] == (1_000_000, 1_050_000, 1_102_500)
    assert made.values[-1] == 10**9
    for memory, spread in (("bid", 31), ("equal", 60)):
        instance = limits.generate(cases.parse_recipe(f"rising:theta=30,memory={memory},K=1,n=4"))
        public = instance.public("")
        assert set(instance.work.tolist()) == {1000}
        assert public.compute.tolist() == [4000]
        top, fattest = int(instance.bid.max()), Fraction(0)
        top_memory = max(Fraction(int(b), int(r)) for b, r in zip(instance.bid, instance.memory_mb, strict=True))
        for bid, size in zip(instance.bid.tolist(), instance.memory_mb.tolist(), strict=True):
            fattest = max(fattest, (top + top_memory * size) / bid)
        assert fattest == spread
    nested = limits.generate(cases.parse_recipe("nested:L=4,sigma=5/4,K=1,n=1"))
    lengths = [work // 1000 for work in nested.work.tolist()]
    assert all(last >= Fraction(5, 4) * length for last, length in zip(nested.deadline.tolist(), lengths, strict=True))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("rising:levels=3+2", "levels"),
        ("rising:levels=1+2,theta=4", "theta"),
        ("rising:theta=1000000,delta=1/1000", "delta"),
        ("rising:theta=1000,K=100000,n=9", "levels"),
        ("two:theta=1", "theta"),
        ("lengths:L=3", "L"),
        ("lengths:L=4,T=6", "T"),
        ("choice:G=3,m=3", "m"),
        ("choice:G=3,order=1+2+2", "order"),
        ("choice:levels=2+3", "levels"),
        ("block:delta=1", "delta"),
        ("flat:v=1/1000000,cap=1,delta=1/1000", "delta"),
    ],
)
def test_what_cannot_be_made_is_named(text: str, place: str) -> None:
    """Recipe and key."""
    with pytest.raises(InputError) as found:
        cases.make_case(text, 1)
    assert found.value.field == place
    with pytest.raises(InputError, match="did you mean 'rising'"):
        cases.make_case("risin", 1)


# No policy does better: linear programmes over all fractional policies, and all whole sales.

Rows = Sequence[tuple[Mapping[int, float], float, float]]


INF = math.inf


def _maximise(variables: int, last: int, rows: Rows) -> float:
    """The largest value of a variable, all of them at least 0."""
    objective = np.zeros(variables)
    objective[last] = 1.0
    starts = np.cumsum([0, *(len(row) for row, _, _ in rows)])
    model = LinearModel(
        name="policies",
        objective=objective,
        lower=np.zeros(variables),
        upper=np.full(variables, INF),
        integer=np.zeros(variables, bool),
        row_start=starts.astype(np.int64),
        index=np.array([column for row, _, _ in rows for column in row], np.int64),
        value=np.array([value for row, _, _ in rows for value in row.values()], float),
        row_lower=np.array([low for _, low, _ in rows], float),
        row_upper=np.array([high for _, _, high in rows], float),
        columns=tuple(f"x{number}" for number in range(variables)),
        rows=tuple(f"r{number}" for number in range(len(rows))),
    )
    found = backends.solve("highs", model, Limits())
    assert found.termination is Termination.OPTIMAL
    assert found.values is not None
    return float(found.values[last])


LEVELS = ([1, 2, 3, 4, 5], [1, 2, 4, 8, 16], [3, 7, 8, 40], [5], [2, 1000])


@pytest.mark.parametrize("levels", LEVELS)
def test_n1_is_the_best_of_all_fractional_policies(levels: list[int]) -> None:
    """Units sold per level, at most all; earned at every prefix at least the share y of OPT."""
    count = len(levels)
    rows: list[tuple[Mapping[int, float], float, float]] = [(dict.fromkeys(range(count), 1.0), -INF, 1.0)]
    for j, level in enumerate(levels):
        rows.append(({**{i: float(levels[i]) for i in range(j + 1)}, count: -float(level)}, 0.0, INF))
    best = _maximise(count + 1, count, rows)
    assert 1 / best == pytest.approx(float(formulas.bound_rising(levels)), rel=1e-7)
    if levels == list(range(1, count + 1)):
        assert formulas.bound_rising(levels) == formulas.harmonic(count)


@pytest.mark.parametrize(("types", "groups"), [(2, 1), (3, 1), (3, 2), (5, 3), (10, 6), (40, 20)])
@pytest.mark.parametrize("levels", [[1], [1, 2, 4], [1, 3, 20]])
def test_n3_is_not_above_the_best_policy(types: int, groups: int, levels: list[int]) -> None:
    """Shares of groups sold, spread evenly over the open types by symmetry; later sales, per type that stays open."""
    rest, count = types - groups, groups + len(levels)
    rows: list[tuple[Mapping[int, float], float, float]] = [({k: 1.0}, -INF, 1.0) for k in range(groups)]
    load = {k: 1 / (types - k) for k in range(groups)} | {groups + j: 1.0 for j in range(len(levels))}
    rows.append((load, -INF, 1.0))
    for k in range(groups):
        rows.append(({**dict.fromkeys(range(k + 1), 1.0), count: -float(k + 1)}, 0.0, INF))
    for j, level in enumerate(levels):
        earned = dict.fromkeys(range(groups), 1.0) | {groups + i: float(rest * levels[i]) for i in range(j + 1)}
        rows.append(({**earned, count: -float(groups + rest * level)}, 0.0, INF))
    best = 1 / _maximise(count + 1, count, rows)
    bound = float(formulas.bound_choice(types, groups, levels))
    assert best >= bound - 1e-7
    if types / groups > bound + 1e-6 and (types, groups) in ((2, 1), (3, 1)):
        assert best == pytest.approx(bound, rel=1e-7)  # one group: the second half of the theorem is exact


def test_n3_tends_to_its_limit() -> None:
    """Many types, fine levels; e / (e - 1) without a spread; between 1 + ln theta and 1/(2 (Gamma - 1)) above that."""
    assert formulas.bound_any_choice(1.0) == pytest.approx(math.e / (math.e - 1), rel=1e-9)
    for theta in (2.0, 20.0, 1000.0):
        gamma = formulas.bound_any_choice(theta)
        assert 1 + math.log(theta) < gamma <= 1 + math.log(theta) + 1 / (2 * (gamma - 1)) + 1e-12
    levels = [round(10**6 * 1.01**j) for j in range(300)]
    gamma = formulas.bound_any_choice(levels[-1] / levels[0])
    found = [float(formulas.best_choice(types, levels)[1]) for types in (10, 50)]
    assert found[0] < found[1] < gamma
    assert found[1] > gamma - 0.06
    for types in range(2, 60):
        for groups in range(1, types):
            lost = formulas.harmonic(types) - formulas.harmonic(types - groups)
            assert 1 - lost + Fraction(groups, types - groups) > 1


@pytest.mark.parametrize("units", [1, 2, 3, 5])
@pytest.mark.parametrize("levels", [(1, 2, 3, 4), (2, 3, 11), (1, 9, 10, 100), (4, 5)])
def test_n4_at_levels_is_the_best_of_all_whole_sales(units: int, levels: tuple[int, ...]) -> None:
    """Against every vector of numbers sold; never below Theorem N1."""
    exact = formulas.bound_units_at(units, levels)
    assert exact == theory_limits.least_by_counts(units, levels)
    assert exact >= formulas.bound_rising(levels)


def test_n4_in_closed_form_is_the_limit_of_fine_levels() -> None:
    """From below; theta for one unit, 1 + ln theta for many; attained by the price of its proof."""
    for theta in (3, 20, 100):
        fine = [round(10**9 * theta ** (j / 700)) for j in range(701)]
        for units in (2, 4, 9):
            found, closed = float(formulas.bound_units_at(units, fine)), formulas.bound_units(units, theta)
            assert 0.99 * closed < found <= closed * (1 + 1e-9)
            assert _worst_of_the_price(units, fine, closed) <= closed * (1 + 1e-9)
        assert formulas.bound_units(1, theta) == theta
        assert formulas.bound_units(10**6, theta) == pytest.approx(1 + math.log(theta), abs=1e-3)
        counts = [formulas.bound_units(units, theta) for units in (1, 2, 4, 16, 50, 150)]
        assert counts == sorted(counts, reverse=True)


def _worst_of_the_price(units: int, levels: Sequence[int], factor: float) -> float:
    """The largest OPT/ALG of v_1 = ... = v_k = 1, v_{i+1} = max(1, c (v_1 + ... + v_i) / N) on rising levels."""
    first = math.ceil(units / factor - 1e-12)
    prices = [1.0] * first
    while len(prices) < units:
        prices.append(max(1.0, factor * sum(prices) / units))
    sold, earned, worst = 0, 0.0, 0.0
    for level in levels:
        value = level / levels[0]
        for _ in range(units):
            if sold < units and value >= prices[sold] - 1e-12:
                sold, earned = sold + 1, earned + value
        worst = max(worst, units * value / earned)
    return worst


@pytest.mark.parametrize("sigma", [Fraction(tenths, 10) for tenths in (10, 11, 13, 15, 20, 40)])
@pytest.mark.parametrize("longest", [1, 2, 5, 12, 20])
def test_n5_is_the_best_of_all_fractional_policies(sigma: Fraction, longest: int) -> None:
    """Work per length; the least share of it in slots 1..x is at most x."""
    ends = limits.windows_of(longest, sigma)
    rows: list[tuple[Mapping[int, float], float, float]] = []
    for length, end in enumerate(ends, 1):
        rows.append(({**dict.fromkeys(range(length), 1.0), longest: -float(end)}, 0.0, INF))
    for slots in range(1, ends[-1] + 1):
        inside = {j: float(formulas.share_inside(j + 1, ends[j], slots)) for j in range(longest)}
        rows.append(({j: share for j, share in inside.items() if share}, -INF, float(slots)))
    best = 1 / _maximise(longest + 1, longest, rows)
    assert best == pytest.approx(float(formulas.bound_nested(ends)), rel=1e-7)
    if sigma == 1:
        assert formulas.bound_nested(ends) == formulas.harmonic(longest)


def test_n5_tends_to_its_limit() -> None:
    """sigma ln(sigma / (sigma - 1)) for long tasks; windows of at least sigma times the length stay below it."""
    for sigma in (Fraction(3, 2), Fraction(2), Fraction(3)):
        limit = formulas.bound_slack(float(sigma))
        found = [float(formulas.bound_nested(limits.windows_of(longest, sigma))) for longest in (10, 80)]
        assert found[0] < found[1] <= limit + 1e-9
        assert found[1] > limit - 0.03


def test_n2_refuses_what_no_algorithm_can_promise() -> None:
    """No multiple of 1 + ln theta for ever; (1 + 1/d) (1 + ln theta)^(1 + d) passes at every size."""
    levels = [2**j for j in range(400)]
    for factor in (2, 3):
        promised = [Fraction(factor * (1 + math.log(level))) for level in levels]
        assert not formulas.is_possible_unknown(levels, promised)
    for delta in (0.25, 1.0, 3.0):
        promised = [Fraction((1 + 1 / delta) * (1 + math.log(level)) ** (1 + delta)) for level in levels]
        assert all(formulas.is_possible_unknown(levels[:count], promised[:count]) for count in (1, 2, 10, 100, 400))
    assert not formulas.is_possible_unknown([1, 2], [Fraction(1), Fraction(3, 2)])


@pytest.mark.parametrize("levels", LEVELS[:4])
@pytest.mark.parametrize("factor", [Fraction(5, 2), Fraction(4), Fraction(40)])
def test_n7_is_the_best_of_all_fractional_policies(levels: list[int], factor: Fraction) -> None:
    """The most at the first level, and the least OPT/ALG at the last, of policies with a factor at the others."""
    count = len(levels)
    load: tuple[Mapping[int, float], float, float] = (dict.fromkeys(range(count), 1.0), -INF, 1.0)

    def robust(upto: int) -> list[tuple[Mapping[int, float], float, float]]:
        prefixes = range(upto)
        return [({i: float(levels[i]) for i in range(j + 1)}, levels[j] / float(factor), INF) for j in prefixes]

    possible = formulas.bound_rising(levels) <= factor
    most = formulas.most_at_first(levels, factor)
    assert (most > 0) == possible
    if possible:
        assert _maximise(count, 0, [load, *robust(count)]) == pytest.approx(float(most), rel=1e-7)
    least = formulas.least_at_top(levels, factor)
    if least is not None:
        earned = ({**{j: levels[j] / levels[-1] for j in range(count)}, count: -1.0}, 0.0, INF)
        best = _maximise(count + 1, count, [load, earned, *robust(count - 1)])
        assert 1 / best == pytest.approx(float(least), rel=1e-7)


def test_n7_in_closed_form_has_the_figures_of_the_text() -> None:
    """gamma = 60 and ln(V/A) = 11: 17 % at the cap, nothing on a flat day of 1/35; gamma = 30: half a per cent."""
    loss = math.exp(-11)
    assert formulas.bound_advice_rising(60, loss) == pytest.approx(1 / 6, abs=1e-4)
    assert formulas.bound_advice_flat(60, loss, 1 / 35) == 1
    assert formulas.bound_advice_flat(30, loss, 1 / 35) == pytest.approx(0.9947, abs=1e-4)
    assert formulas.bound_advice_flat(2, loss, 1 / 35) == 0
    found = formulas.bound_advice_flat(20, loss, 1 / 35)
    for x, possible in ((found - 1e-6, True), (found + 1e-6, False)):
        assert (1 - x >= math.log(1 / (20 * x / 35 + loss)) / 20) == possible


# Every algorithm that is registered.

MEMBERS = (
    "rising:theta=20,delta=1/2",
    "rising:levels=1+2+3+4+5,T=3,window=all,memory=bid",
    "rising:levels=1+4+9,T=2",
    "two:theta=50",
    "units:n=3,K=1,theta=30,steps=12",
    "flat:v=1/20,cap=100,delta=1/2",
    "block:delta=1/8",
    "nested:L=6,sigma=5/4,K=1,n=3",
    "nested:L=6,sigma=1,K=1,n=2",
    "lengths:L=8,T=16,K=1,n=2",
    "choice:G=3,m=2,K=1,n=2",
    "choice:G=3,m=1,theta=5,delta=1/2,K=1,n=2",
)
RUN_ALONE = (
    "bbar-rule", "capped", "eft", "eris", "greedy", "learned", "minimal-edit", "ntm", "pdftsp", "posted", "queue",
    "titan",
)  # fmt: skip
"""Algorithms that need nothing but their names; others may come, and those that need a file or an option do not run."""


@functools.cache
def _list_algorithms() -> tuple[str, ...]:
    """All registered algorithms that need nothing but their names."""
    found = []
    for name in entries():
        with contextlib.suppress(InputError):
            run_algorithm(ENVIRONMENT.small(), name)
            found.append(name)
    assert set(RUN_ALONE) <= set(found)
    return tuple(found)


@pytest.mark.parametrize("member", MEMBERS)
def test_no_registered_algorithm_is_below_its_limit(member: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every algorithm of the registry, on every family; those that decide later say so, batches get levels apart."""
    names = _list_algorithms()
    assert main(["limit", member, "--json", *(word for name in names for word in ("-a", name))]) == 0
    found = json.loads(capsys.readouterr().out)
    exact = {each["algorithm"]: each for each in found["runs"]}
    assert set(exact) == set(names)
    assert exact["queue"]["state"] == "not applicable"
    assert "at arrival" in exact["queue"]["reason"]
    judged = 0
    for name, each in exact.items():
        if each["state"] == "not applicable":
            assert "at arrival" in each["reason"]
            continue
        assert each["state"] == "ok", (name, each)
        # Of an algorithm that draws, the mean over the orders of the types is a sample, which may be lucky.
        if each["worst_ratio"] is not None and not (entries()[name].randomised and member.startswith("choice")):
            judged += 1
            assert Fraction(each["worst_ratio"]) >= Fraction(each["bound"]["value"]), name
    assert judged >= 5
    assert "moment" in exact["titan"]["reason"]


def test_constants_do_not_tell_the_order_of_the_types() -> None:
    """They come from one instance for all orders, in which all types are alike; else `guarded` is below Theorem N3."""
    text = "choice:G=2,m=1,theta=3,delta=2,K=2,n=2"
    recipe = cases.parse_recipe(text)
    announced = limits.generate_announced(recipe)
    assert announced is not None
    again = limits.generate_announced(recipe | {"order": [2, 1]})
    assert again is not None
    assert document(again) == document(announced)
    usable = [[bool(rate) for rate in row] for row in announced.rate.tolist()]
    assert sum(row[0] for row in usable) == sum(row[1] for row in usable) > announced.tasks // 2
    for name in ("rising", "nested"):
        assert limits.generate_announced(cases.parse_recipe(name)) is None
    [guarded] = ratiobench.limit(text, "guarded:inner=greedy,beta=3").query("worst").to_dict("records")
    assert guarded["ratio_exact"] == 2 >= guarded["bound_exact"] == Fraction(16, 9)


def test_the_sample_of_the_shared_members() -> None:
    """A sample of `nox -s theory`."""
    count = samples(160)
    held = theory_limits.theory(0, count)
    assert held["members"] == held["limit_bound"] == count
    assert held["limit_opt"] >= of_sample(140, 160)
    assert held["limit_units"] >= of_sample(40, 160)


def test_a_wrong_closed_form_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """OPT that is too large, and a bound that is too high."""
    read = limits.read

    def wrong(recipe: Mapping[str, Any]) -> Any:
        family, values, made = read(recipe)
        *others, last = made.levels
        return family, values, replace(made, levels=(*others, last._replace(opt=last.opt + 1)))

    with monkeypatch.context() as patched:
        patched.setattr(theory_limits.limits, "read", wrong)
        with pytest.raises(theory_limits.Failure, match="member 0"):
            theory_limits.theory(0, 8)
    monkeypatch.setattr(formulas, "bound_rising", lambda levels: Fraction(10**6))
    with pytest.raises(theory_limits.Failure, match="below 1000000"):
        theory_limits.theory(0, 8)


# Anyone's own algorithm, the function, the command.


def test_users_algorithms_run_as_in_simulate() -> None:
    """As classes; one that rejects all is unbounded; one that answers a whole slot at once has its levels apart."""
    frame = ratiobench.limit("rising:levels=1+2+4,K=1,n=2", [Honest, Declares, "greedy"])
    assert frame.attrs["recipe"] == "limit:rising:levels=1+2+4,K=1,n=2"
    assert [bound.value for bound in frame.attrs["bounds"]] == [2, Fraction(8, 3)]
    by = dict(iter(frame.groupby("algorithm", sort=False)))
    first, rejecting, greedy = by.values()
    assert first["ratio_exact"].tolist() == greedy["ratio_exact"].tolist() == [1, 2, 4]
    assert first["worst"].tolist() == [False, False, True]
    assert rejecting["ratio"].tolist() == [math.inf] * 3
    assert rejecting["ratio_exact"].tolist() == [None] * 3
    assert rejecting["worst"].tolist() == [True, False, False]
    assert frame["opt"].tolist()[:3] == [2_000_000, 4_000_000, 8_000_000]
    batch = ratiobench.limit("rising:levels=1+2+4,K=1,n=2", HonestBatch)
    assert batch["alg"].tolist() == [1_000_000, 3_000_000, 3_000_000]
    assert "a moment of its own" in batch["reason"][0]


def test_the_mean_over_draws_is_taken_before_the_largest_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    """Of ntm three runs; of a random family all orders, or as many as are asked for, which is said."""
    assert main(["limit", "units:n=2,K=2,theta=4,steps=2", "-a", "ntm", "--repeat", "3", "--json"]) == 0
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert run["runs"] == 3
    assert run["bound"]["theorem"] == "N1"
    case = cases.make_case("choice:G=3", 1)
    assert case.exact
    assert len(case.instances(False)) == 6
    assert "all 6 orders" in case.note
    drawn = cases.make_case("choice:G=6", 4)
    assert not drawn.exact
    assert len({tuple(document(each)["tasks"][-1]["rate"]) for each in drawn.instances(False)}) > 1
    assert len(cases.make_case("choice:G=3,order=3+1+2", 4).instances(False)) == 1


def test_the_command_prints_one_algorithm_prefix_by_prefix(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The limits alone; one algorithm; unbounded; the figure and the rows as files."""
    assert main(["limit", "two:theta=9"]) == 0
    told = capsys.readouterr().out
    assert "no deterministic algorithm keeps OPT/ALG below 9 at every prefix (Theorem N4)" in told
    assert main(["limit", "two:theta=9", "-a", "greedy", "--csv", str(tmp_path / "rows.csv")]) == 0
    told = capsys.readouterr().out
    assert "9 <- worst" in told
    assert "OPT/ALG = 9, 1 times the limit 9 (Theorem N4)" in told
    assert (tmp_path / "rows.csv").read_text().splitlines()[2].endswith("value 9,2,9000000,1000000,9,True,9")
    assert main(["limit", "two:theta=9", "-a", "tests.support.contestants:Declares"]) == 0
    told = capsys.readouterr().out
    assert "unbounded <- worst" in told
    assert "worst prefix: up to value 1: OPT/ALG is unbounded, ALG = 0 where OPT > 0; the limit is 9 (" in told
    figure = tmp_path / "limits.svg"
    assert main(["limit", "two", "--figure", str(figure)]) == 0
    drawing = figure.read_text()
    for name in ("limit, deterministic: N4", "posted (Theorem A)", "greedy (Theorem G)"):
        assert name in drawing
    assert main(["limit", "two", "--csv", str(tmp_path / "none.csv")]) == 2


def test_no_proved_factor_in_the_figure_is_below_a_limit() -> None:
    """At every spread of values that is drawn; Theorem A's factor as computed by hand."""
    for theta in chart.THETAS:
        given = chart.Parameters(Fraction(theta))
        proved = [curve(given) for _, curve in chart._PROVED.values()]
        assert min(proved) >= chart._LIMITS["limit, all algorithms: N1"](given)
    assert float(chart.factor_posted(chart.Parameters(Fraction(1000), 32, 1))) == pytest.approx(12.2, abs=0.4)


@pytest.mark.parametrize(
    ("algorithm", "claim", "factor"),
    [
        ("posted", "theorem_a", "gamma_known_beforehand"),
        ("minimal-edit:units=canonical", "theorem_b", "gamma"),
        ("bbar-rule", "theorem_c_a_priori", "factor"),
        ("greedy", "theorem_g", "factor"),
    ],
)
def test_audits_show_the_least_factor_beside_the_proved_one(algorithm: str, claim: str, factor: str) -> None:
    """Of the class of instances with the run's U and eps: never above what is proved."""
    instance = limits.generate(cases.parse_recipe("rising:levels=1+3+9,K=1,n=4"))
    [row] = ratiobench.audit(instance, algorithm, claims=claim).to_dict("records")
    assert row["verdict"] == Verdict.HOLDS
    least = row["figures"]["least_factor"]
    assert 1 < least <= row["figures"][factor]
    if claim == "theorem_a":  # equal memories: U = 2 theta, N = 4
        assert least == formulas.round_down(formulas.bound_units(4, 9.0))


def test_the_figures_of_the_documentation() -> None:
    """The tables of docs/theory/limits.md, from the functions and the runs that they name."""
    text = (Path(__file__).parents[3] / "docs" / "theory" / "limits.md").read_text(encoding="utf-8")

    def rows(head: str) -> list[list[str]]:
        lines = text.partition(f"| {head}")[2].split("\n\n")[0].splitlines()[2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    def same(shown: str, value: float | Fraction) -> bool:
        return Fraction(shown) == formulas.round_down(float(value)) or Fraction(shown) == value

    tables = rows("$\\theta$"), rows("$\\sigma$"), rows("algorithm | `rising")
    assert [len(table) for table in tables] == [4, 5, 13]
    for theta, *shown in tables[0]:
        values = [formulas.bound_theta(float(theta)), formulas.bound_any_choice(float(theta))]
        values += [formulas.bound_units(units, float(theta)) for units in (1, 4, 16, 50, 150)]
        assert all(map(same, shown, values)), theta
    for sigma, *shown in tables[1]:
        ends = [limits.windows_of(longest, Fraction(sigma)) for longest in (12, 40, 100)]
        assert all(map(same, shown, [*map(formulas.bound_nested, ends), formulas.bound_slack(float(sigma))])), sigma
    names = [row[0] for row in tables[2]]
    for place, member in enumerate(("rising:theta=20", "nested", "choice"), 1):
        frame = ratiobench.limit(member, names)
        for name, *shown in tables[2]:
            [worst] = frame.loc[(frame["algorithm"] == name) & frame["worst"], "ratio"].tolist()
            assert shown[place - 1] == ("unbounded" if math.isinf(worst) else f"{math.floor(1000 * worst) / 1000:.3f}")


def _rise(law: Callable[[float], float], parts: int, theta: float, full: float = 1) -> float:
    """The largest OPT/ALG while one slot is sold at rising values (Theorem N8, first way); the part `full` can be."""
    earned, worst = 0.0, 0.0
    for sold in range(parts + 1):
        price = law(sold / parts) if sold < full * parts else math.inf
        if price >= 1:
            worst = max(worst, full * parts * min(price, theta) / earned if earned else math.inf)
        if price >= theta or sold >= full * parts:
            break
        earned += max(1.0, price)
    return worst


def _grow(law: Callable[[float], float], parts: int, theta: float, factor: float) -> float:
    """OPT/ALG where a task of the slots 1..j, worth j, is rejected first; 0 where none is (second way)."""
    sold, earned = [0] * int(theta), 0
    for j in range(1, int(theta) + 1):
        while earned + j <= parts * j / factor:
            prices = (law(sold[t] / parts) if sold[t] < parts else math.inf for t in range(j))
            if sum(prices) >= j:
                return parts * j / earned if earned else math.inf
            sold[:j] = [each + 1 for each in sold[:j]]
            earned += j
    return 0.0


def test_no_price_law_of_the_load_is_below_theorem_n8() -> None:
    """Theorem A's law, laws that begin at 0 or above it, and the one that balances both ways, on 1,000 parts."""
    theta, parts = 100.0, 1000
    bound = formulas.bound_load_prices(theta)
    target = math.log(theta)
    first = bound - target  # w - ln w
    [w0] = [w for w in (k / 10**5 for k in range(10**5, 4 * 10**5)) if abs(w - math.log(w) - first) < 6e-6][:1]
    assert w0 + math.exp(w0) / w0 == pytest.approx(target, abs=1e-3)
    growth = math.log(1 + theta * target)
    laws: list[Callable[[float], float]] = [
        lambda y: theta * math.expm1(growth * y) / (theta * target),
        lambda y: theta * math.exp(-(1 + target) * (1 - y)),
        lambda y: max(1.0001 * (y > 0.2), theta * math.exp(-(1 + target) * (1 - y))),
        lambda y: 0.0 if theta * math.exp(-6 * (1 - y)) < 1 else theta * math.exp(-6 * (1 - y)),
        lambda y: 0.0,
        lambda y: theta * y**3,
    ]
    factors = [1 + k / 8 for k in range(1, 90)]
    for law in laws:
        worst = max(_rise(law, parts, theta), *(_grow(law, parts, theta, factor) for factor in factors))
        assert worst >= bound - 0.02

    def balanced(y: float) -> float:
        return 0.0 if bound * y < w0 else w0 * math.exp(bound * y - w0)

    assert _rise(balanced, parts, theta) == pytest.approx(bound, abs=0.05)
    steps = [(k + 0.5) * target / 10**5 for k in range(10**5)]
    assert sum(balanced(u / bound) * math.exp(-u) for u in steps) * target / 10**5 == pytest.approx(1, abs=1e-3)
    assert [round(formulas.bound_load_prices(t), 3) for t in (2, 1000, 1e7)] == [1.693, 8.419, 18.625]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_price_of_the_pooled_weight_is_below_its_limit(most: int) -> None:
    """Tiny tasks, and tasks of which `most` fit a node and fill most / (most + 1) of it; one law meets the bound."""
    theta, full = 1000.0, most / (most + 1)
    bound = (1 + math.log(full * theta)) / full
    laws: list[Callable[[float], float]] = [
        lambda y: theta * math.exp(-(1 + math.log(theta)) * (1 - y)),
        lambda y: theta * math.exp(-(1 + math.log(theta)) * (1 - y / full)),
        lambda y: theta * y,
        lambda y: 0.0 if y < 0.5 else theta * math.exp(-20 * (1 - y)),
    ]
    for law in laws:
        assert max(_rise(law, 2000, theta), _rise(law, 2000, theta, full)) >= bound - 0.02
    best = max(_rise(lambda y: math.exp(bound * y - 1), 2000, theta, each) for each in (1, full))
    assert best == pytest.approx(bound, abs=0.1)
