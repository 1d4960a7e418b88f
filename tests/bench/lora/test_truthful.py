"""Truthfulness of any mechanism: verdicts against every lie, run by the referee; mutants that must not pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bench.family.checks import Check, Verdict
from bench.figures.bids import has_bid
from bench.lora.theory.bidder import curve
from bench.lora.theory.payments import offers, sale, tried
from bench.lora.theory.payments.cheapest import OutOfSteps, Row, Steps, least_cost
from bench.lora.theory.payments.offers import verify_offers
from bench.lora.theory.payments.tried import tried_curve
from bench.lora.theory.payments.truthful import REPORTS
from bench.lora.theory.pdftsp.bids import utility_curve
from instances.errors import InputError
from instances.fields import LIMIT
from instances.lora import Decision, Instance, content_hash, document, parse
from instances.lora.model import Public, Task
from instances.lora.named import named
from instances.seeds import Stream
from online.lora.mechanism import ExactPrices
from online.lora.protocol import View
from online.lora.registry import REGISTRY, Entry, Option
from online.lora.run import run
from online.lora.traces import LinearTrace, Offer, Rule
from online.outcome import OnlineRun
from tests.bench.lora.test_truth import crowded
from tests.online.lora.test_mechanisms import roomy_instances
from tests.support.laboratory import breakpoints, truthfulness, truthfulness_of
from tests.support.literal import schedules
from tests.support.strategies import tiny_instances

LINEAR = ("posted", "minimal-edit", "capped", "bbar-rule")
NAMES = ("truthful_bid", "truthful_type", "rational", "no_deficit")
Report = Mapping[str, int]


def _declared(name: str) -> tuple[str, ...]:
    entry = REGISTRY.entries()[name]
    return tuple(entry.make({key: option.default for key, option in entry.options.items()}).constants)


def _checks(instance: Instance, result: OnlineRun) -> dict[str, Check]:
    return {check.name: check for check in truthfulness(instance, result)}


def _given(instance: Instance, name: str) -> str:
    """The mechanism with the constants of the instance written out, so that no bid moves them."""
    if name == "greedy":
        return name
    try:
        constants = run(instance, name).constants
    except InputError:  # no bid, no constants
        constants = ()
    values = {constant.name: constant.value for constant in constants}
    if not values or any(max(value.numerator, value.denominator) >= 10**18 for value in values.values()):
        # What no instance needs.
        values = dict.fromkeys(_declared(name), Fraction(1, 2))
    return f"{name}:{','.join(f'{key}={value}' for key, value in values.items())}"


def _told(instance: Instance, i: int, lie: Report) -> tuple[Instance, int]:
    """The instance in which task i reports something else, and its place: behind the others of a later slot."""
    data = document(instance)
    task = data["tasks"].pop(i)
    task.pop("valuation", None)
    later = lie.get("arrival", task["arrival"]) > task["arrival"]
    task |= lie
    place = sum(each["arrival"] <= task["arrival"] for each in data["tasks"]) if later else i
    data["tasks"].insert(place, task)
    return parse(data), place


def _utility(instance: Instance, i: int, lie: Report, algorithm: str) -> int | None:
    """What task i gets in a run of its own; None where the run is not valid."""
    told, place = _told(instance, i, lie)
    result = run(told, algorithm, seed=content_hash(instance))
    if not result.valid:
        return None
    decision = result.decisions[place]
    return 0 if decision is None else int(instance.valuation[i]) - (decision.payment or 0)


def _lies(instance: Instance, i: int) -> Iterator[Report]:
    """Every window inside the true one, work and memory up to more than the cluster has."""
    task = instance.task(i)
    work = max(task.work, int(task.rate.max()) * (task.deadline - task.arrival + 1)) + 1
    memory = max(task.memory_mb, *(node.memory_mb for node in instance.node_types)) + 1
    for arrival, deadline in product(range(task.arrival, task.deadline + 1), repeat=2):
        if arrival <= deadline:
            for work_, memory_ in product(range(task.work, work + 1), range(task.memory_mb, memory + 1)):
                yield {"arrival": arrival, "deadline": deadline, "work": work_, "memory_mb": memory_}


def _best(instance: Instance, algorithm: str, lies: dict[int, list[Report]]) -> int:
    """The largest gain of the reports over the truth, bids truthful unless the report says otherwise."""
    best = 0
    for i, listed in lies.items():
        truth = {"bid": int(instance.valuation[i])}
        honest = _utility(instance, i, truth, algorithm)
        for lie in listed if honest is not None else ():
            assert honest is not None
            gained = _utility(instance, i, truth | lie, algorithm)
            best = max(best, 0 if gained is None else gained - honest)
    return best


def _every_bid(instance: Instance, top: int) -> dict[int, list[Report]]:
    return {i: [{"bid": bid} for bid in (*range(top), LIMIT)] for i in range(instance.tasks)}


# ------------------------------------------------------------------------------------------------ by the offers


@pytest.mark.parametrize("name", [*LINEAR, "greedy"])
@settings(max_examples=6)
@given(instance=tiny_instances(max_tasks=3, max_nodes=2, max_slots=3), data=st.data())
def test_no_integer_bid_and_no_type_beats_the_truth_where_the_checks_hold(
    name: str, instance: Instance, data: st.DataObject
) -> None:
    """With constants that are given: every bid up to 60, and drawn ones of all reports about the type, by the referee.

    Valuations differ from bids in some; negative costs, vendors, rates of 0 and empty windows are among them.
    """
    algorithm = _given(instance, name)
    checks = _checks(instance, run(instance, algorithm))
    assert instance.tasks == 0 or {checks[key].status for key in NAMES} == {Verdict.HOLDS}
    assert _best(instance, algorithm, _every_bid(instance, 60)) == 0
    types = {}
    for i in range(instance.tasks):
        every = list(_lies(instance, i))
        types[i] = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=20))
    assert _best(instance, algorithm, types) == 0


@pytest.mark.parametrize("name", [*LINEAR, "greedy"])
def test_the_offers_of_a_crowded_cluster_are_found_again(name: str) -> None:
    """40 instances where room runs out: all verdicts hold, and every lie of one task about its type gains nothing."""
    admitted = 0
    for seed in range(40):
        instance = crowded(Stream("crowded offers", name, seed))
        algorithm = _given(instance, name)
        result = run(instance, algorithm)
        checks = _checks(instance, result)
        assert {checks[key].status for key in NAMES} == {Verdict.HOLDS}
        admitted += result.admitted
        if seed < 2:
            i = instance.tasks - 1
            assert _best(instance, algorithm, {i: list(_lies(instance, i))[::3]}) == 0
    assert admitted > 80


@pytest.mark.parametrize("name", LINEAR)
@settings(max_examples=15)
@given(instance=st.one_of(roomy_instances(max_tasks=4), tiny_instances()), data=st.data())
def test_doubles_are_decided_as_doubles(name: str, instance: Instance, data: st.DataObject) -> None:
    """The second search finds the very same doubles, and lies to the mechanism in doubles gain not even by rounding."""
    assume(instance.tasks)
    algorithm = f"{_given(instance, name)},arith=float"
    result = run(instance, algorithm)
    assert result.arithmetic == "float"
    checks = _checks(instance, result)
    assert {checks[key].status for key in NAMES} == {Verdict.HOLDS}
    i = data.draw(st.integers(0, instance.tasks - 1))
    lies = data.draw(st.lists(st.sampled_from(list(_lies(instance, i))), min_size=1, max_size=25))
    assert _best(instance, algorithm, {i: lies}) == 0


@settings(max_examples=150)
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
        assert least_cost(task, rows, first, Steps(10**6)) == wanted
        eighths = [Row(r.rate, [None if c is None else c / 8 for c in r.costs]) for r in rows]
        priced = replace(task, vendors=tuple(vendor._replace(price=0) for vendor in task.vendors))
        exact = [Row(r.rate, [None if c is None else Fraction(c, 8) for c in r.costs]) for r in rows]
        assert least_cost(priced, eighths, first, Steps(10**6)) == least_cost(priced, exact, first, Steps(10**6))


@pytest.mark.parametrize("name", [*LINEAR, "greedy"])
@settings(max_examples=15)
@given(instance=tiny_instances(max_tasks=4, max_slots=4))
def test_the_curve_of_an_offer_says_what_bids_meet_one_by_one(name: str, instance: Instance) -> None:
    """Two pieces at most, without a gap; the charge booked is that of the curve, rounded up."""
    algorithm = _given(instance, name)
    result = run(instance, algorithm)
    for i in range(instance.tasks):
        curve = utility_curve(instance, result, i)
        assert (curve.pieces[0].low, curve.pieces[-1].high, len(curve.pieces) <= 2) == (0, LIMIT, True)
        assert all(one.high == two.low and one.high_in != two.low_in for one, two in pairwise(curve.pieces))
        edges = {end + step for end in map(math.floor, breakpoints(curve)) for step in (-1, 0, 1, 2)}
        for bid in sorted(bid for bid in {0, 1, 7, 40, LIMIT, *edges} if 0 <= bid <= LIMIT):
            told, _ = _told(instance, i, {"bid": bid})
            decision = run(told, algorithm).decisions[i]
            paid = curve.payment(bid)
            assert (decision is None) == (paid is None)
            if decision is not None and paid is not None:
                assert (decision.payment, decision.cells) == (math.ceil(paid), curve.piece(bid).cells)


# ------------------------------------------------------------------------------------------------ mutants

KINDS = ("honest", "second", "half", "falls", "by bid", "ignores room", "charges one more", "free", "dear above", "shy")
_RULE = Rule(Fraction(1), Fraction(1), Fraction(1), by_bbar=False)


class Mutant:
    """The loop of `online.lora.mechanism` over enumerated schedules, with one thing done wrong."""

    arithmetic = "exact"

    def __init__(self, options: Mapping[str, str]) -> None:
        self.kind = options["kind"]

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Zero prices."""
        self.public, self.book = public, ExactPrices(public, _RULE)
        self._trace = LinearTrace("mutant", True, _RULE, {})

    @property
    def trace(self) -> LinearTrace:
        """Offers and prices, as the genuine ones keep them."""
        self._trace.lam, self._trace.phi = self.book.final()
        return self._trace

    def _priced(self, task: Task, view: View) -> list[tuple[Fraction, int, int, list[tuple[int, int]]]]:
        kind = self.public.type_of_node.tolist()
        room = view.room(task, self.public)
        found = []
        for option, cells in schedules(task, self.public):
            if self.kind == "ignores room" or all(room[k, t - 1] for k, t in cells):
                cost = Fraction(task.options[option].price)
                for k, t in cells:
                    cost += self.book.lam.get((k, t), 0) * int(task.rate[kind[k]]) + int(task.cost[kind[k], t - 1])
                    cost += self.book.phi.get((k, t), 0) * task.memory_mb
                found.append((cost, option, len(cells), [(t, k) for k, t in cells]))
        return sorted(found)

    def decide(self, task: Task, view: View) -> Decision | None:
        """The cheapest schedule with room for its cost, but for the mutation."""
        priced = self._priced(task, view)
        if not priced:
            self._trace.offers.append(Offer(task.index, None))
            return None
        pick = task.bid % len(priced) if self.kind == "by bid" else 0
        cost, option, _, listed = priced[pick]
        paid = cost
        if self.kind == "second":
            paid = priced[min(1, len(priced) - 1)][0]
        if self.kind == "half":
            paid = Fraction(task.bid, 2)
        if self.kind == "charges one more":
            paid += 1
        if self.kind == "free":
            paid = Fraction(0)
        if self.kind == "dear above" and task.bid > 1000:
            paid += 1
        cells = tuple((k, t) for t, k in listed)
        admitted = task.bid > cost + (3 if self.kind == "shy" else 0)
        if self.kind == "ignores room":
            room = view.room(task, self.public)
            admitted = admitted and all(room[k, t - 1] for k, t in cells)
        if admitted:
            self.book.move(task, cells, Fraction(1))
            if self.kind == "falls":
                for table in (self.book.lam, self.book.phi):
                    for cell in table:
                        table[cell] /= 4
        told = paid if admitted else None
        self._trace.offers.append(Offer(task.index, task.bid - cost, option, cells, 0, 0, admitted, told))
        return Decision(task.options[option].vendor, cells, math.ceil(paid)) if admitted else None


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutants have a name while the test runs."""
    monkeypatch.setitem(
        REGISTRY._entries, "mutant", Entry("mutant", "", "1", {"kind": Option("honest", KINDS, "")}, Mutant)
    )


def _two_nodes(slots: int, tasks: list[tuple[int, int, list[int], int, int, list[list[int]]]]) -> Instance:
    """Nodes a and b of 160 samples and MB; tasks as (arrival, work, rates, memory, bid, costs), all till the end."""
    return parse(
        {
            "format": "ratiobench/lora/1", "name": "by hand", "slots": slots, "slot_seconds": 1, "base_memory_mb": 0,
            "node_types": [
                {"name": name, "count": 1, "compute": 160, "memory_mb": 160, "tariff": [0] * slots} for name in "ab"
            ],
            "tasks": [
                {"arrival": a, "deadline": slots, "work": w, "rate": s, "memory_mb": r, "bid": b, "cost": e,
                 "vendors": []}
                for a, w, s, r, b, e in tasks
            ],
        }
    )  # fmt: skip


BY_HAND = {
    # The second cheapest schedule costs more than the task is worth.
    "second": _two_nodes(1, [(1, 4, [4, 4], 1, 5, [[2], [9]])]),
    # Behind the task of slot 2, which runs on b, slot 2 of a is cheaper.
    "falls": _two_nodes(
        2,
        [
            (1, 40, [40, 0], 40, 99, [[999, 0]] * 2),
            (1, 40, [40, 0], 40, 99, [[999, 0]] * 2),
            (2, 40, [0, 40], 40, 99, [[999, 0]] * 2),
        ],
    ),
    # a is cheapest and full; more work rules it out.
    "ignores room": _two_nodes(1, [(1, 160, [160, 0], 1, 99, [[0], [0]]), (1, 1, [1, 2], 1, 20, [[0], [5]])]),
}


@pytest.mark.usefixtures("mutants")
@pytest.mark.parametrize(
    ("kind", "claim", "least"),
    [
        ("honest", None, 0),
        ("second", "rational", 1),
        ("second", "truthful_bid", 1),
        ("half", "truthful_bid", 9),
        ("falls", "truthful_type", 1),
        ("by bid", "truthful_bid", 3),
        ("ignores room", "truthful_type", 1),
        ("charges one more", None, 0),
        ("free", "no_deficit", 8),
    ],
)
def test_a_mutant_is_caught(kind: str, claim: str | None, least: int) -> None:
    """Never `holds` where some bid gains, `violated` only with a lie that gains as much in a run of its own.

    On ten crowded instances and one by hand; so often as is said `claim` itself is violated.
    """
    algorithm, caught = f"mutant:kind={kind}", 0
    instances = [crowded(Stream("mutants", seed)) for seed in range(10)]
    for seed, instance in enumerate([*(BY_HAND[key] for key in (kind,) if key in BY_HAND), *instances]):
        result = run(instance, algorithm)
        checks = _checks(instance, result)
        caught += claim is not None and checks[claim].status is Verdict.VIOLATED
        for name in NAMES[:2]:
            check = checks[name]
            if check.status is Verdict.VIOLATED:
                assert check.witness is not None
                i, fields = int(check.witness["task"]), ("arrival", "deadline", "work", "memory_mb")
                lie = {key: int(check.witness[key]) for key in fields if key in check.witness}
                lie["bid"] = int(check.witness.get("better_bid", instance.valuation[i]))
                honest = _utility(instance, i, {"bid": int(instance.valuation[i])}, algorithm)
                gained = _utility(instance, i, lie, algorithm)
                assert honest is not None
                assert gained is not None
                assert gained - honest == check.left > 0
            elif check.status is Verdict.HOLDS and seed < 5:
                assert _best(instance, algorithm, _every_bid(instance, 70)) == 0
        if kind == "honest":
            assert {checks[name].status for name in NAMES} == {Verdict.HOLDS}
        if kind == "charges one more" and result.admitted:
            assert {checks[name].status for name in NAMES[:2]} <= {Verdict.UNDECIDED, Verdict.VIOLATED}
            assert "was booked" in checks["truthful_bid"].reason or "not the least" in checks["truthful_bid"].reason
    assert caught >= least


def test_a_mutant_that_is_seen_through_only_when_it_is_asked_again(
    mutants: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Picks by its bid, and the bid of the run picks the cheapest: the offers are in order, another bid's is not."""
    instance = _two_nodes(1, [(1, 4, [4, 4], 1, 20, [[2], [9]])])
    result = run(instance, "mutant:kind=by bid")
    assert verify_offers(instance, result).broken is None
    check = _checks(instance, result)["truthful_bid"]
    assert (check.status, "meets another offer" in check.reason) == (Verdict.UNDECIDED, True)
    odd = parse(document(instance) | {"tasks": [document(instance)["tasks"][0] | {"bid": 21}]})
    check = _checks(odd, run(odd, "mutant:kind=by bid"))["truthful_bid"]
    assert (check.status, check.left) == (Verdict.VIOLATED, 7)
    monkeypatch.setattr(sale, "ASKED", 0)
    assert _checks(instance, result)["truthful_bid"].figures["bids_asked_again"] == 0


@pytest.mark.usefixtures("mutants")
@pytest.mark.parametrize("kind", ["falls", "charges one more"])
def test_every_admission_of_such_a_mutant_breaks_a_fact(kind: str) -> None:
    """Also the last one, whose price no other task meets; and whoever admits nobody breaks none."""
    admissions = 0
    for seed in range(20):
        instance = crowded(Stream("facts", seed))
        for tasks in range(1, instance.tasks + 1):
            data = document(instance)
            part = parse(data | {"tasks": data["tasks"][:tasks]})
            result = run(part, f"mutant:kind={kind}")
            assert (verify_offers(part, result).broken is None) == (result.admitted == 0)
            admissions += result.admitted > 0
    assert admissions > 50


@pytest.mark.usefixtures("mutants")
def test_a_charge_that_only_high_bids_meet_is_asked_for() -> None:
    """The run's offers are in order; 2^40 is charged one more than they say."""
    instance = _two_nodes(1, [(1, 4, [4, 4], 1, 20, [[2], [9]])])
    result = run(instance, "mutant:kind=dear above")
    assert verify_offers(instance, result).broken is None
    check = _checks(instance, result)["truthful_bid"]
    assert (check.status, f"a bid of {LIMIT} is charged 3" in check.reason) == (Verdict.UNDECIDED, True)


@pytest.mark.usefixtures("mutants")
@pytest.mark.parametrize(("bid", "broken"), [(2, False), (3, True), (5, True), (6, False)])
def test_a_task_above_its_cost_that_is_turned_away_breaks_a_fact(bid: int, broken: bool) -> None:
    """Cost 2, admitted above 5: bids of 3 to 5 are turned away."""
    instance = _two_nodes(1, [(1, 4, [4, 4], 1, bid, [[2], [9]])])
    found = verify_offers(instance, run(instance, "mutant:kind=shy"))
    assert (found.problem == "task 0: it is not admitted exactly when its bid is above the cost") is broken


@pytest.mark.usefixtures("mutants")
def test_a_rule_that_lowers_prices_breaks_a_fact_before_anybody_comes() -> None:
    """What it does to others' prices is not seen in this run."""
    instance = named("tiny_contention")
    result = run(instance, "mutant")
    assert verify_offers(instance, result).broken is None
    result.trace.rule = replace(_RULE, eta_m=Fraction(-1, 100))
    assert verify_offers(instance, result).problem == "an admission can lower a price"


# ------------------------------------------------------------------------------------------------ by misreports


@pytest.mark.parametrize(
    ("name", "algorithm", "claim", "gain"),
    [
        ("thm5_T4_4tasks_strict", "posted", "truthful_bid", 6),
        ("truth_overbid_e", "bbar-rule", "truthful_bid", 2),
        ("tiny_contention", "capped", "truthful_bid", 12),
        ("truth_alpha_underbid", "minimal-edit", "truthful_bid", 4),
        ("tiny_cost_table", "eris", "truthful_bid", 15),
        ("tiny_cost_table", "eris", "truthful_type", 2),
    ],
)
def test_constants_that_come_from_the_bids_can_be_gamed(name: str, algorithm: str, claim: str, gain: int) -> None:
    """On shipped instances: the gain of the witness is that of a run of its own, with the constants of its report."""
    instance = named(name)
    check = _checks(instance, run(instance, algorithm))[claim]
    assert (check.status, check.left, check.right) == (Verdict.VIOLATED, gain, 0)
    assert check.witness is not None
    i = int(check.witness["task"])
    lie = {key: int(check.witness[key]) for key in ("arrival", "deadline", "work", "memory_mb") if key in check.witness}
    lie["bid"] = int(check.witness.get("better_bid", instance.valuation[i]))
    told, place = _told(instance, i, lie)
    decision = run(told, algorithm, seed=content_hash(instance)).decisions[place]
    gained = 0 if decision is None else int(instance.valuation[i]) - (decision.payment or 0)
    assert (str(gained), gained - int(check.witness["utility"])) == (check.witness["better_utility"], gain)


@pytest.mark.parametrize("algorithm", ["posted", "bbar-rule", "eris"])
def test_lies_that_do_not_gain_prove_nothing(algorithm: str) -> None:
    """`undecided` with how many were tried, never `holds`; with the constants written out the same run is decided."""
    instance = named("tiny_two_types")
    result = run(instance, algorithm)
    checks = _checks(instance, result)
    for name in NAMES[:2]:
        assert checks[name].status is Verdict.UNDECIDED
        assert checks[name].reason == f"{REPORTS} misreports of 5 tasks tried, none gains"
        assert checks[name].figures["runs_skipped"] == 0
    values = ",".join(f"{constant.name}={constant.value}" for constant in result.constants)
    fixed = _checks(instance, run(instance, f"{algorithm}:{values}"))
    wanted = Verdict.UNDECIDED if algorithm == "eris" else Verdict.HOLDS
    assert {fixed[name].status for name in NAMES[:2]} == {wanted}


def test_a_prior_is_no_oracle() -> None:
    """Constants of the day before stay, so that every lie is decided."""
    instance = named("tiny_two_types")
    checks = _checks(instance, run(instance, "posted:prior=yesterday", prior=named("tiny_contention")))
    assert {checks[name].status for name in NAMES} == {Verdict.HOLDS}
    assert checks["truthful_bid"].figures["constants"] == "prior"


@settings(max_examples=25)
@given(instance=tiny_instances(max_tasks=3, max_slots=3), algorithm=st.sampled_from(["posted", "bbar-rule", "eris"]))
def test_no_lie_that_was_found_is_better_than_the_best_of_all_bids(instance: Instance, algorithm: str) -> None:
    """Constants recomputed from every bid up to 90: a violation has a gain, and no more than the best of them."""
    try:
        result = run(instance, algorithm)
    except InputError:
        return
    check = _checks(instance, result)["truthful_bid"]
    if check.status is Verdict.VIOLATED:
        assert check.left is not None
        best = 0
        for i in range(instance.tasks):
            utilities = []
            for bid in (int(instance.valuation[i]), *range(90), LIMIT):
                try:
                    utilities.append(_utility(instance, i, {"bid": bid}, algorithm) or 0)
                except InputError:
                    utilities.append(0)
            best = max(best, max(utilities) - utilities[0])
        assert 0 < check.left <= best
    else:
        assert check.status in (Verdict.UNDECIDED, Verdict.NOT_APPLICABLE)


def test_anyones_own_auction_is_told_lies_in_a_process_of_its_own() -> None:
    """A first price is shaded; one that charges the first schedule's cost is left open, and covers what it costs."""
    instance = named("tiny_contention")
    checks = _checks(instance, run(instance, "tests.support.auctioneers:FirstPrice"))
    assert checks["truthful_bid"].status is Verdict.VIOLATED
    assert checks["rational"].status is Verdict.HOLDS
    checks = _checks(instance, run(instance, "tests.support.auctioneers:AtCost"))
    assert checks["truthful_bid"].status is Verdict.UNDECIDED
    assert "misreports of 6 tasks tried, none gains" in checks["truthful_bid"].reason
    assert checks["truthful_type"].status in (Verdict.UNDECIDED, Verdict.VIOLATED)
    assert (checks["no_deficit"].status, checks["no_deficit"].left) == (Verdict.HOLDS, 0)


def test_a_gain_that_a_process_of_its_own_does_not_confirm_is_none() -> None:
    """What it charges when it is started again in the same process is no witness."""
    instance = named("tiny_contention")
    for check in (_checks(instance, run(instance, "tests.support.auctioneers:Remembers"))[name] for name in NAMES[:2]):
        assert (check.status, check.witness) == (Verdict.UNDECIDED, None)
        assert "none gains" in check.reason


def test_charges_that_differ_from_run_to_run_are_no_gain_of_a_lie(tmp_path: Path) -> None:
    """No report moves them; the same report, heard again in processes of its own, is charged otherwise."""
    instance = _two_nodes(2, [(1, 1, [4, 4], 1, 20, [[2, 2], [9, 9]]), (2, 2, [4, 4], 1, 20, [[2, 2], [9, 9]])])
    played = run(instance, f"tests.support.auctioneers:Coin:tally={tmp_path / 'tally'}")
    assert played.valid, played.violations
    assert [decision.payment for decision in played.decisions if decision is not None] == [1, 2]
    check = _checks(instance, played)["truthful_bid"]
    assert (check.status, check.witness) == (Verdict.UNDECIDED, None)
    assert check.reason == "not reproducible: the same report of task 1 is answered otherwise"


def test_large_bids_take_no_memory() -> None:
    """A bid of 10^12, whose smaller bids are more than any list holds."""
    instance = _two_nodes(1, [(1, 1, [4, 4], 1, 10**12, [[2], [9]])])
    check = _checks(instance, run(instance, "posted"))["truthful_bid"]
    assert check.status in (Verdict.UNDECIDED, Verdict.VIOLATED)


def test_a_run_that_ends_in_no_valid_run_is_skipped_and_counted(mutants: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What crashes on every other bid shows nothing, however good it would have been."""

    class Crashes(Mutant):
        def decide(self, task: Task, view: View) -> Decision | None:
            if task.bid != 20:
                raise RuntimeError("never another")
            return super().decide(task, view)

    instance = _two_nodes(1, [(1, 4, [4, 4], 1, 20, [[2], [9]])])
    entry = REGISTRY._entries["mutant"]
    monkeypatch.setitem(REGISTRY._entries, "mutant", replace(entry, make=Crashes))
    check = _checks(instance, run(instance, "mutant:kind=half"))["truthful_bid"]
    assert check.status is Verdict.UNDECIDED
    assert (check.figures["misreports_tried"], check.figures["tasks_tried"]) == (0, 0)
    assert int(str(check.figures["runs_skipped"])) > 10
    assert "no misreport ended in a valid run" in check.reason


def test_a_long_day_is_too_long_to_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """By decisions, not by seconds."""
    monkeypatch.setattr(sale, "ALLOWANCE", 3)
    instance = named("tiny_two_types")
    check = _checks(instance, run(instance, "eris"))["truthful_bid"]
    assert (check.status, check.reason) == (Verdict.UNDECIDED, "too long to probe: 3 decisions are allowed")


# ------------------------------------------------------------------------------------------------ what is not decided


def test_an_offer_that_is_found_again_within_rounding_only_decides_nothing() -> None:
    """Doubles that differ in the last place; ones that differ by more are another offer."""
    instance = named("tiny_two_types")
    result = run(instance, f"{_given(instance, 'posted')},arith=float")
    assert isinstance(result.trace, LinearTrace)
    place = next(i for i, offer in enumerate(result.trace.offers) if not offer.admitted and offer.value is not None)
    offer = result.trace.offers[place]
    assert isinstance(offer.value, float)
    for value, status in ((np.nextafter(offer.value, 0), Verdict.UNDECIDED), (offer.value * 1.01, None)):
        result.trace.offers[place] = replace(offer, value=float(value))
        found = verify_offers(instance, result)
        assert (found.broken is None, bool(found.doubt)) == (status is not None, status is not None)
        check = _checks(instance, result)["truthful_bid"]
        assert check.status is Verdict.UNDECIDED
        assert ("within rounding only" in check.reason) == (status is not None)


def test_offers_that_take_too_long_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many were found again; with the curve of a later task there is none."""
    instance = named("tiny_two_types")
    for algorithm, limit, allowed in (
        ("greedy", "STEPS", 40),
        (f"{_given(instance, 'posted')},arith=float", "COMPILED_TASKS", 2),
    ):
        monkeypatch.setattr(offers, limit, allowed)
        result = run(instance, algorithm)
        check = _checks(instance, result)["truthful_type"]
        assert check.status is Verdict.UNDECIDED
        count = int(str(check.figures["offers_found_again"]))
        assert 0 < count < 5
        assert check.reason == f"the offers of {count} of 5 tasks were found again; the rest takes too long"
        assert len(utility_curve(instance, result, 0).pieces) <= 2
        with pytest.raises(InputError, match="the rest takes too long"):
            utility_curve(instance, result, 4)
    with pytest.raises(OutOfSteps):
        Steps(1).spend(2)


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
        assert (found.broken["task"], "booked" in found.problem) == (i, True)
        with pytest.raises(InputError, match="booked"):
            utility_curve(instance, with_(other), 0)
    check = _checks(instance, with_(decision._replace(payment=decision.payment + 1)))["truthful_bid"]
    assert (check.status, "run again, it decides otherwise" in check.reason) == (Verdict.UNDECIDED, True)


# ------------------------------------------------------------------------------------------------ booked decisions


@pytest.mark.parametrize("algorithm", ["titan", "eft", "ntm"])
def test_without_payments_there_is_nothing_to_ask(algorithm: str) -> None:
    """All four say so."""
    instance = named("tiny_contention")
    checks = _checks(instance, run(instance, algorithm))
    assert {(check.status, check.reason) for check in checks.values()} == {(Verdict.NOT_APPLICABLE, "no payment rule")}
    assert list(checks) == list(NAMES)


def test_a_run_that_is_not_valid_proves_nothing_and_pdftsp_has_claims_of_its_own() -> None:
    """Not applicable; none of the four."""
    instance = named("tiny_contention")
    invalid = replace(run(instance, "greedy"), valid=False)
    assert {check.reason for check in truthfulness(instance, invalid)} == {"the run is not valid"}
    assert truthfulness(instance, run(instance, "pdftsp")) == []


@settings(max_examples=60)
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
    checks = _checks(instance, replace(result, decisions=decisions, revenue=0))
    for name, values in (("rational", losses), ("no_deficit", short)):
        check = checks[name]
        assert (check.status is Verdict.VIOLATED) == (max(values, default=0) > 0)
        assert check.left == max(values, default=None)
        assert (check.witness is not None) == (check.status is Verdict.VIOLATED)
    assert checks["no_deficit"].figures["net_revenue"] == -sum(short)
    assert checks["no_deficit"].figures["sum_of_deficits"] == sum(value for value in short if value > 0)


# ------------------------------------------------------------------------------------------------ one bidder alone


@pytest.mark.parametrize("algorithm", ["eris", "posted", "greedy", "bbar-rule"])
def test_what_one_bidder_gains_is_no_less_than_what_the_audit_of_all_found_for_it(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On shipped instances: a violation of the audit is one of its bidder, `holds` is `holds` for each."""
    monkeypatch.setattr(sale, "ONE", 2)
    compared = 0
    for name in ("tiny_cost_table", "tiny_contention", "truth_overbid_e", "thm5_T4_4tasks_strict"):
        instance = named(name)
        result = run(instance, algorithm)
        for check in truthfulness(instance, result, NAMES[:2]):
            tasks = [check.witness["task"]] if check.witness else range(min(2, instance.tasks))
            for i in tasks:
                [alone] = truthfulness_of(instance, result, i, [check.name])
                compared += 1
                if check.status is Verdict.HOLDS:
                    assert alone.status is Verdict.HOLDS
                if check.witness is not None:
                    assert alone.status is Verdict.VIOLATED
                    assert alone.left is not None
                    assert check.left is not None
                    assert alone.left >= check.left
                    assert alone.witness is not None
                    assert alone.witness["task"] == i
    assert compared > 8


@settings(max_examples=12)
@given(instance=tiny_instances(max_tasks=3, max_slots=3), algorithm=st.sampled_from(["posted", "eris"]))
def test_a_chosen_bidders_best_bid_is_a_gain_that_a_run_of_its_own_gives(instance: Instance, algorithm: str) -> None:
    """The gain is that of the witness's run, constants recomputed, and where none is found none up to 40 gains."""
    try:
        result = run(instance, algorithm)
    except InputError:
        return
    assume(instance.tasks and result.revenue is not None and max(instance.bid.tolist()) <= 60)
    [check] = truthfulness_of(instance, result, 0, ["truthful_bid"])
    honest = _utility(instance, 0, {"bid": int(instance.valuation[0])}, algorithm)
    if check.status is Verdict.VIOLATED:
        assert check.witness is not None
        gained = _utility(instance, 0, {"bid": int(check.witness["better_bid"])}, algorithm)
        assert (gained is not None and honest is not None and gained - honest) == check.left
        return
    assert check.status is Verdict.UNDECIDED
    for bid in range(41):
        try:
            gained = _utility(instance, 0, {"bid": bid}, algorithm)
        except InputError:
            continue
        assert gained is None or honest is None or gained <= honest


def test_more_is_asked_of_one_bidder_and_only_the_offers_it_can_meet_are_found_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred times the decisions and reports; tasks after its deadline are not looked at."""
    instance = crowded(Stream("crowded offers", "greedy", 3))
    result = run(instance, "greedy")
    i = 0
    last = int((instance.arrival <= instance.deadline[i]).sum())
    [check] = truthfulness_of(instance, result, i, ["truthful_bid"])
    assert (check.status, check.figures["offers_found_again"]) == (Verdict.HOLDS, last)
    monkeypatch.setattr(sale, "ALLOWANCE", 0)
    result = run(named("tiny_two_types"), "eris")
    [check] = truthfulness_of(named("tiny_two_types"), result, i, ["truthful_bid"])
    assert (check.status, check.reason) == (Verdict.UNDECIDED, "too long to probe: 0 decisions are allowed")
    monkeypatch.setattr(sale, "ALLOWANCE", 5)
    [check] = truthfulness_of(named("tiny_two_types"), result, i, ["truthful_bid"])
    assert 5 < int(str(check.figures["misreports_tried"])) <= 500


@settings(max_examples=15)
@given(instance=tiny_instances(max_tasks=3, max_slots=3), algorithm=st.sampled_from(["posted", "eris", "greedy"]))
def test_a_curve_by_trying_says_what_runs_say_and_leaves_no_change_between_neighbours(
    instance: Instance, algorithm: str
) -> None:
    """Both ends of every row by a run of its own; where two rows differ, nothing lies between them."""
    try:
        result = run(instance, algorithm)
    except InputError:
        return
    assume(instance.tasks)
    trials = tried_curve(instance, result, 0)
    rows = list(trials.rows())
    assert any(has_bid(row, Fraction(int(instance.valuation[0]))) for row in rows)
    for row in rows:
        for end in ("from", "to"):
            assert _utility(instance, 0, {"bid": int(row[f"bid_{end}"])}, algorithm) == int(row[f"utility_{end}"])
    if trials.failed == 0 and trials.runs < tried.RUNS:
        assert all(int(two["bid_from"]) == int(one["bid_to"]) + 1 for one, two in pairwise(rows))
        assert (rows[0]["bid_from"], rows[-1]["bid_to"]) == ("0", str(LIMIT))
    if algorithm == "greedy":
        exact = utility_curve(instance, result, 0)
        for bid in trials.answers:
            assert trials.answers[bid][1] is None or exact.piece(bid).admitted
            assert (trials.answers[bid][1] is None) == (not exact.piece(bid).admitted)


def test_anyones_own_auction_has_a_curve_as_far_as_runs_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first price: nothing below the cost, then every bid a piece of its own, as far as runs are allowed."""
    monkeypatch.setattr(tried, "RUNS", 20)
    instance = named("tiny_contention")
    found = curve(instance, run(instance, "tests.support.auctioneers:FirstPrice"), 0)
    assert found.note.startswith("20 runs, as this run kept no offers; between the bids that were tried nothing")
    assert {row["known"] for row in found.rows} == {"tried"}
    lost, *won = found.rows
    assert (lost["bid_from"], lost["bid_to"], lost["utility_to"]) == ("0", "4", "0")
    assert won[0]["bid_from"] == "5"
    assert all(row["payment_from"] == row["bid_from"] == row["bid_to"] for row in won)
    monkeypatch.setattr(tried, "RUNS", 6)
    found = curve(instance, run(instance, "tests.support.auctioneers:Remembers"), 0)
    assert {row["utility_from"] for row in found.rows} <= {"0", "5"}


def test_bids_that_end_in_no_valid_run_are_in_no_row(mutants: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the rows around them nothing is said."""

    class Crashes(Mutant):
        def decide(self, task: Task, view: View) -> Decision | None:
            if 7 <= task.bid <= 9:
                raise RuntimeError("not these")
            return super().decide(task, view)

    instance = _two_nodes(1, [(1, 4, [4, 4], 1, 8, [[2], [9]])])
    entry = REGISTRY._entries["mutant"]
    monkeypatch.setitem(REGISTRY._entries, "mutant", replace(entry, make=Crashes))
    with pytest.raises(RuntimeError, match="not these"):
        run(instance, "mutant:kind=second")
    data = document(instance)
    data["tasks"][0] |= {"bid": 10, "valuation": 10}
    instance = parse(data)
    trials = tried_curve(instance, run(instance, "mutant:kind=second"), 0)
    assert [(row["bid_from"], row["bid_to"]) for row in trials.rows()] == [("0", "2"), ("3", "6"), ("10", str(LIMIT))]
    assert trials.failed == 3
