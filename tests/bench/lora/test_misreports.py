"""Misreports: the best lie is the best of all reports, and whatever else a mechanism answers to lies."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.theory.basis.facts import SearchBudget
from ratiobench.bench.lora.theory.paper import bidding
from ratiobench.bench.lora.theory.payments import truthfulness
from ratiobench.bench.lora.theory.payments.truthfulness import REPORTS
from ratiobench.bench.lora.theory.pdftsp.auction import auction_of
from ratiobench.bench.lora.theory.pdftsp.misreports import Bidder, Misreport, find_best_misreport
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Decision, Instance, content_hash, document, parse
from ratiobench.instances.lora.model import Task
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.run import run
from tests.support.laboratory import check_claim
from tests.support.literal import in_gigabytes
from tests.support.literal_claims import constants, every_lie, lie_pays
from tests.support.lora_documents import make_instance, make_node
from tests.support.mechanisms import crowded
from tests.support.mutants import Mutant, two_nodes
from tests.support.nightly import one_in
from tests.support.payments import NAMES, checks_of_payments, report_as, utility_of
from tests.support.samples import of_sample, samples
from tests.support.strategies.lora import tiny_instances

RULES = st.sampled_from(["printed", "critical"])


def _gains(instance: Instance, rule: str, scale: Fraction, *, ghosts: bool) -> list[Fraction]:
    """What the best of all reports gains each task; the best lie and the claim's verdict and sides have to say so.

    alpha and beta are those of the bids times `scale`: small prices leave many tasks with F > 0 and no room.
    """
    given_ = tuple(scale * constant for constant in constants(instance))
    rules = f"payment={rule},updates={'all' if ghosts else 'admitted'}"
    algorithm = f"pdftsp:units=given,{rules},alpha={given_[0]},beta={given_[1]}"
    auction = auction_of(instance, run(instance, algorithm))
    gains = []
    for i in range(instance.tasks):
        pays = every_lie(instance, i, rule, (given_[0], given_[1]), ghosts=ghosts)
        task = instance.task(i)
        truthful, best = pays[task.arrival, task.deadline, task.work, task.memory_mb], max(pays.values())
        gains.append(best - truthful)
        found = find_best_misreport(auction, i, SearchBudget(None))
        assert found.every
        assert (found.lie is not None, found.utility) == (best > truthful, best)
        assert found.lie is None or pays[found.lie] == best
    check = check_claim(instance, algorithm, "theorem3_types")
    if check.status is not Verdict.NOT_APPLICABLE:
        first = next((gain for gain in gains if gain > 0), Fraction(0))
        assert (check.status, check.left) == (Verdict.VIOLATED if first else Verdict.HOLDS, first)
    return gains


@pytest.mark.parametrize("rule", ["printed", "critical"])
def test_the_best_lie_is_the_best_of_all_reports_where_tasks_are_dropped(rule: str) -> None:
    """Every window, every work, every memory and all their combinations, by brute force; lies pay some tasks."""
    paying = 0
    for seed in range(samples(80)):
        draw = Stream("crowded", rule, seed)
        scale = Fraction(1, 10 ** draw.integer(1, 3))
        gains = _gains(crowded(draw), rule, scale, ghosts=draw.integer(1, 3) > 1)
        paying += sum(gain > 0 for gain in gains)
    assert paying >= of_sample(15, 80)


@settings(max_examples=samples(100), deadline=None)
@given(instance=tiny_instances(max_slots=3), rule=RULES)
def test_the_best_lie_is_the_best_of_all_reports(instance: Instance, rule: str) -> None:
    """The same with empty windows, rates of 0 and tasks that no node can hold, at the paper's alpha and beta."""
    _gains(instance, rule, Fraction(1), ghosts=True)


@settings(max_examples=samples(40), deadline=None)
@given(instance=tiny_instances(max_slots=4), rule=RULES, scale=st.sampled_from([1, 1000]), data=st.data())
def test_a_lie_pays_what_algorithm_1_makes_of_it(
    instance: Instance, rule: str, scale: int, data: st.DataObject
) -> None:
    """Told anew, in its new place in the order of arrival: by the bidder, and by the twin that tries all of them."""
    if not instance.tasks:
        return
    i = data.draw(st.integers(0, instance.tasks - 1))
    alpha, beta = (constant / scale for constant in constants(instance))
    auction = auction_of(instance, run(instance, f"pdftsp:units=given,payment={rule},alpha={alpha},beta={beta}"))
    pays = every_lie(instance, i, rule, (alpha, beta))
    some = data.draw(st.lists(st.sampled_from(sorted(pays)), min_size=1, max_size=12))
    bidder = Bidder(auction, i, SearchBudget(None))
    for lie in sorted(some):
        assert (
            bidder.try_report(Misreport(*lie)).utility == pays[lie] == lie_pays(instance, i, lie, rule, (alpha, beta))
        )
        worse = [pays[each] for each in pays if _no_better(each, lie)]
        assert bidder.ceiling(Misreport(*lie)) >= max(worse, default=0)


def _no_better(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one[0] >= other[0] and one[1] <= other[1] and one[2] >= other[2] and one[3] >= other[3]


def _told_anew(instance: Instance, i: int, lie: tuple[int, ...], algorithm: str) -> Fraction:
    """The utility of task i in a run of its own with another report and a truthful bid."""
    value, data = int(instance.valuation[i]), document(instance)
    told = data["tasks"].pop(i)
    at = i if lie[0] == told["arrival"] else sum(each["arrival"] <= lie[0] for each in data["tasks"])
    told |= dict(zip(("arrival", "deadline", "work", "memory_mb"), lie, strict=True))
    data["tasks"].insert(at, told | {"bid": value, "valuation": value})
    payment = run(parse(data), algorithm).trace.offers[at].payment
    return Fraction(0) if payment is None else value - payment


def _lies_to_algorithm_2(instance: Instance, rule: str, scale: Fraction, some: int) -> int:
    """How many tasks gain; the best lie against `some` of the reports (all if there are no more)."""
    alpha, beta = (scale * constant for constant in constants(instance))
    algorithm = f"pdftsp:units=given,search=printed,payment={rule},alpha={alpha},beta={beta}"
    auction = auction_of(instance, run(instance, algorithm))
    gaining = 0
    for i in range(instance.tasks):
        task = instance.task(i)
        truth_ = (task.arrival, task.deadline, task.work, task.memory_mb)
        listed = sorted(every_lie(instance, i, rule, (alpha, beta)))
        truthful, step = _told_anew(instance, i, truth_, algorithm), -(-len(listed) // some)
        pays = [_told_anew(instance, i, lie, algorithm) for lie in listed[:: max(1, step)]]
        found = find_best_misreport(auction, i, SearchBudget(None))
        assert found.every
        assert found.utility >= max(pays, default=Fraction(0))
        assert step > 1 or found.utility == max(pays)
        assert found.utility == (truthful if found.lie is None else _told_anew(instance, i, found.lie, algorithm))
        assert (found.lie is not None) == (found.utility > truthful)
        gaining += found.lie is not None
    return gaining


@settings(max_examples=samples(25), deadline=None)
@given(instance=tiny_instances(max_slots=2, max_tasks=3), rule=RULES)
def test_lies_to_the_printed_search_are_all_tried(instance: Instance, rule: str) -> None:
    """Algorithm 2 is no maximiser: each report is a run of its own."""
    _lies_to_algorithm_2(instance, rule, Fraction(1), 2000)


@pytest.mark.nightly
def test_lies_to_the_printed_search_pay_where_tasks_are_dropped() -> None:
    """The best lie pays what a run says, and no less than dozens of other reports, each a run."""
    draws = [Stream("crowded", "printed search", seed) for seed in range(samples(20))]
    rules = ("printed", "critical")
    assert sum(
        _lies_to_algorithm_2(crowded(d), rules[j % 2], Fraction(1, 100), 20) for j, d in enumerate(draws)
    ) >= of_sample(3, 20)


MEMORY_LIE = {
    "format": "ratiobench/lora/1", "name": "a lie about memory", "slots": 1, "slot_seconds": 600, "base_memory_mb": 0,
    "node_types": [{"name": "a", "count": 2, "compute": 11, "memory_mb": 13, "tariff": [3]}],
    "tasks": [
        {"arrival": 1, "deadline": 1, "memory_mb": r, "work": work, "rate": [s], "energy_wh": [wh], "bid": bid,
         "valuation": valuation, "vendors": []}
        for r, work, s, wh, bid, valuation in [
            (7, 1, 6, 0, 21, 21), (2, 6, 6, 1, 8, 8), (4, 1, 6, 0, 42, 42), (2, 1, 2, 2, 29, 20), (1, 1, 4, 0, 24, 24),
        ]
    ],
}  # fmt: skip


def test_a_size_between_the_usual_ones_can_pay() -> None:
    """A dropped task of 1 MB wins with 11 of 13; sizes 2 and 13, narrower windows and more work gain nothing."""
    instance, algorithm = parse(MEMORY_LIE), "pdftsp:units=given,money=1/400"
    check = check_claim(instance, algorithm, "theorem3_types")
    # By runs of the mechanism with the constants kept.
    trace = run(instance, algorithm).trace
    kept = f"{algorithm},alpha={trace.alpha},beta={trace.beta}"
    pays = {}
    for size in range(1, 14):
        data = document(instance)
        data["tasks"][4]["memory_mb"] = size
        paid_ = run(parse(data), kept).trace.offers[4].payment
        pays[size] = Fraction(0) if paid_ is None else 24 - paid_
    assert (pays[1], pays[2], pays[13]) == (0, 0, 0)
    assert pays[11] == Fraction(11185923, 511225)
    assert (check.status, check.left) == (Verdict.VIOLATED, max(pays.values()))
    assert check.witness is not None
    assert (check.witness["task"], pays[check.witness["memory_mb"]]) == (4, check.left)


# A task of 1 MB: window, work, rates on a, b and c, bid, costs there by slot, price of its only vendor
Row = tuple[tuple[int, int], int, list[int], int, list[list[int]], int]


def _three_nodes(rows: list[Row], middle: int = 5) -> Instance:
    """Nodes a, b and c of 4 samples and 9 MB (b: `middle`)."""
    slots = len(rows[0][4][0])
    return make_instance(
        slots,
        [make_node(4, size) for size in (9, middle, 9)],
        [
            {"arrival": arrival, "deadline": deadline, "work": work, "rate": rates, "bid": bid, "cost": cost,
             "vendors": [{"price": fee, "delay": 0}]}
            for (arrival, deadline), work, rates, bid, cost, fee in rows
        ],
    )  # fmt: skip


def _fills(node: int, slots: int = 1) -> Row:
    """A task worth 9 that takes all samples of a node in slot 1."""
    return (1, 1), 4, [4 * (j == node) for j in range(3)], 9, [[0] * slots] * 3, 0


TINY = Fraction(1, 1000)


def _pays(instance: Instance, i: int, rule: str, beta: Fraction = TINY, search: str = "exact") -> Fraction:
    """What the best of all lies gains task i, the only one that gains; the claim says the same. alpha = 1/1000."""
    pays = every_lie(instance, i, rule, (TINY, beta))
    task = instance.task(i)
    gain = max(pays.values()) - pays[task.arrival, task.deadline, task.work, task.memory_mb]
    algorithm = f"pdftsp:units=given,search={search},payment={rule},alpha={TINY},beta={beta}"
    check = check_claim(instance, algorithm, "theorem3_types")
    assert (check.status, check.left) == (Verdict.VIOLATED if gain else Verdict.HOLDS, gain)
    return gain


@pytest.mark.parametrize("search", ["exact", "printed"])
@pytest.mark.parametrize(("rule", "gain"), [("printed", 20), ("critical", 15)])
def test_a_lie_about_work_and_memory_together_can_pay(rule: str, gain: int, search: str) -> None:
    """a is cheapest, c dearest: work 2 rules out a, 6 MB rule out b; either alone leaves a full node first."""
    own: Row = (1, 1), 1, [1, 2, 2], 20, [[0], [1], [5]], 0
    instance = _three_nodes([_fills(0), _fills(1), own])
    pays = every_lie(instance, 2, rule, (TINY, TINY))
    assert {pays[1, 1, work, 1] for work in range(1, 4)} | {pays[1, 1, 1, size] for size in range(1, 11)} == {0}
    assert _pays(instance, 2, rule, search=search) == gain
    # A second slot that costs nothing and is full: the deadline has to be a lie, too.
    late: list[Row] = [((1, 2), 4, _fills(node)[2], 9, [[99, 0]] * 3, 0) for node in range(3)]
    own = (1, 2), 1, [1, 2, 2], 20, [[0, 0], [1, 0], [5, 0]], 0
    instance = _three_nodes([_fills(0, slots=2), _fills(1, slots=2), *late, own])
    pays = every_lie(instance, 5, rule, (TINY, TINY))
    assert {pays[1, 2, work, size] for work in range(1, 4) for size in range(1, 11)} == {0}
    assert _pays(instance, 5, rule, search=search) == gain


@pytest.mark.parametrize(
    ("bid", "cost", "least"), [(1, 1, 2), (1, 2, 3), (1, 3, 5), (1, 4, 6), (1, 5, 7), (2, 1, 3), (3, 1, 6)]
)
def test_the_size_from_which_on_a_lie_pays_is_found(bid: int, cost: int, least: int) -> None:
    """phi = 1 on a, which is full, and bid 5/18 on c: c is chosen from `least` MB on, and each MB more costs more."""
    on_c: Row = (1, 1), 1, [0, 0, 1], bid, [[0]] * 3, 0
    own: Row = (1, 1), 1, [2, 2, 2], 20, [[0], [99], [cost]], 0
    instance = _three_nodes([_fills(0), on_c, own], middle=9)
    beta = Fraction(5)
    pays = every_lie(instance, 2, "critical", (TINY, beta))
    sizes = [size for size in range(1, 11) if pays[1, 1, 1, size] > 0]
    assert sizes == list(range(least, 9))
    assert all(pays[1, 1, 1, size] > pays[1, 1, 1, size + 1] for size in sizes)
    assert 20 - cost - least * bid * Fraction(5, 18) - Fraction(1, 100) < _pays(instance, 2, "critical", beta) < 20


def test_a_lie_can_pay_less_than_1() -> None:
    """Every node costs 19 and a little; c is dearest by its price, and has room."""
    on_c: Row = (1, 1), 1, [0, 0, 1], 900, [[0]] * 3, 0
    own: Row = (1, 1), 1, [1, 2, 2], 20, [[19]] * 3, 0
    instance = _three_nodes([_fills(0), _fills(1), on_c, own])
    assert 0 < _pays(instance, 3, "critical") < 1


def test_a_lie_about_arrival_pays_behind_the_others_of_the_same_slot() -> None:
    """a is full in slot 2 and cheapest; a task that comes later in slot 1 is dropped there, and makes it dear."""
    dear = [[99, 0]] * 3
    first: Row = (1, 2), 1, [4, 0, 0], 2, dear, 0
    own: Row = (1, 2), 1, [1, 1, 0], 20, [[99, 0], [99, 5], [99, 99]], 0
    after: Row = (1, 2), 4, [4, 0, 0], 60, dear, 0
    instance = _three_nodes([first, own, after])
    given_ = Fraction(1, 2)
    for rule, gain in (("printed", 20), ("critical", 15)):
        pays = every_lie(instance, 1, rule, (given_, TINY))
        assert pays[2, 2, 1, 1] == max(pays.values()) == gain
        check = check_claim(instance, f"pdftsp:units=given,payment={rule},alpha={given_},beta={TINY}", "theorem3_types")
        assert (check.status, check.left) == (Verdict.VIOLATED, gain)


@pytest.mark.parametrize(("rule", "gain"), [("printed", 14), ("critical", 5)])
def test_a_task_that_algorithm_2_finds_too_dear_can_win_with_a_lie(rule: str, gain: int) -> None:
    """dp_suboptimal: c = 77/5 of 14 by recursion (13), 9 by (9); a report that makes it see that pays."""
    check = check_claim(named("dp_suboptimal"), f"pdftsp:search=printed,payment={rule}", "theorem3_types")
    assert (check.status, check.left) == (Verdict.VIOLATED, gain)


def test_a_negative_cost_can_make_a_dropped_task_win_for_less_than_its_vendor() -> None:
    """v = q = 20: with e = -4 on c the task wins there for 16 under the critical payment, for q under (14)."""
    own: Row = (1, 1), 1, [1, 2, 2], 20, [[-9], [0], [-4]], 20
    instance = _three_nodes([_fills(0), _fills(1), own])
    assert (_pays(instance, 2, "critical"), _pays(instance, 2, "printed")) == (4, 0)


def test_misreports_that_were_not_followed_leave_the_claim_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = named("tiny_vendors")
    assert check_claim(instance, "pdftsp", "theorem3_types").status is Verdict.HOLDS
    monkeypatch.setattr(bidding, "SEARCHES", 1)
    check = check_claim(instance, "pdftsp", "theorem3_types")
    assert (check.status, check.left) == (Verdict.UNDECIDED, None)
    assert check.reason == "none of the 0 misreports tried gains; not all were tried"
    monkeypatch.setattr(bidding, "SEARCHES", 10)
    monkeypatch.setattr(bidding, "SEARCHES_OF_ONE", 4)
    memory_lie = parse(MEMORY_LIE)
    check = check_claim(memory_lie, "pdftsp:units=given,money=1/400", "theorem3_types")
    assert (check.status, check.reason) == (
        Verdict.UNDECIDED,
        "none of the 3 misreports tried gains; not all were tried",
    )


def test_a_dropped_task_wins_when_it_claims_to_arrive_later() -> None:
    """truth_later_arrival: bbar >= 1, constants kept, critical payment; still the window is not told truthfully."""
    instance = named("truth_later_arrival")
    later = Misreport(arrival=2, deadline=2, work=2, memory_mb=1000)
    for rule, wins in (("printed", 20), ("critical", 4)):
        assert lie_pays(instance, 1, later, rule, constants(instance)) == wins
        check = check_claim(instance, f"pdftsp:payment={rule}", "theorem3_types")
        assert (check.status, check.left) == (Verdict.VIOLATED, wins)


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
    """The gain of the witness is that of a run of its own, with the constants of its report; numbers of GB as MB."""
    instance = in_gigabytes(named(name))
    check = checks_of_payments(instance, run(instance, algorithm))[claim]
    assert (check.status, check.left, check.right) == (Verdict.VIOLATED, gain, 0)
    assert check.witness is not None
    i = int(check.witness["task"])
    lie = {key: int(check.witness[key]) for key in ("arrival", "deadline", "work", "memory_mb") if key in check.witness}
    lie["bid"] = int(check.witness.get("better_bid", instance.valuation[i]))
    told, place = report_as(instance, i, lie)
    decision = run(told, algorithm, seed=content_hash(instance)).decisions[place]
    gained = 0 if decision is None else int(instance.valuation[i]) - (decision.payment or 0)
    assert (str(gained), gained - int(check.witness["utility"])) == (check.witness["better_utility"], gain)


@pytest.mark.parametrize("algorithm", one_in(3, ["posted", "bbar-rule", "eris"]))
def test_lies_that_do_not_gain_prove_nothing(algorithm: str) -> None:
    """`undecided` with how many were tried, never `holds`; with the constants written out the same run is decided."""
    instance = named("tiny_two_types")
    result = run(instance, algorithm)
    checks = checks_of_payments(instance, result)
    for name in NAMES[:2]:
        assert checks[name].status is Verdict.UNDECIDED
        assert checks[name].reason == f"{REPORTS} misreports of 5 tasks tried, none gains"
        assert checks[name].figures["runs_skipped"] == 0
    values = ",".join(f"{constant.name}={constant.value}" for constant in result.constants)
    fixed = checks_of_payments(instance, run(instance, f"{algorithm}:{values}"))
    wanted = Verdict.UNDECIDED if algorithm == "eris" else Verdict.HOLDS
    assert {fixed[name].status for name in NAMES[:2]} == {wanted}


def test_a_prior_is_no_oracle() -> None:
    """Constants of the day before stay, so that every lie is decided."""
    instance = named("tiny_two_types")
    checks = checks_of_payments(instance, run(instance, "posted:prior=yesterday", prior=named("tiny_contention")))
    assert {checks[name].status for name in NAMES} == {Verdict.HOLDS}
    assert checks["truthful_bid"].figures["constants"] == "prior"


@settings(max_examples=samples(25))
@given(instance=tiny_instances(max_tasks=3, max_slots=3), algorithm=st.sampled_from(["posted", "bbar-rule", "eris"]))
def test_no_lie_that_was_found_is_better_than_the_best_of_all_bids(instance: Instance, algorithm: str) -> None:
    """Constants recomputed from every bid up to 90: a violation has a gain, and no more than the best of them."""
    try:
        result = run(instance, algorithm)
    except InputError:
        return
    check = checks_of_payments(instance, result)["truthful_bid"]
    if check.status is Verdict.VIOLATED:
        assert check.left is not None
        best = 0
        for i in range(instance.tasks):
            utilities = []
            for bid in (int(instance.valuation[i]), *range(90), LIMIT):
                try:
                    utilities.append(utility_of(instance, i, {"bid": bid}, algorithm) or 0)
                except InputError:
                    utilities.append(0)
            best = max(best, max(utilities) - utilities[0])
        assert 0 < check.left <= best
    else:
        assert check.status in (Verdict.UNDECIDED, Verdict.NOT_APPLICABLE)


def test_anyones_own_auction_is_told_lies_in_a_process_of_its_own() -> None:
    """A first price is shaded; one that charges the first schedule's cost is left open, and covers what it costs."""
    instance = named("tiny_contention")
    checks = checks_of_payments(instance, run(instance, "tests.support.auctioneers:FirstPrice"))
    assert checks["truthful_bid"].status is Verdict.VIOLATED
    assert checks["rational"].status is Verdict.HOLDS
    checks = checks_of_payments(instance, run(instance, "tests.support.auctioneers:AtCost"))
    assert checks["truthful_bid"].status is Verdict.UNDECIDED
    assert "misreports of 6 tasks tried, none gains" in checks["truthful_bid"].reason
    assert checks["truthful_type"].status in (Verdict.UNDECIDED, Verdict.VIOLATED)
    assert (checks["no_deficit"].status, checks["no_deficit"].left) == (Verdict.HOLDS, 0)


def test_a_gain_that_a_process_of_its_own_does_not_confirm_is_none() -> None:
    instance = named("tiny_contention")
    checks = checks_of_payments(instance, run(instance, "tests.support.auctioneers:Remembers"))
    for name in NAMES[:2]:
        assert (checks[name].status, checks[name].witness) == (Verdict.UNDECIDED, None)
        assert "none gains" in checks[name].reason


def test_charges_that_differ_from_run_to_run_are_no_gain_of_a_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No report moves them; the same report, heard again in processes of its own, is charged otherwise."""
    monkeypatch.setattr("ratiobench.online.referee.user_run.usable_threads", lambda: 1)  # the class counts its runs
    instance = two_nodes(2, [(1, 1, [4, 4], 1, 20, [[2, 2], [9, 9]]), (2, 2, [4, 4], 1, 20, [[2, 2], [9, 9]])])
    played = run(instance, f"tests.support.auctioneers:Coin:tally={tmp_path / 'tally'}")
    assert played.valid, played.violations
    assert [decision.payment for decision in played.decisions if decision is not None] == [1, 2]
    check = checks_of_payments(instance, played)["truthful_bid"]
    assert (check.status, check.witness) == (Verdict.UNDECIDED, None)
    assert check.reason == "not reproducible: the same report of task 1 is answered otherwise"


def test_large_bids_take_no_memory() -> None:
    """A bid of 10^12, whose smaller bids are more than any list holds."""
    instance = two_nodes(1, [(1, 1, [4, 4], 1, 10**12, [[2], [9]])])
    check = checks_of_payments(instance, run(instance, "posted"))["truthful_bid"]
    assert check.status in (Verdict.UNDECIDED, Verdict.VIOLATED)


def test_a_run_that_ends_in_no_valid_run_is_skipped_and_counted(mutants: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What crashes on every other bid shows nothing, however good it would have been."""

    class Crashes(Mutant):
        def decide(self, task: Task, view: View) -> Decision | None:
            if task.bid != 20:
                raise RuntimeError("never another")
            return super().decide(task, view)

    instance = two_nodes(1, [(1, 4, [4, 4], 1, 20, [[2], [9]])])
    entry = REGISTRY._entries["mutant"]
    monkeypatch.setitem(REGISTRY._entries, "mutant", replace(entry, make=Crashes))
    check = checks_of_payments(instance, run(instance, "mutant:kind=half"))["truthful_bid"]
    assert check.status is Verdict.UNDECIDED
    assert (check.figures["misreports_tried"], check.figures["tasks_tried"]) == (0, 0)
    assert int(str(check.figures["runs_skipped"])) > 10
    assert "no misreport ended in a valid run" in check.reason


def test_a_long_day_is_too_long_to_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truthfulness, "ALLOWANCE", 3)
    instance = named("tiny_two_types")
    check = checks_of_payments(instance, run(instance, "eris"))["truthful_bid"]
    assert (check.status, check.reason) == (Verdict.UNDECIDED, "too long to probe: 3 decisions are allowed")
