"""Price laws by hand: what a cell costs, what Gamma is, how prices are drawn and moved, and what is refused."""

from dataclasses import replace
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.bench.lora.proof_status import proof_status
from ratiobench.instances.lora import Instance, write
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.algorithms.mirror import count_by_slot
from ratiobench.online.lora.algorithms.static import draw_price
from ratiobench.online.lora.algorithms.units import find_gamma
from ratiobench.online.lora.price_laws import LoadLaw, exponential, logarithm, power
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.run import run
from ratiobench.online.referee.user_run import is_randomised
from ratiobench.online.run_context import RunContext, run_context
from tests.support.documents import refusal_of
from tests.support.laboratory import NOTHING, check_claim, guarantees, truthfulness
from tests.support.samples import samples

# Baselines of the literature
LITERATURE = ("advice", "mirror", "pooled", "reserve", "static", "units", "zcl")

ONE = Fraction(1)


def _day(*jobs: tuple[int, int, int, int], slots: int = 1, nodes: int = 1, compute: int = 4) -> Instance:
    """Tasks (first slot, last slot, rate, bid) of one cell each on nodes of one type, memory for all."""
    tasks = tuple(Job(first, last, 1, rate, bid, (rate,)) for first, last, rate, bid in jobs)
    return instance(TinyInstance(slots, (Kind(nodes, compute, 1000),), tasks), "day")


@settings(max_examples=samples(150))
@given(data=st.data())
def test_a_law_keeps_what_lemma_p_assumes(data: st.DataObject) -> None:
    """Never falling; X where more than 1 - eps is sold; a part d <= eps raises the price by d B lam at most."""
    draw = data.draw
    capacity = draw(st.integers(2, 5000), "capacity")
    share = Fraction(draw(st.integers(1, capacity - 1), "largest task"), capacity)
    zeta = Fraction(1, draw(st.integers(1, 10**6), "1/zeta"))
    flat = draw(st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(9, 10)]), "flat")
    reach = (1 - share) * (1 - flat)
    top = Fraction(draw(st.integers(1, 10**9), "X"), 7)
    least = draw(st.sampled_from([None, top * zeta * 2]), "least") if zeta < Fraction(1, 2) and not flat else None
    law = LoadLaw(top, zeta, reach, width=1 - share - reach, least=least)
    advice = top * Fraction(draw(st.integers(0, 2000), "advice"), 1000) if flat else None
    growth = law.growth(share)
    if growth is None:
        return
    sold = draw(st.integers(0, capacity), "sold")
    more = draw(st.integers(0, min(int(share * capacity), capacity - sold)), "more")
    before, after = (law.price(Fraction(part, capacity), advice) for part in (sold, sold + more))
    assert law.price(Fraction(0), advice) == (zeta * top if least is None else least)
    assert before <= after <= before * (1 + growth * Fraction(more, capacity))
    if sold > (1 - share) * capacity:
        assert before == top


def test_prices_by_hand() -> None:
    """zeta = 1/16, reach = 3/4: each fifth of the rise and the flat part; zcl's three starts."""
    law = LoadLaw(Fraction(32), Fraction(1, 16), Fraction(3, 4))
    prices = [float(law.price(Fraction(j, 4))) for j in range(5)]
    assert prices == pytest.approx([2, 2 * 16 ** (1 / 3), 2 * 16 ** (2 / 3), 32, 32])
    assert float(law.growth(Fraction(1, 4)) or 0) == pytest.approx(4 * (16 ** (1 / 3) - 1))
    three = replace(law, reach=Fraction(1, 2), width=Fraction(1, 4))
    assert [float(three.price(Fraction(j, 8), Fraction(8))) for j in range(8)] == pytest.approx(
        [2, 4, 8, 8, 8, 16, 32, 32]
    )
    assert three.price(Fraction(3, 8), Fraction(10**9)) == three.rise(Fraction(3, 8)), "advice is put inside"
    jump = replace(law, least=Fraction(8), jump=True)
    assert [jump.price(part) for part in (Fraction(0), Fraction(1, 4))] == [0, 0]
    assert jump.price(Fraction(1, 2)) == law.price(Fraction(1, 2))
    assert power(Fraction(8), Fraction(1, 3)) == pytest.approx(2)
    assert float(exponential(logarithm(Fraction(7)))) == pytest.approx(7)


def test_the_prices_of_a_run_follow_the_loads() -> None:
    """Two of three tasks share a node: compute and memory of the cell cost what the law says of what is sold there."""
    given_ = "cap_compute=100,cap_memory=1000,largest_share=1/4,spread=16"
    day = _day((1, 1, 1, 90), (1, 1, 1, 90), (1, 1, 1, 1))
    trace = run(day, f"zcl:{given_}").trace
    law = LoadLaw(Fraction(100), 1 / (Fraction(2718281829, 10**9) * 16), Fraction(3, 4))
    assert [offer.admitted for offer in trace.offers] == [True, True, False]
    memory = replace(law, top=Fraction(1000))
    costs = [law.price(Fraction(j, 4)) + memory.price(Fraction(j, 1000)) for j in range(3)]
    assert [offer.cost for offer in trace.offers] == costs
    assert (trace.lam[0, 1], trace.phi[0, 1]) == (law.price(Fraction(2, 4)), memory.price(Fraction(2, 1000)))
    doubles = run(day, f"zcl:{given_},arith=float").trace
    assert doubles.lam[0, 1] == pytest.approx(float(trace.lam[0, 1]), rel=1e-15)


def test_a_margin_widens_caps_and_spread() -> None:
    """X is the constant times the margin; an instance whose cap is above it is not covered, and the check says so."""
    day = _day((1, 1, 1, 90), (1, 1, 2, 80))
    trace = run(day, "reserve:cap_compute=45,cap_memory=45,largest_share=1/2,margin=2").trace
    assert trace.terms.caps == (90, 90)
    assert trace.terms.start == Fraction(4 * 90 + 1000 * 90, 1000)
    check = check_claim(day, "reserve:cap_compute=45,cap_memory=45,largest_share=1/2,margin=2", "theorem_p")
    assert check.status is Verdict.HOLDS
    check = check_claim(day, "reserve:cap_compute=45,cap_memory=45,largest_share=1/2", "theorem_p")
    assert check.status is Verdict.NOT_APPLICABLE
    assert "cap_compute is too small" in check.reason
    assert "jump" in check_claim(day, "zcl:start=zero", "theorem_p").reason


def test_gamma_is_the_least_factor_of_a_ladder() -> None:
    """The values of the table in the documentation; one unit less of 2^-20 does not reach theta."""
    table = {20: (21, 6.048, 4.567, 4.272, 4.184), 1000: (1001, 19.856, 9.942, 8.555, 8.164)}
    for theta, row in table.items():
        found = [float(find_gamma(n, Fraction(theta))) for n in (1, 4, 16, 50, 150)]
        assert found == pytest.approx(row, abs=5e-4)
    for n, theta in ((3, Fraction(7)), (10, Fraction(31, 3))):
        for gamma, reaches in ((find_gamma(n, theta), True), (find_gamma(n, theta) - Fraction(1, 2**19), False)):
            lam = Fraction(0)
            for _ in range(n):
                lam += ((gamma - 1) * max(lam, ONE) + lam) / n
            assert (lam >= theta) == reaches


def test_units_meets_its_bound() -> None:
    """A task of value 1 that may wait takes the slot of one that is worth 5: OPT = Gamma ALG with Gamma = 1 + theta."""
    day = _day((1, 2, 4, 10), (1, 1, 4, 50), slots=2)
    result = run(day, "units")
    assert result.welfare == 10
    found = next(c for c in guarantees(day, result, replace(NOTHING, lower=60, upper=60)) if c.name == "theorem_a1")
    assert (found.status, found.left, found.right) == (Verdict.HOLDS, 60, 60)
    assert float(found.figures["least_factor"]) == pytest.approx(1 + log(51 / 11), abs=1e-3)


@pytest.mark.parametrize(
    ("jobs", "reason"), [(((1, 1, 4, 10), (1, 1, 1, 50)), "depends on which"), (((1, 1, 4, 10), (1, 1, 0, 50)), "")]
)
def test_units_says_where_it_proves_nothing(jobs: Any, reason: str) -> None:
    """Tasks of several sizes; a task without a node is none."""
    jobs = tuple((first, last, max(1, rate), bid) for first, last, rate, bid in jobs) if reason else jobs[:1]
    check = check_claim(_day(*jobs), "units", "theorem_a1")
    assert check.status is (Verdict.NOT_APPLICABLE if reason else Verdict.HOLDS)
    assert reason in check.reason


def test_the_drawn_price_has_its_law() -> None:
    """L with probability 1 / (1 + ln theta), ln P uniform above it; the mean welfare is what the theorem needs."""
    theta = Fraction(20)
    mass = 1 / (1 + log(20))
    assert draw_price(Fraction(3), theta, 0) == draw_price(Fraction(3), theta, int(2**64 * mass * 0.999)) == 3
    for part in (0.3, 0.5, 0.99):
        price = draw_price(Fraction(3), theta, int(2**64 * part))
        assert float(price) == pytest.approx(3 * exp(part * (1 + log(20)) - 1))
    assert draw_price(Fraction(3), theta, 2**64 - 1) <= 60


def test_a_static_price_admits_what_is_worth_it_and_repeats_differ() -> None:
    """Price P per node-slot: density P is admitted, below it is not; groups have rising prices; seeds draw anew."""
    day = _day((1, 1, 2, 20), (1, 1, 2, 19), (1, 1, 2, 50), nodes=2)
    assert [d is not None for d in run(day, "static:price=40").decisions] == [True, False, True]
    assert run(day, "static:price=40").revenue == 40
    assert run(day, "static:price=0").welfare == run(day, "greedy").welfare == 89
    # Groups of one node each at L = 38 and sqrt(38 * 100).
    split = run(day, "static:split=2").trace
    assert [float(offer.cost) for offer in split.offers] == pytest.approx([19, 19, (38 * 100) ** 0.5 / 2], rel=1e-6)
    prices = set()
    for repetition in range(1, 9):
        with run_context(RunContext(repetition=repetition)):
            prices.add(run(day, "static").trace.terms.price)
    assert len(prices) > 3
    assert prices <= {Fraction(38)} | {p for p in prices if 38 < p <= 100}
    assert is_randomised(REGISTRY, "static")
    assert not any(is_randomised(REGISTRY, name) for name in ("static:price=1", "static:split=2", "zcl"))


def test_theorem_s_names_what_is_missing() -> None:
    slack = _day((1, 2, 2, 20), (1, 2, 4, 25), slots=2)
    assert check_claim(slack, "static:price=0", "theorem_s").status is Verdict.HOLDS
    assert check_claim(slack, "static", "theorem_s").status is Verdict.HOLDS
    assert "price=0" in check_claim(slack, "static:price=7", "theorem_s").reason
    assert "sigma" in check_claim(_day((1, 1, 2, 20)), "static", "theorem_s").reason
    assert "costs" in check_claim(named("tiny_two_types"), "static", "theorem_s").reason


def test_slack_parameters_by_hand() -> None:
    """sigma = 3/2 (two of three slots), f = 2/4 (a task of 3 of 4), and Omega = 1 where compute is the larger share."""
    jobs = (Job(1, 3, 1, 6, 60, (3,)), Job(1, 3, 1, 1, 10, (1,)))
    day = instance(TinyInstance(3, (Kind(2, 4, 1000),), jobs))
    figures = check_claim(day, "static:price=0", "theorem_s").figures
    assert (figures["sigma"], figures["full"], figures["omega"]) == (Fraction(3, 2), Fraction(1, 2), 1)
    # 60 for a weight of 3/2 and 10 for 1/4: values per weight are 40, so theta is 1 and the factor 1 + 2 * 3 / (1/2).
    assert (figures["theta"], figures["factor"]) == (1, 13)


def test_mirror_prices_move_by_what_is_used() -> None:
    """One node, three tasks expected in the slot: exp(-1/sqrt 3) for every arrival, exp(w sqrt 3) for what is sold."""
    day = _day((1, 1, 1, 100), (1, 1, 1, 1), (1, 1, 1, 100))
    trace = run(day, "mirror:median_density=200").trace
    assert [o.admitted for o in trace.offers] == [True, False, True]
    fall, rise = exp(-(3**-0.5)), exp(3**0.5 / 4)
    after = [200 / 4, 200 / 4 * fall * rise, 200 / 4 * fall * rise * fall]
    assert [o.cost for o in trace.offers] == pytest.approx(after)
    adds = run(day, "mirror:rule=first-order,median_density=200,step=1/2").trace
    down, up = 0.5 / 3**0.5, 0.5 * 3**0.5 / 4
    assert [o.cost for o in adds.offers] == pytest.approx([50, 50 * (1 - down + up), 50 * (1 - 2 * down + up)])
    assert count_by_slot([_day((1, 3, 1, 1), (2, 2, 1, 1), slots=4)], 4).tolist() == [1, 2, 1, 1]
    assert proof_status("mirror:prior=x")["guarantee"].startswith("none")


def test_advice_is_taken_from_history(tmp_path: Path) -> None:
    """With a day before, the flat part is at that day's prices; without one there is no advice, and it says so."""
    before = _day(*((1, 1, 1, 100),) * 8, slots=1)
    write(before, tmp_path / "before.json")
    day = _day(*((1, 1, 1, 100),) * 4)
    result = run(day, f"advice:history={tmp_path / 'before.json'}")
    assert result.valid
    assert {constant.name for constant in result.constants} == {"cap_compute", "cap_memory", "largest_share"}
    alone = run(day, "advice:cap_compute=100,cap_memory=100,largest_share=1/4")
    assert alone.remarks.notes == ("no history",)


GIVEN = "cap_compute=8,cap_memory=8,largest_share=1/4"
DENSITIES = "least_density=8,largest_density=32"


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        (f"zcl:{GIVEN},spread=4", Verdict.HOLDS),
        (f"reserve:{GIVEN}", Verdict.HOLDS),
        (f"static:{DENSITIES}", Verdict.HOLDS),
        ("units:least_unit_value=2,largest_unit_value=8,fewest_units=4", Verdict.HOLDS),
    ],
)
def test_no_bid_gains(name: str, verdict: Verdict) -> None:
    """By the offers, which were made before the bid was shown; else by misreports, of which none gains."""
    day = named("truth_overbid_e")
    result = run(day, name)
    checks = {check.name: check.status for check in truthfulness(day, result)}
    assert checks["truthful_bid"] is verdict
    assert checks["rational"] is checks["no_deficit"] is Verdict.HOLDS


def test_a_pool_has_one_price_by_weight() -> None:
    """Two nodes of 4 samples: tasks of 2 and 1 are half and a quarter of one; X = 40 per node; G = 1, eps = 1/2.

    psi(y) = 40 (4^y - 1): a quarter of the pool is sold, then three eighths. The fullest node is offered.
    """
    day = _day((1, 1, 2, 20), (1, 1, 1, 4), (1, 1, 2, 8), (1, 1, 1, 10), nodes=2)
    rule = "pooled:cap_compute=10,cap_memory=20,largest_share=1/2,spread=2"
    result = run(day, rule)
    assert [d and d.cells for d in result.decisions] == [((0, 1),), None, None, ((0, 1),)]
    costs = [0, 40 * (4**0.25 - 1) / 4, 40 * (4**0.25 - 1) / 2]
    assert [float(offer.cost) for offer in result.trace.offers] == pytest.approx([*costs, costs[1]])
    assert [float(each) for row in result.trace.terms.prices for each in row] == pytest.approx([40 * (4**0.375 - 1)])
    check = check_claim(day, rule, "theorem_pool")
    assert check.status is Verdict.HOLDS
    assert check.figures["omega"] == 1
    reserved = run(day, "pooled:cap_compute=10,cap_memory=20,largest_share=1/2,loss=1/16").trace
    assert [float(offer.cost) for offer in reserved.offers] == pytest.approx([1.25, 2.5, 10, 5])
    assert "cap_compute is too small" in check_claim(day, rule.replace("10", "9"), "theorem_pool").reason


@pytest.mark.parametrize(
    "name",
    [
        "reserve:loss=0", "reserve:loss=2", "reserve:margin=1/2", "advice:flat=1", "zcl:spread=0", "zcl:start=high",
        "static:split=0", "static:split=3/2", "static:price=1,split=2", "static:least_density=0",
        "units:fewest_units=0", "units:margin=0", "pooled:loss=0", "pooled:loss=2", "pooled:margin=1/2",
        "mirror:step=0", "mirror:rule=best", "zcl:constants=public",
    ],
)  # fmt: skip
def test_what_is_refused(name: str) -> None:
    assert refusal_of(run, named("tiny_two_types"), name)


def test_guarantees_are_told_with_their_checks() -> None:
    for name in ("zcl", "reserve", "advice", "units", "pooled", "static", "mirror"):
        assert proof_status(name)["truthful"].startswith("no: constants")
    assert np.isfinite(float(run(named("tiny_two_types"), "static").trace.terms.theta))


def test_the_suite_file_has_every_baseline_and_another_day() -> None:
    """Six days, each with the day before; every name is one, takes what must be known from there, or needs nothing."""
    _, suite = find_suite(str(Path(ratiobench.__file__).parents[1] / "bench/lora/baselines.toml"))
    assert len(suite.cases) == 6
    assert all(case.prior and case.prior["seed"] != case.recipe["seed"] for case in suite.cases)
    names = {name for case in suite.cases for name in case.algorithms}
    assert {REGISTRY.parse(name).head for name in names} >= set(LITERATURE)
    for name in names - {"greedy"}:
        assert REGISTRY.parse(name).prior == "yesterday", name


@pytest.mark.nightly
def test_a_suite_runs_them_with_the_day_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of a small suite end, audits included, and none is violated."""
    monkeypatch.chdir(tmp_path)
    Path("few.toml").write_text(
        'name = "few"\nrepeat = 2\nbackend = "none"\n[[instance]]\nrecipe = "paper"\nslots = 12\nnodes.a100 = 2\n'
        "nodes.a40 = 2\narrivals.poisson = 1\nseed = 1\nprior = { seed = 2 }\n"
    )
    names = [f"{name}:prior=yesterday" for name in LITERATURE]
    assert main(["run", "few.toml", "--algorithm", *names, "--workers", "1", "--out", "out"]) == 0
    rows = pd.read_csv("out/results.csv", dtype=str, keep_default_na=False)
    assert len(rows) == len(names)
    assert set(rows["state"]) == {"ok"}
    assert set(rows["reason"]) == {""}
    assert "violated" not in rows.to_csv()
