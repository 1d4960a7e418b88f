"""Payments of any mechanism: critical values and verdicts against every lie, run by the referee."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.theory.basis.facts import SearchBudget, SearchLimitReached
from ratiobench.bench.lora.theory.payments import offers
from ratiobench.bench.lora.theory.payments.offers import Row, find_least_cost, verify_offers
from ratiobench.bench.lora.theory.pdftsp.bids import utility_curve
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Decision, Instance, content_hash, document, parse
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.registry import parse as parse_name
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.lora.traces import LinearTrace
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run import run_built
from tests.support.laboratory import breakpoints, truthfulness
from tests.support.literal import schedules
from tests.support.mechanisms import MECHANISMS, crowded, roomy_instances
from tests.support.nightly import one_in
from tests.support.payments import (
    NAMES,
    Report,
    best_gain,
    checks_of_payments,
    every_bid,
    report_as,
    with_its_constants,
)
from tests.support.samples import of_sample, samples
from tests.support.strategies.lora import tiny_instances


def _with_bid(instance: Instance, i: int, bid: int) -> Instance:
    data = document(instance)
    data["tasks"][i]["bid"] = bid
    return parse(data)


def _fixed(original: Instance, name: str, instance: Instance) -> OnlineRun:
    spec = parse_name(name)
    assert spec.entry is not None
    mechanism = spec.entry.make(spec.entry.settle(dict(spec.options), original.tasks))
    constants = REGISTRY.settle_constants(spec, tuple(getattr(mechanism, "constants", ())), original)
    return run_built(ENVIRONMENT, instance, mechanism, name, "1", constants, content_hash(original))


@pytest.mark.parametrize("name", one_in(2, [*MECHANISMS, "greedy"]))
@settings(max_examples=samples(25))
@given(instance=tiny_instances(max_tasks=4), data=st.data())
def test_the_payment_is_the_critical_value(name: str, instance: Instance, data: st.DataObject) -> None:
    """By runs: every bid above c wins the same schedule at the same charge, every bid up to c loses.

    So admission is monotone in the bid, and no bid does better than the true one.
    """
    assume(instance.tasks)
    i = data.draw(st.integers(0, instance.tasks - 1))
    first = _fixed(instance, name, _with_bid(instance, i, 2000)).decisions[i]
    top = 60
    charge = None if first is None else first.payment
    bids = range(top) if charge is None or charge < top else [0, charge - 1, charge, charge + 1]
    won: dict[int, Decision | None] = {b: _fixed(instance, name, _with_bid(instance, i, b)).decisions[i] for b in bids}
    # In whole micro-dollars: the charge is ceil(c), and b > c for an integer b is b >= floor(c) + 1.
    winning = [b for b, decision in won.items() if decision is not None]
    if charge is None:
        assert not winning
        return
    assert all(won[b] == first for b in winning)
    if winning:
        least = min(winning)
        assert winning == [b for b in bids if b >= least]
        assert least in (max(0, charge), max(0, charge + 1))
    for value in bids:
        honest = value - charge if won[value] is not None else 0
        assert honest >= 0
        assert all(honest >= (value - charge if won[b] is not None else 0) for b in bids)


@st.composite
def told_instances(draw: st.DrawFn) -> tuple[Instance, int, list[tuple[Instance, int]]]:
    """An instance with a task i that bids its valuation, and instances where it says something else.

    Any bid; a window inside the true one, at least as much work and memory, each as often as not the true one. A task
    that says it comes later stands after the others of that slot.
    """
    instance = draw(st.one_of(tiny_instances(max_tasks=5), roomy_instances(max_tasks=5)))
    assume(instance.tasks)
    i = draw(st.integers(0, instance.tasks - 1))
    told = []
    for _ in range(3):
        data = document(instance)
        task = data["tasks"].pop(i)
        task.pop("valuation", None)
        lies_in = st.booleans()
        if draw(lies_in):
            task["arrival"] = draw(st.integers(task["arrival"], task["deadline"]))
        if draw(lies_in):
            task["deadline"] = draw(st.integers(task["arrival"], task["deadline"]))
        if draw(lies_in):
            task["work"] += draw(st.integers(1, 4))
        if draw(lies_in):
            task["memory_mb"] += draw(st.integers(1, 3))
        if draw(lies_in):
            task["bid"] = draw(st.integers(0, 80))
        later = task["arrival"] > int(instance.arrival[i])
        place = next((j for j, t in enumerate(data["tasks"]) if t["arrival"] > task["arrival"]), len(data["tasks"]))
        data["tasks"].insert(place if later else i, task)
        told.append((parse(data), place if later else i))
    return instance, i, told


def _utility(result: OnlineRun, i: int, value: int) -> Fraction:
    """Value less the exact payment, in fractions; 0 for a rejected task."""
    decision = result.decisions[i]
    if decision is None:
        return Fraction(0)
    return value - Fraction(decision.payment if result.trace is None else result.trace.offers[i].payment)


@pytest.mark.parametrize("name", [*MECHANISMS, "greedy"])
@settings(max_examples=samples(50))
@given(told=told_instances())
def test_no_lie_that_can_be_kept_up_beats_the_truth(name: str, told: Any) -> None:
    """Bid, later arrival, earlier deadline, more work, more memory, alone and together; exact, negative costs too.

    The menu only shrinks and gets dearer: prices only rise, room only shrinks, and what covers more work covers less.
    """
    instance, i, lies = told
    value = int(instance.bid[i])
    honest = _utility(_fixed(instance, name, instance), i, value)
    assert honest >= 0
    for lie, place in lies:
        result = _fixed(instance, name, lie)
        assert result.valid
        assert result.arithmetic in ("exact", "integer")
        assert _utility(result, place, value) <= honest


@pytest.mark.parametrize("name", MECHANISMS)
def test_nothing_is_gained_where_the_printed_payment_can_be_gamed(name: str) -> None:
    """truth_overbid_e: bidding 8 instead of 6 gained 2 under (14); here no bid from 0 to 40 beats the truth."""
    instance = named("truth_overbid_e")
    for i in range(instance.tasks):
        utility = {}
        for bid in range(41):
            decision = _fixed(instance, name, _with_bid(instance, i, bid)).decisions[i]
            utility[bid] = 0 if decision is None else int(instance.valuation[i]) - (decision.payment or 0)
        assert utility[int(instance.valuation[i])] == max(utility.values())


def _lies(instance: Instance, i: int) -> Iterator[Report]:
    """Every window inside the true one, work and memory up to more than the cluster has."""
    task = instance.task(i)
    work = max(task.work, int(task.rate.max()) * (task.deadline - task.arrival + 1)) + 1
    memory = max(task.memory_mb, *(node.memory_mb for node in instance.node_types)) + 1
    for arrival, deadline in product(range(task.arrival, task.deadline + 1), repeat=2):
        if arrival <= deadline:
            for work_, memory_ in product(range(task.work, work + 1), range(task.memory_mb, memory + 1)):
                yield {"arrival": arrival, "deadline": deadline, "work": work_, "memory_mb": memory_}


@pytest.mark.parametrize("name", one_in(2, [*MECHANISMS, "greedy"]))
@settings(max_examples=6)
@given(instance=tiny_instances(max_tasks=3, max_nodes=2, max_slots=3), data=st.data())
def test_no_integer_bid_and_no_type_beats_the_truth_where_the_checks_hold(
    name: str, instance: Instance, data: st.DataObject
) -> None:
    """With constants that are given: every bid up to 60, and drawn ones of all reports about the type, by the referee.

    Valuations differ from bids in some; negative costs, vendors, rates of 0 and empty windows are among them.
    """
    algorithm = with_its_constants(instance, name)
    checks = checks_of_payments(instance, run(instance, algorithm))
    assert instance.tasks == 0 or {checks[key].status for key in NAMES} == {Verdict.HOLDS}
    assert best_gain(instance, algorithm, every_bid(instance, 60)) == 0
    types = {}
    for i in range(instance.tasks):
        every = list(_lies(instance, i))
        types[i] = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=20))
    assert best_gain(instance, algorithm, types) == 0


@pytest.mark.parametrize("name", [*MECHANISMS, "greedy"])
def test_the_offers_of_a_crowded_cluster_are_found_again(name: str) -> None:
    """Instances where room runs out: all verdicts hold, and every lie of one task about its type gains nothing."""
    admitted = 0
    for seed in range(samples(20)):
        instance = crowded(Stream("crowded offers", name, seed))
        algorithm = with_its_constants(instance, name)
        result = run(instance, algorithm)
        checks = checks_of_payments(instance, result)
        assert {checks[key].status for key in NAMES} == {Verdict.HOLDS}
        admitted += result.admitted
        if seed < 2:
            i = instance.tasks - 1
            assert best_gain(instance, algorithm, {i: list(_lies(instance, i))[::3]}) == 0
    assert admitted > of_sample(40, 20)


@pytest.mark.parametrize("name", MECHANISMS)
@settings(max_examples=samples(15))
@given(instance=st.one_of(roomy_instances(max_tasks=4), tiny_instances()), data=st.data())
def test_doubles_are_decided_as_doubles(name: str, instance: Instance, data: st.DataObject) -> None:
    """The second search finds the very same doubles, and lies to the mechanism in doubles gain not even by rounding."""
    assume(instance.tasks)
    algorithm = f"{with_its_constants(instance, name)},arith=float"
    result = run(instance, algorithm)
    assert result.arithmetic == "float"
    checks = checks_of_payments(instance, result)
    assert {checks[key].status for key in NAMES} == {Verdict.HOLDS}
    i = data.draw(st.integers(0, instance.tasks - 1))
    lies = data.draw(st.lists(st.sampled_from(list(_lies(instance, i))), min_size=1, max_size=25))
    assert best_gain(instance, algorithm, {i: lies}) == 0


@settings(max_examples=samples(150))
@given(instance=tiny_instances(max_tasks=2, max_nodes=2, max_slots=4), data=st.data())
def test_the_second_search_finds_the_least_cost_of_all_schedules(instance: Instance, data: st.DataObject) -> None:
    """Integer cell costs of either sign, some cells closed, every schedule enumerated; and the same in doubles."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    shape = (len(instance.node_types), instance.slots)
    drawn = st.lists(st.one_of(st.none(), st.integers(-9, 20)), min_size=shape[0] * shape[1], max_size=99)
    for i in range(instance.tasks):
        task = instance.task(i)
        flat = data.draw(drawn)
        table = [flat[g * shape[1] : (g + 1) * shape[1]] for g in range(shape[0])]
        totals = []
        for option, cells in schedules(task, public):
            costs = [table[kind[k]][t - 1] for k, t in cells]
            if None not in costs:
                totals.append(task.options[option].price + sum(cost for cost in costs if cost is not None))
        first = min(option.first for option in task.options)
        usable = [g for g in range(shape[0]) if 0 < task.rate[g] <= public.compute[g]]
        usable = [g for g in usable if task.memory_mb <= public.memory_mb[g]]
        rows = [Row(int(task.rate[g]), table[g][first - 1 :]) for g in usable]
        wanted = min(totals, default=None)
        assert find_least_cost(task, rows, first, SearchBudget(10**6)) == wanted
        eighths = [Row(r.rate, [None if c is None else c / 8 for c in r.costs]) for r in rows]
        priced = replace(task, vendors=tuple(vendor._replace(price=0) for vendor in task.vendors))
        exact = [Row(r.rate, [None if c is None else Fraction(c, 8) for c in r.costs]) for r in rows]
        assert find_least_cost(priced, eighths, first, SearchBudget(10**6)) == find_least_cost(
            priced, exact, first, SearchBudget(10**6)
        )


@pytest.mark.parametrize("name", [*MECHANISMS, "greedy"])
@settings(max_examples=samples(15))
@given(instance=tiny_instances(max_tasks=4, max_slots=4))
def test_the_curve_of_an_offer_says_what_bids_meet_one_by_one(name: str, instance: Instance) -> None:
    """Two pieces at most, without a gap; the charge booked is that of the curve, rounded up."""
    algorithm = with_its_constants(instance, name)
    result = run(instance, algorithm)
    for i in range(instance.tasks):
        curve = utility_curve(instance, result, i)
        assert (curve.pieces[0].low, curve.pieces[-1].high, len(curve.pieces) <= 2) == (0, LIMIT, True)
        assert all(one.high == two.low and one.high_in != two.low_in for one, two in pairwise(curve.pieces))
        edges = {end + step for end in map(math.floor, breakpoints(curve)) for step in (-1, 0, 1, 2)}
        for bid in sorted(bid for bid in {0, 1, 7, 40, LIMIT, *edges} if 0 <= bid <= LIMIT):
            told, _ = report_as(instance, i, {"bid": bid})
            decision = run(told, algorithm).decisions[i]
            paid = curve.payment(bid)
            assert (decision is None) == (paid is None)
            if decision is not None and paid is not None:
                assert (decision.payment, decision.cells) == (math.ceil(paid), curve.piece(bid).cells)


def test_an_offer_that_is_found_again_within_rounding_only_decides_nothing() -> None:
    """Doubles that differ in the last place; ones that differ by more are another offer."""
    instance = named("tiny_two_types")
    result = run(instance, f"{with_its_constants(instance, 'posted')},arith=float")
    assert isinstance(result.trace, LinearTrace)
    place = next(i for i, offer in enumerate(result.trace.offers) if not offer.admitted and offer.value is not None)
    offer = result.trace.offers[place]
    assert isinstance(offer.value, float)
    for value, status in ((np.nextafter(offer.value, 0), Verdict.UNDECIDED), (offer.value * 1.01, None)):
        result.trace.offers[place] = replace(offer, value=float(value))
        found = verify_offers(instance, result)
        assert (found.broken is None, bool(found.doubt)) == (status is not None, status is not None)
        check = checks_of_payments(instance, result)["truthful_bid"]
        assert check.status is Verdict.UNDECIDED
        assert ("within rounding only" in check.reason) == (status is not None)


def test_offers_that_take_too_long_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many were found again; with the curve of a later task there is none."""
    instance = named("tiny_two_types")
    for algorithm, limit, allowed in ((with_its_constants(instance, "posted"), "STEPS", 40), ("greedy", "TABLES", 2)):
        monkeypatch.setattr(offers, limit, allowed)
        result = run(instance, algorithm)
        check = checks_of_payments(instance, result)["truthful_type"]
        assert check.status is Verdict.UNDECIDED
        count = int(str(check.figures["offers_found_again"]))
        assert 0 < count < 5
        assert check.reason == f"the offers of {count} of 5 tasks were found again; the rest takes too long"
        assert len(utility_curve(instance, result, 0).pieces) <= 2
        with pytest.raises(InputError, match="the rest takes too long"):
            utility_curve(instance, result, 4)
    with pytest.raises(SearchLimitReached):
        SearchBudget(1).spend(2)


def test_what_was_booked_counts() -> None:
    """Another charge, another schedule, another answer than the offer's."""
    instance = named("tiny_contention")
    result = run(instance, "greedy")
    i, decision = next((i, each) for i, each in enumerate(result.decisions) if each is not None)

    def with_(other: Any) -> OnlineRun:
        return replace(result, decisions=(*result.decisions[:i], other, *result.decisions[i + 1 :]))

    for other in (
        None,
        decision._replace(payment=decision.payment + 1),
        decision._replace(cells=decision.cells[1:]),
        decision._replace(vendor=7),
    ):
        found = verify_offers(instance, with_(other))
        assert found.broken is not None
        assert (found.broken.task, "booked" in str(found.broken)) == (i, True)
        with pytest.raises(InputError, match="booked"):
            utility_curve(instance, with_(other), 0)
    check = checks_of_payments(instance, with_(decision._replace(payment=decision.payment + 1)))["truthful_bid"]
    assert (check.status, "run again, it decides otherwise" in check.reason) == (Verdict.UNDECIDED, True)


@pytest.mark.parametrize("algorithm", ["titan", "eft", "ntm"])
def test_without_payments_there_is_nothing_to_ask(algorithm: str) -> None:
    instance = named("tiny_contention")
    checks = checks_of_payments(instance, run(instance, algorithm))
    assert {(check.status, check.reason) for check in checks.values()} == {(Verdict.NOT_APPLICABLE, "no payment rule")}
    assert list(checks) == list(NAMES)


def test_a_run_that_is_not_valid_proves_nothing_and_pdftsp_has_claims_of_its_own() -> None:
    instance = named("tiny_contention")
    invalid = replace(run(instance, "greedy"), valid=False)
    assert {check.reason for check in truthfulness(instance, invalid)} == {"the run is not valid"}
    assert truthfulness(instance, run(instance, "pdftsp")) == []


@settings(max_examples=samples(60))
@given(instance=tiny_instances(), data=st.data())
def test_losses_and_deficits_are_those_of_the_booked_decisions(instance: Instance, data: st.DataObject) -> None:
    """Greedy's schedules with drawn charges: the largest loss of a truthful bidder, the largest q + sum e - p."""
    result = run(instance, "greedy")
    charges = data.draw(st.lists(st.integers(-20, 60), min_size=instance.tasks, max_size=instance.tasks))
    decisions = tuple(
        None if each is None else each._replace(payment=charge)
        for each, charge in zip(result.decisions, charges, strict=True)
    )
    kind = instance.public("").type_of_node.tolist()
    losses, short = [], []
    for i, decision in enumerate(decisions):
        if decision is None:
            continue
        task = instance.task(i)
        price = 0 if decision.vendor is None else task.vendors[decision.vendor].price
        spent = sum((int(task.cost[kind[k], t - 1]) for k, t in decision.cells), price)
        short.append(spent - charges[i])
        if task.bid == instance.valuation[i]:
            losses.append(charges[i] - task.bid)
    checks = checks_of_payments(instance, replace(result, decisions=decisions, revenue=0))
    for name, values in (("rational", losses), ("no_deficit", short)):
        check = checks[name]
        assert (check.status is Verdict.VIOLATED) == (max(values, default=0) > 0)
        assert check.left == max(values, default=None)
        assert (check.witness is not None) == (check.status is Verdict.VIOLATED)
    assert checks["no_deficit"].figures["net_revenue"] == -sum(short)
    assert checks["no_deficit"].figures["sum_of_deficits"] == sum(value for value in short if value > 0)
