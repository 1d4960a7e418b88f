"""pdFTSP against its literal twin: same F, same schedule, same admissions and charges, in fractions."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Instance, document, parse
from ratiobench.instances.lora.model import Public
from ratiobench.instances.lora.named import expected, named, names
from ratiobench.online.lora.registry import canonical
from ratiobench.online.lora.run import run
from ratiobench.online.lora.search import thresholds
from ratiobench.online.lora.search.maxprice import Prices, exact_search, printed_search, window
from ratiobench.online.lora.traces import PriceTrace
from ratiobench.online.outcome import OnlineRun
from tests.support.examples import on_examples
from tests.support.literal import Price, best_by_enumeration, best_by_printed_table, run_pdftsp, scale_memory
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances


def _offers(instance: Instance, algorithm: str) -> list[tuple[object, bool, object, object]]:
    result = run(instance, algorithm)
    assert result.valid, result.violations
    assert isinstance(result.trace, PriceTrace)
    payments = [None if d is None else d.payment for d in result.decisions]
    return [
        (offer.value, offer.admitted, offer.cells, payment)
        for offer, payment in zip(result.trace.offers, payments, strict=True)
    ]


@pytest.mark.parametrize("search", ["exact", "printed"])
@on_examples(tiny_instances(), samples(150))
def test_each_search_makes_the_decisions_of_its_literal_twin(search: str, instance: Instance) -> None:
    """Enumeration for (9), the table in one-sample units for (13); ties included."""
    assert _offers(instance, f"pdftsp:search={search},units=given") == run_pdftsp(instance, search)


def test_delta_of_line_11_is_the_increment_of_12() -> None:
    """Slot 2 costs task 1 d once, 7 is the cost of slot 3, and d < 7 < 2 d; so the two readings of line 11 part.

    The increment of (12) by slot 2 after slot 1 is 2 d: slot 3 is cheaper. The cost of the new cell alone is d: slot 2.
    """
    task = {"bid": 2, "deadline": 2, "memory_mb": 2, "work": 4, "rate": [4], "cost": [[2, 0, 0]]}
    other = {"bid": 19, "memory_mb": 5, "work": 6, "rate": [3], "cost": [[0, 0, 7]]}
    instance = make_instance(3, [make_node(5, 9)], [task, other])
    # bbar = 1/3 of task 0; alpha = 19/6, beta = 19/5.
    lam = {(0, 2): Fraction(19, 6) * Fraction(1, 3) * Fraction(4, 5)}
    phi = {(0, 2): Fraction(19, 5) * Fraction(1, 3) * Fraction(2, 9)}
    once = 3 * lam[0, 2] + 5 * phi[0, 2]
    assert once < 7 < 2 * once
    twins = [
        best_by_printed_table(instance.task(1), instance.public(""), lam, phi, repriced=repriced)
        for repriced in (True, False)
    ]
    assert twins == [(Fraction(12), 0, ((0, 1), (0, 3))), (19 - 2 * once, 0, ((0, 1), (0, 2)))]
    assert _offers(instance, "pdftsp:search=printed,units=given") == [
        (Fraction(2), True, ((0, 2),), 0),
        (Fraction(12), True, ((0, 1), (0, 3)), 0),
    ]


def _random_prices(public: Public, seed: int, values: int) -> tuple[Price, Price]:
    """Prices on all cells from few values (they tie often), lambda and phi independent of each other."""
    stream = Stream("test_pdftsp", seed)
    cells = [(k, t) for k in range(public.nodes) for t in range(1, public.slots + 1)]
    drawn = (stream.integers(0, values, len(cells)).tolist() for _ in range(2))
    lam, phi = ({cell: Fraction(j, 3) for cell, j in zip(cells, row, strict=True)} for row in drawn)
    return lam, phi


@pytest.mark.parametrize("search", ["exact", "printed"])
@settings(max_examples=samples(250))
@given(instance=tiny_instances(max_tasks=2), seed=st.integers(0, 2**20), values=st.sampled_from([1, 2, 4, 9]))
def test_each_search_finds_its_schedule_at_any_prices(search: str, instance: Instance, seed: int, values: int) -> None:
    """Prices that no run would reach; every vendor stands there twice, so ties between options are frequent."""
    public = instance.public("")
    lam, phi = _random_prices(public, seed, values)
    exact = search == "exact"
    find, twin = (exact_search, best_by_enumeration) if exact else (printed_search, best_by_printed_table)
    for i in range(instance.tasks):
        task = replace(instance.task(i), vendors=instance.vendors(i) * 2)
        where = window(task, public)
        wanted = twin(task, public, lam, phi)
        if where is None:
            assert wanted is None
            continue
        menu, nodes = where
        slots = range(menu.first, menu.last + 1)
        ranks, values_of = [], []
        for price in (lam, phi):
            distinct = sorted({price[k, t] for k in nodes.tolist() for t in slots})
            values_of.append(distinct)
            ranks.append(np.array([[distinct.index(price[k, t]) for t in slots] for k in nodes.tolist()]))
        found = find(task, public, menu, nodes, Prices(*ranks, *values_of))
        assert (None if found is None else (found.value, found.option, found.cells)) == wanted


@settings(max_examples=samples(100))
@given(instance=tiny_instances(max_tasks=1), seed=st.integers(0, 2**20), values=st.sampled_from([1, 4]))
def test_large_costs_take_the_wide_table_and_change_nothing(instance: Instance, seed: int, values: int) -> None:
    """Money and prices times 2^30: sums of costs no longer fit 32 bits, F is 2^30 times what it was."""
    data = document(instance)
    for task in data["tasks"]:
        task["bid"] <<= 30
        task["valuation"] = task.get("valuation", 0) << 30
        task["vendors"] = [offer | {"price": offer["price"] << 30} for offer in task["vendors"]]
        if "cost" in task:
            task["cost"] = [[cost << 30 for cost in row] for row in task["cost"]]
        else:
            task["energy_wh"] = [energy << 30 for energy in task["energy_wh"]]
    large = parse(data)
    found = []
    for each, factor in ((instance, 1), (large, 2**30)):
        public = each.public("")
        where = window(each.task(0), public) if each.tasks else None
        if where is None:
            return
        menu, nodes = where
        prices: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []
        for price in _random_prices(public, seed, values):
            rows = [[float(price[k, t] * factor) for t in range(menu.first, menu.last + 1)] for k in nodes.tolist()]
            prices.append(np.array(rows))
        found.append(exact_search(each.task(0), public, menu, nodes, Prices(prices[0], prices[1], None, None)))
    small, wide = found
    if small is None or wide is None:
        assert small is wide
        return
    assert (wide.value, wide.energy, wide.net) == tuple(2**30 * x for x in (small.value, small.energy, small.net))
    assert wide[1:4] == small[1:4]


@settings(max_examples=samples(60))
@given(instance=tiny_instances())
def test_the_critical_payment_is_the_bid_minus_f(instance: Instance) -> None:
    """payment=critical charges ceil(b - F) and changes nothing else."""
    assert _offers(instance, "pdftsp:payment=critical,units=given") == run_pdftsp(instance, "exact", critical=True)


@pytest.mark.parametrize("search", ["exact", "printed"])
@on_examples(tiny_instances(), samples(150))
def test_doubles_follow_the_stated_order_of_operations(search: str, instance: Instance) -> None:
    """The twin in Python's floats gives the same bits: F, schedules, admissions, charges."""
    assert _offers(instance, f"pdftsp:arith=float,search={search},units=given") == run_pdftsp(
        instance, search, floats=True
    )


@settings(max_examples=samples(100))
@given(instance=tiny_instances())
def test_float_prices_decide_as_fractions_where_no_f_is_near_zero(instance: Instance) -> None:
    """Doubles may break ties otherwise; the values of F agree to rounding as long as the decisions do."""
    exact = _trace(run(instance, "pdftsp:arith=exact")).offers
    rounded = _trace(run(instance, "pdftsp:arith=float")).offers
    for a, b in zip(exact, rounded, strict=True):
        if a.value is None or b.value is None:
            assert a.value is b.value
            continue
        assert b.value == pytest.approx(float(a.value), rel=1e-9, abs=1e-9)
        if a.cells != b.cells or (a.value > 0) != (b.value > 0):
            break


def _trace(result: OnlineRun) -> PriceTrace:
    assert isinstance(result.trace, PriceTrace)
    return result.trace


# Named instances on which doubles admit other tasks than exact prices do (F = 4e-16 where it is 0)
FLOAT_FLIPS = {"lemma4_T2_two_tasks": [0, 1], "lemma4_T2_D_below_OPT": [0, 1]}


@pytest.mark.parametrize("name", names())
def test_named_instances_are_always_exact(name: str) -> None:
    """`auto` takes fractions up to 64 tasks; what doubles would admit is pinned, and differs where F is exactly 0."""
    instance = named(name)
    exact = run(instance, "pdftsp")
    assert (exact.arithmetic, _trace(exact).exact) == ("exact", True)
    rounded = run(instance, "pdftsp:arith=float")
    assert (rounded.arithmetic, _trace(rounded).exact) == ("float", False)
    admitted = [[i for i, decision in enumerate(each.decisions) if decision] for each in (exact, rounded)]
    assert admitted[1] == FLOAT_FLIPS.get(name, admitted[0])
    assert (admitted[0] != admitted[1]) == (name in FLOAT_FLIPS)


def test_above_64_tasks_prices_are_doubles() -> None:
    data = document(named("thm5_lead_L10"))
    task = data["tasks"][-1]
    for count, arithmetic in ((64, "exact"), (65, "float")):
        assert run(parse(data | {"tasks": [task] * count}), "pdftsp").arithmetic == arithmetic


def test_the_printed_search_misses_what_the_exact_one_finds() -> None:
    """dp_suboptimal: F = -7/5 on slots 2 and 3 against F = 5 on slots 1 and 3."""
    instance, wanted = named("dp_suboptimal"), expected("dp_suboptimal")
    printed = run(instance, "pdftsp:search=printed")
    offer = _trace(printed).offers[1]
    assert printed.welfare == int(wanted["printed_search_alg"])
    assert str(offer.value) == wanted["printed_search_surplus_of_task_1"]
    assert [slot for _, slot in offer.cells] == wanted["printed_search_slots_of_task_1"]
    assert run(instance, "pdftsp").welfare == int(wanted["alg"])


@pytest.mark.parametrize("search", ["exact", "printed"])
def test_overshoot_is_clipped_and_the_first_slot_is_usable(search: str) -> None:
    """dp_overshoot_and_first_slot: s = 2, M = 3, window [1, 2]; either bug would reject F = 10."""
    result = run(named("dp_overshoot_and_first_slot"), f"pdftsp:search={search}")
    assert _trace(result).offers[0].value == 10
    assert result.admitted == 1


def test_the_printed_table_takes_no_cells_for_an_empty_prefix() -> None:
    """dp[t, 0] = 0 for every t, as the loop over w from 1 has it, also where a cell of negative cost would lower it.

    Slots 1 and 2 cost -5 and -3, one of them covers: (9) takes both (F = 9), (13) one.
    """
    instance = make_instance(2, [make_node(4, 4)], [{"work": 2, "bid": 1, "rate": [2], "cost": [[-5, -3]]}])
    for search, value, cells in (("exact", 9, ((0, 1), (0, 2))), ("printed", 6, ((0, 1),))):
        offer = _trace(run(instance, f"pdftsp:search={search}")).offers[0]
        assert (offer.value, offer.cells) == (value, cells)


def test_an_overbid_pays_under_the_printed_rule_and_not_under_the_critical_one() -> None:
    """truth_overbid_e: X values 6 and has e = 3; bidding 8 wins at a charge of 4 (utility 2), or of 7 (utility -1)."""
    data = document(named("truth_overbid_e"))
    truthful = run(parse(data), "pdftsp:alpha=8,beta=1/125")
    assert truthful.decisions[1] is None
    data["tasks"][1] |= {"bid": 8, "valuation": 6}
    for rule, charge in (("printed", 4), ("critical", 7)):
        decision = run(parse(data), f"pdftsp:payment={rule},alpha=8,beta=1/125").decisions[1]
        assert decision is not None
        assert decision.payment == charge


@settings(max_examples=samples(60))
@given(instance=tiny_instances(), scale=st.sampled_from(["1/3", "2", "7/5"]))
def test_a_unit_of_money_is_the_instance_in_that_unit(instance: Instance, scale: str) -> None:
    """money=c decides as the instance with every bid, price and cost times c would, with results in file units."""
    factor = Fraction(scale)
    data = document(instance)
    for task in data["tasks"]:
        task["bid"] *= factor.numerator
        if "valuation" in task:
            task["valuation"] *= factor.numerator
        task["vendors"] = [offer | {"price": offer["price"] * factor.numerator} for offer in task["vendors"]]
        if "cost" in task:
            task["cost"] = [[cost * factor.numerator for cost in row] for row in task["cost"]]
        else:
            task["energy_wh"] = [energy * factor.numerator for energy in task["energy_wh"]]
    # In units of 1/denominator: the other way round, money=1/denominator turns them back into c.
    scaled = run(parse(data), f"pdftsp:money=1/{factor.denominator}")
    plain = run(instance, f"pdftsp:money={scale}")
    assert [d and d[:2] for d in scaled.decisions] == [d and d[:2] for d in plain.decisions]
    for a, b in zip(_trace(scaled).offers, _trace(plain).offers, strict=True):
        assert a.value == (None if b.value is None else b.value * factor.numerator)


@settings(max_examples=samples(60))
@given(instance=tiny_instances(), search=st.sampled_from(["exact", "printed"]))
def test_the_papers_unit_of_memory_is_the_gb(instance: Instance, search: str) -> None:
    """With every MB times 1,000 pdftsp decides and charges, exactly, as units=given on the instance as it is."""
    in_mb = run(scale_memory(instance, 1000), f"pdftsp:search={search}")
    in_gb = run(instance, f"pdftsp:search={search},units=given")
    assert in_mb.decisions == in_gb.decisions
    for a, b in zip(_trace(in_mb).offers, _trace(in_gb).offers, strict=True):
        assert (a.value, a.cells, a.payment) == (b.value, b.cells, b.payment)
    assert _trace(in_mb).lam == _trace(in_gb).lam
    assert _trace(in_mb).phi == {cell: price / 1000 for cell, price in _trace(in_gb).phi.items()}
    assert all(isinstance(price, Fraction) for price in _trace(in_mb).phi.values())


def test_units_of_memory_are_told_apart_in_names_and_keys() -> None:
    """pdftsp alone has the paper's GB, and a version that no stored result of 0.2 has."""
    assert canonical("pdftsp:units=paper") == canonical("pdftsp") == "pdftsp version 2"
    assert canonical("pdftsp:units=given") == "pdftsp:units=given version 2"
    tight = named("tiny_contention")
    figures = [run(tight, f"pdftsp:units={units}").trace for units in ("given", "paper")]
    assert [trace.memory for trace in figures if isinstance(trace, PriceTrace)] == [1, Fraction(1, 1000)]
    assert figures[0].lam != figures[1].lam


def test_the_exact_search_begins_again_where_its_room_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = named("thm5_T2_drop_18tasks")
    usual = run(instance, "pdftsp")
    monkeypatch.setattr(thresholds, "_MOST", 1)
    assert run(instance, "pdftsp").decisions == usual.decisions
