"""Mutants of a mechanism must not pass: each is caught, by a lie that pays or a fact that breaks."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.theory.payments import truthfulness
from ratiobench.bench.lora.theory.payments.offers import verify_offers
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import document, parse
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import run
from tests.support.mechanisms import crowded
from tests.support.mutants import RULE, two_nodes
from tests.support.payments import NAMES, best_gain, checks_of_payments, every_bid, utility_of
from tests.support.samples import of_sample, samples

BY_HAND = {
    # The second cheapest schedule costs more than the task is worth.
    "second": two_nodes(1, [(1, 4, [4, 4], 1, 5, [[2], [9]])]),
    # Behind the task of slot 2, which runs on b, slot 2 of a is cheaper.
    "falls": two_nodes(
        2,
        [
            (1, 40, [40, 0], 40, 99, [[999, 0]] * 2),
            (1, 40, [40, 0], 40, 99, [[999, 0]] * 2),
            (2, 40, [0, 40], 40, 99, [[999, 0]] * 2),
        ],
    ),
    # a is cheapest and full; more work rules it out.
    "ignores room": two_nodes(1, [(1, 160, [160, 0], 1, 99, [[0], [0]]), (1, 1, [1, 2], 1, 20, [[0], [5]])]),
}


@pytest.mark.usefixtures("mutants")
@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("honest", {}),
        ("second", {"rational": 1, "truthful_bid": 1}),
        ("half", {"truthful_bid": 9}),
        ("falls", {"truthful_type": 1}),
        ("by bid", {"truthful_bid": 3}),
        ("ignores room", {"truthful_type": 1}),
        ("charges one more", {}),
        ("free", {"no_deficit": 8}),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_mutant_is_caught(kind: str, least: Mapping[str, int]) -> None:
    """Never `holds` where some bid gains, `violated` only with a lie that gains as much in a run of its own.

    On crowded instances and one by hand; each claim of `least` is violated at least so often on ten of them.
    """
    count = samples(10, 5)
    algorithm, caught = f"mutant:kind={kind}", dict.fromkeys(least, 0)
    instances = [crowded(Stream("mutants", seed)) for seed in range(count)]
    for seed, instance in enumerate([*(BY_HAND[key] for key in (kind,) if key in BY_HAND), *instances]):
        result = run(instance, algorithm)
        checks = checks_of_payments(instance, result)
        for claim in least:
            caught[claim] += checks[claim].status is Verdict.VIOLATED
        held = {name for name in NAMES[:2] if checks[name].status is Verdict.HOLDS}
        if held and seed < 5:
            assert best_gain(instance, algorithm, every_bid(instance, 70)) == 0
        for name in NAMES[:2]:
            check = checks[name]
            if check.status is Verdict.VIOLATED:
                assert check.witness is not None
                i, fields = int(check.witness["task"]), ("arrival", "deadline", "work", "memory_mb")
                lie = {key: int(check.witness[key]) for key in fields if key in check.witness}
                lie["bid"] = int(check.witness.get("better_bid", instance.valuation[i]))
                honest = utility_of(instance, i, {"bid": int(instance.valuation[i])}, algorithm)
                gained = utility_of(instance, i, lie, algorithm)
                assert honest is not None
                assert gained is not None
                assert gained - honest == check.left > 0
        if kind == "honest":
            assert {checks[name].status for name in NAMES} == {Verdict.HOLDS}
        if kind == "charges one more" and result.admitted:
            assert {checks[name].status for name in NAMES[:2]} <= {Verdict.UNDECIDED, Verdict.VIOLATED}
            assert "was booked" in checks["truthful_bid"].reason or "not the least" in checks["truthful_bid"].reason
    assert all(caught[claim] >= max(1, least[claim] * count // 10) for claim in least), caught


def test_a_mutant_that_is_seen_through_only_when_it_is_asked_again(
    mutants: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Picks by its bid, and the bid of the run picks the cheapest: the offers are in order, another bid's is not."""
    instance = two_nodes(1, [(1, 4, [4, 4], 1, 20, [[2], [9]])])
    result = run(instance, "mutant:kind=by bid")
    assert verify_offers(instance, result).broken is None
    check = checks_of_payments(instance, result)["truthful_bid"]
    assert (check.status, "meets another offer" in check.reason) == (Verdict.UNDECIDED, True)
    odd = parse(document(instance) | {"tasks": [document(instance)["tasks"][0] | {"bid": 21}]})
    check = checks_of_payments(odd, run(odd, "mutant:kind=by bid"))["truthful_bid"]
    assert (check.status, check.left) == (Verdict.VIOLATED, 7)
    monkeypatch.setattr(truthfulness, "ASKED", 0)
    assert checks_of_payments(instance, result)["truthful_bid"].figures["bids_asked_again"] == 0


@pytest.mark.usefixtures("mutants")
@pytest.mark.parametrize("kind", ["falls", "charges one more"])
def test_every_admission_of_such_a_mutant_breaks_a_fact(kind: str) -> None:
    """Also the last one, whose price no other task meets; and whoever admits nobody breaks none."""
    admissions = 0
    for seed in range(samples(20)):
        instance = crowded(Stream("facts", seed))
        for tasks in range(1, instance.tasks + 1):
            data = document(instance)
            part = parse(data | {"tasks": data["tasks"][:tasks]})
            result = run(part, f"mutant:kind={kind}")
            assert (verify_offers(part, result).broken is None) == (result.admitted == 0)
            admissions += result.admitted > 0
    assert admissions > of_sample(50, 20)


@pytest.mark.usefixtures("mutants")
def test_a_charge_that_only_high_bids_meet_is_asked_for() -> None:
    """The run's offers are in order; 2^40 is charged one more than they say."""
    instance = two_nodes(1, [(1, 4, [4, 4], 1, 20, [[2], [9]])])
    result = run(instance, "mutant:kind=dear above")
    assert verify_offers(instance, result).broken is None
    check = checks_of_payments(instance, result)["truthful_bid"]
    assert (check.status, f"a bid of {LIMIT} is charged 3" in check.reason) == (Verdict.UNDECIDED, True)


@pytest.mark.usefixtures("mutants")
@pytest.mark.parametrize(("bid", "broken"), [(2, False), (3, True), (5, True), (6, False)])
def test_a_task_above_its_cost_that_is_turned_away_breaks_a_fact(bid: int, broken: bool) -> None:
    """Cost 2, admitted above 5: bids of 3 to 5 are turned away."""
    instance = two_nodes(1, [(1, 4, [4, 4], 1, bid, [[2], [9]])])
    found = verify_offers(instance, run(instance, "mutant:kind=shy"))
    assert (str(found.broken) == "task 0: it is not admitted exactly when its bid is above the cost") is broken


@pytest.mark.usefixtures("mutants")
def test_a_rule_that_lowers_prices_breaks_a_fact_before_anybody_comes() -> None:
    instance = named("tiny_contention")
    result = run(instance, "mutant")
    assert verify_offers(instance, result).broken is None
    result.trace.rule = replace(RULE, eta_m=Fraction(-1, 100))
    assert str(verify_offers(instance, result).broken) == "an admission can lower a price"
