"""Utility curves: every piece against runs at the bids themselves; deficits, and the shipped examples."""

import csv
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.cli import main
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.theory.basis.facts import SearchBudget, SearchLimitReached
from ratiobench.bench.lora.theory.paper import bidding
from ratiobench.bench.lora.theory.pdftsp.auction import auction_of, deficits, fixed_curve
from ratiobench.bench.lora.theory.pdftsp.bids import recompute_curve, utility_curve
from ratiobench.bench.lora.theory.pdftsp.curve import Curve
from ratiobench.bench.lora.theory.pdftsp.misreports import Bidder, Misreport
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, document, parse
from ratiobench.instances.lora.named import expected, named, path
from ratiobench.online.lora.run import run
from tests.support.commands import json_of, printed, refused
from tests.support.laboratory import breakpoints, check_claim
from tests.support.literal import in_gigabytes
from tests.support.literal_claims import Menu, algorithm1, constants, lie_pays, paid, utility
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

TOP = Fraction(2**40)


def _probes(curve: Curve, drawn: list[Fraction]) -> set[Fraction]:
    """Drawn bids, every breakpoint, and a bid on either side of each."""
    ends = [Fraction(0), *breakpoints(curve), TOP]
    inside = {(low + high) / 2 for low, high in pairwise(ends)}
    near = {end + shift for end in breakpoints(curve) for shift in (Fraction(-1, 1000), Fraction(1, 1000))}
    return {bid for bid in {*drawn, *ends, *inside, *near} if 0 <= bid <= TOP}


def _without_gaps(curve: Curve) -> None:
    first, last = curve.pieces[0], curve.pieces[-1]
    assert (first.low, first.low_in, last.high, last.high_in) == (0, True, TOP, True)
    for left, right in pairwise(curve.pieces):
        assert left.high == right.low
        assert left.high_in != right.low_in
        assert (left.admitted, left.payment) != (right.admitted, right.payment)
    assert all(piece.low < piece.high or (piece.low_in and piece.high_in) for piece in curve.pieces)


BIDS = st.lists(st.fractions(0, 60, max_denominator=12), min_size=4, max_size=8)
VARIANT = st.sampled_from([("printed", True), ("critical", True), ("printed", False)])


@settings(max_examples=samples(60), deadline=None)
@given(instance=tiny_instances(max_slots=4), drawn=BIDS, variant=VARIANT, data=st.data())
def test_a_curve_says_what_a_run_at_that_bid_says(
    instance: Instance, drawn: list[Fraction], variant: tuple[str, bool], data: st.DataObject
) -> None:
    """alpha and beta from the bids, at drawn bids, at every breakpoint and on both sides of it."""
    if not instance.tasks:
        return
    rule, ghosts = variant
    i = data.draw(st.integers(0, instance.tasks - 1))
    menu = Menu(instance)
    result = run(instance, f"pdftsp:units=given,payment={rule},updates={'all' if ghosts else 'admitted'}")
    curve = utility_curve(instance, result, i)
    _without_gaps(curve)
    for bid in _probes(curve, drawn):
        twin = algorithm1(menu, bids={i: bid}, ghosts=ghosts)
        assert curve.payment(bid) == paid(menu, twin, i, rule), bid
        assert curve.utility(bid) == utility(menu, twin, i, rule), bid


@settings(max_examples=samples(60), deadline=None)
@given(instance=tiny_instances(max_slots=4), drawn=BIDS, rule=st.sampled_from(["printed", "critical"]))
def test_with_constants_kept_a_curve_has_one_threshold(instance: Instance, drawn: list[Fraction], rule: str) -> None:
    """Each task, against runs with the constants of the true bids; the payment does not move with the bid."""
    menu = Menu(instance)
    given_ = constants(instance)
    for i in range(instance.tasks):
        curve = fixed_curve(auction_of(instance, run(instance, f"pdftsp:units=given,payment={rule}")), i)
        _without_gaps(curve)
        assert len(curve.pieces) <= 2
        for bid in _probes(curve, drawn[:4]):
            twin = algorithm1(menu, bids={i: bid}, given=given_)
            assert curve.payment(bid) == paid(menu, twin, i, rule), bid


@settings(max_examples=samples(50), deadline=None)
@given(instance=tiny_instances(max_slots=4), drawn=BIDS, rule=st.sampled_from(["printed", "critical"]))
def test_the_best_bid_of_a_curve_is_attained_and_no_bid_tried_is_better_by_twice(
    instance: Instance, drawn: list[Fraction], rule: str
) -> None:
    """A supremum at an open end is approached to half of the gain; everywhere else the best is the best."""
    menu = Menu(instance)
    for i in range(instance.tasks):
        curve = utility_curve(instance, run(instance, f"pdftsp:units=given,payment={rule}"), i)
        bid, best = curve.best()
        truthful = curve.utility(curve.valuation)
        assert utility(menu, algorithm1(menu, bids={i: bid}), i, rule) == best >= truthful
        for other in _probes(curve, drawn):
            assert curve.utility(other) - truthful <= 2 * (best - truthful)


@settings(max_examples=samples(150), deadline=None)
@given(
    instance=tiny_instances(), ghosts=st.sampled_from(["all", "admitted"]), scale=st.sampled_from(["1/9", "1", "30"])
)
def test_public_constants_and_the_critical_payment_leave_nothing_to_gain(
    instance: Instance, ghosts: str, scale: str
) -> None:
    """Any alpha, beta that the bids do not move: truthful in the bid, never a loss, never a deficit."""
    algorithm = f"pdftsp:units=given,payment=critical,updates={ghosts},alpha={scale},beta={scale}"
    for name in ("theorem3", "theorem3_fixed_constants", "theorem4", "provider_deficit"):
        assert check_claim(instance, algorithm, name).status in (Verdict.HOLDS, Verdict.NOT_APPLICABLE), name


@settings(max_examples=samples(80), deadline=None)
@given(instance=tiny_instances(), rule=st.sampled_from(["printed", "critical"]))
def test_deficits_are_what_the_provider_pays_less_what_it_charges(instance: Instance, rule: str) -> None:
    """q + E - p per admitted task; the critical payment leaves none."""
    menu = Menu(instance)
    twin = algorithm1(menu)
    wanted = {}
    for i, one in enumerate(twin.served):
        amount = paid(menu, twin, i, rule)
        if one is not None and amount is not None:
            wanted[i] = menu.tasks[i].options[one.option].price + one.energy - amount
    found = deficits(auction_of(instance, run(instance, f"pdftsp:units=given,payment={rule}")))
    assert found == wanted
    assert rule == "printed" or all(value <= 0 for value in found.values())


def test_overbidding_pays_under_payment_14() -> None:
    """truth_overbid_e: bid 8 instead of 6 wins 2; with b - F it loses 1."""
    instance, table = in_gigabytes(named("truth_overbid_e")), expected("truth_overbid_e")["other_bids"]
    for name in ("theorem3", "theorem3_fixed_constants"):
        check = check_claim(instance, "pdftsp:units=given", name)
        assert (check.status, check.left) == (Verdict.VIOLATED, 2)
        assert check.witness == {
            "task": 1, "true_bid": 6, "utility": "0", "better_bid": "8", "better_utility": "2", "gain": "2",
        }  # fmt: skip
    for rule, key in (("printed", "utility_14"), ("critical", "utility_b_minus_f")):
        curve = utility_curve(instance, run(instance, f"pdftsp:units=given,payment={rule}"), table["task"])
        assert [curve.utility(Fraction(row["bid"])) for row in table["runs"]] == [
            Fraction(row[key]) for row in table["runs"]
        ]
    assert (
        check_claim(instance, "pdftsp:units=given,payment=critical", "theorem3_fixed_constants").status is Verdict.HOLDS
    )


def test_underbidding_pays_when_alpha_comes_from_the_bids() -> None:
    """truth_alpha_underbid: 8, 6, 4, 2 pay 4, 3, 2, 1; the best bid is 2."""
    instance, table = in_gigabytes(named("truth_alpha_underbid")), expected("truth_alpha_underbid")["other_bids"]
    curve = utility_curve(instance, run(instance, "pdftsp:units=given"), table["task"])
    for row in table["runs"]:
        assert curve.payment(Fraction(row["bid"])) == Fraction(row["payment_14"])
        assert curve.utility(Fraction(row["bid"])) == Fraction(row["utility_14"])
    assert curve.best() == (2, 7)
    assert breakpoints(curve) == [1, 2]
    check = check_claim(instance, "pdftsp:units=given", "theorem3")
    assert (check.status, check.left) == (Verdict.VIOLATED, 3)
    for algorithm in ("pdftsp:units=given,alpha=8,beta=8", "pdftsp:units=given,payment=critical,alpha=8,beta=8"):
        assert check_claim(instance, algorithm, "theorem3").status is Verdict.HOLDS


def test_a_higher_bid_loses_when_alpha_comes_from_the_bids() -> None:
    """truth_nonmonotone: wins with every bid in (0, 4], loses with every one above, whatever it would pay."""
    instance, table = in_gigabytes(named("truth_nonmonotone")), expected("truth_nonmonotone")["other_bids"]
    for rule in ("printed", "critical"):
        curve = utility_curve(instance, run(instance, f"pdftsp:units=given,payment={rule}"), table["task"])
        assert [(piece.admitted, piece.high) for piece in curve.pieces] == [(False, 0), (True, 4), (False, TOP)]
        assert curve.piece(4).admitted
        for row in table["runs"]:
            assert curve.piece(Fraction(row["bid"])).admitted is row["admitted"]
    assert check_claim(instance, "pdftsp:units=given,payment=critical", "theorem3").status is Verdict.VIOLATED
    assert (
        check_claim(instance, "pdftsp:units=given,payment=critical", "theorem3_fixed_constants").status is Verdict.HOLDS
    )


def _hand(tasks: list[tuple[int, int, int, int, int, list[int]]], size: int) -> Instance:
    """One node of `size` samples and MB, two slots; tasks as (arrival, deadline, rate and work, memory, bid, costs)."""
    return make_instance(
        2,
        [make_node(size, size)],
        [
            {"arrival": a, "deadline": d, "rate": [s], "work": s, "memory_mb": r, "bid": b, "cost": [e]}
            for a, d, s, r, b, e in tasks
        ],
    )


@pytest.mark.parametrize(
    ("tasks", "size", "breakpoint_", "wins_there"),
    [
        ([(1, 1, 1, 1, 2, [0, 0]), (1, 2, 5, 5, 15, [0, 5]), (2, 2, 1, 1, 5, [0, 0])], 8, 4, True),
        ([(1, 2, 1, 1, 2, [9, 0]), (1, 2, 5, 5, 15, [5, 0]), (2, 2, 1, 1, 5, [0, 0])], 8, 4, None),
        ([(1, 1, 1, 1, 2, [0, 0]), (1, 2, 8, 8, 24, [0, 6]), (2, 2, 1, 5, 9, [0, 0])], 16, 9, True),
        ([(1, 2, 1, 1, 2, [9, 0]), (1, 2, 8, 8, 24, [8, 0]), (2, 2, 1, 5, 9, [0, 0])], 16, 13, None),
    ],
    ids=["the left side keeps the bid", "the right side keeps it", "half way between the kinks", "beyond half way"],
)
def test_at_a_breakpoint_the_ties_decide(
    tasks: list[tuple[int, int, int, int, int, list[int]]], size: int, breakpoint_: int, wins_there: bool | None
) -> None:
    """Where two schedules of an earlier task cost the same, the bid itself is run, whatever its sides do."""
    instance = _hand(tasks, size)
    menu = Menu(instance)
    curve = utility_curve(instance, run(instance, "pdftsp:units=given"), 2)
    around = [Fraction(breakpoint_) + Fraction(n, 1000) for n in (-1, 0, 1)]
    twins = [algorithm1(menu, bids={2: bid}) for bid in around]
    chosen = [None if twin.served[1] is None else twin.served[1].cells for twin in twins]
    assert chosen[0] != chosen[2]
    assert [curve.payment(bid) for bid in around] == [paid(menu, twin, 2, "printed") for twin in twins]
    if wins_there is not None:
        assert curve.piece(breakpoint_).admitted is wins_there


def test_a_task_that_says_it_arrives_later_comes_after_the_others_of_that_slot() -> None:
    """Alone in slot 2 it would pay nothing; behind the other one it is too dear."""
    instance = _hand([(1, 2, 1, 1, 20, [0, 0]), (2, 2, 1, 1, 10, [0, 0])], 8)
    bidder = Bidder(auction_of(instance, run(instance, "pdftsp:units=given")), 0, SearchBudget(None))
    assert (bidder.try_report(Misreport(1, 1, 1, 1)).utility, bidder.try_report(Misreport(2, 2, 1, 1)).utility) == (
        20,
        0,
    )
    assert lie_pays(instance, 0, Misreport(2, 2, 1, 1), "printed", constants(instance)) == 0


@pytest.mark.parametrize("name", ["dropped_duals_hurt_L10", "lemma3_T2_two_tasks", "thm5_T2_drop_18tasks"])
@pytest.mark.parametrize("updates", ["all", "admitted"])
def test_curves_follow_the_prices_that_dropped_tasks_leave_or_do_not(name: str, updates: str) -> None:
    """The second and the third task, at breakpoints and around them."""
    instance = in_gigabytes(named(name))
    menu = Menu(instance)
    result = run(instance, f"pdftsp:units=given,updates={updates}")
    for i in range(1, min(3, instance.tasks)):
        curve = utility_curve(instance, result, i)
        for bid in _probes(curve, [Fraction(7), Fraction(31)]):
            twin = algorithm1(menu, bids={i: bid}, ghosts=updates == "all")
            assert curve.payment(bid) == paid(menu, twin, i, "printed"), bid


@pytest.mark.parametrize(
    "algorithm", ["pdftsp:units=canonical", "pdftsp:search=printed,units=given", "pdftsp:arith=float,units=given"]
)
def test_what_cannot_be_followed_exactly_is_refused(algorithm: str) -> None:
    """Constants that move with the bid need straight lines, a maximiser and fractions; constants kept need none."""
    instance = in_gigabytes(named("truth_nonmonotone"))
    result = run(instance, algorithm)
    with pytest.raises(InputError, match=r"canonical units|no maximiser|float prices"):
        utility_curve(instance, result, 2)
    assert fixed_curve(auction_of(instance, result), 2).pieces
    assert check_claim(instance, algorithm, "theorem3").status in (Verdict.NOT_APPLICABLE, Verdict.UNDECIDED)


@pytest.mark.parametrize(
    "algorithm",
    [
        "pdftsp:units=given,search=printed",
        "pdftsp:units=given,arith=float",
        "pdftsp:units=given,search=printed,arith=float",
    ],
)
@settings(max_examples=samples(150), deadline=None)
@given(instance=tiny_instances())
def test_a_gain_by_a_bid_that_moves_no_constant_is_found_whatever_the_run(algorithm: str, instance: Instance) -> None:
    """Printed search and doubles too: the better bid's run, constants taken from the bids anew, really pays more."""
    check = check_claim(instance, algorithm, "theorem3")
    assert check.status is not Verdict.HOLDS or check.left == 0
    if check.status is not Verdict.VIOLATED:
        return
    assert check.witness is not None
    i, value = check.witness["task"], int(instance.valuation[check.witness["task"]])
    better = Fraction(check.witness["better_bid"])
    if better.denominator != 1:
        return

    def pays(bid: int) -> Fraction:
        data = document(instance)
        data["tasks"][i] |= {"bid": bid, "valuation": value}
        offer = run(parse(data), algorithm).trace.offers[i]
        return value - Fraction(offer.payment) if offer.admitted else Fraction(0)

    assert check.left is not None
    assert float(pays(int(better)) - pays(value)) == pytest.approx(float(check.left), rel=1e-9)
    assert check.left > 0


def test_a_bid_that_moves_a_constant_proves_nothing_by_the_curve_of_kept_ones() -> None:
    """truth_overbid_e in doubles: task 1 gains 2 by bidding 8, which is the largest bid per sample but no larger than
    task 2's; with task 2 gone it is the largest, and the claim stays open.
    """
    instance = in_gigabytes(named("truth_overbid_e"))
    check = check_claim(instance, "pdftsp:units=given,arith=float", "theorem3")
    assert (check.status, check.left) == (Verdict.VIOLATED, 2)
    data = document(instance)
    data["tasks"] = data["tasks"][:2]
    assert check_claim(parse(data), "pdftsp:units=given,arith=float", "theorem3").status is Verdict.UNDECIDED


def test_an_allowance_that_runs_out_leaves_the_claim_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches are counted, not seconds."""
    instance = in_gigabytes(named("formulation_4d"))
    auction = auction_of(instance, run(instance, "pdftsp:units=given"))
    with pytest.raises(SearchLimitReached):
        recompute_curve(auction, 1, SearchBudget(2))
    assert check_claim(instance, "pdftsp:units=given", "theorem3").status is Verdict.HOLDS
    monkeypatch.setattr(bidding, "SEARCHES", 2)
    check = check_claim(instance, "pdftsp:units=given", "theorem3")
    assert (check.status, check.left) == (Verdict.UNDECIDED, None)
    assert check.reason.endswith("of 2 tasks followed, none gains")


def test_a_task_without_a_schedule_loses_with_every_bid() -> None:
    instance = in_gigabytes(named("tiny_empty_window"))
    result = run(instance, "pdftsp:units=given")
    auction = auction_of(instance, result)
    [i] = [i for i in range(instance.tasks) if auction.costs.get(i) is None][:1]
    for curve in (fixed_curve(auction, i), utility_curve(instance, result, i)):
        assert [(piece.low, piece.high, piece.admitted) for piece in curve.pieces] == [(0, TOP, False)]
        assert curve.best() == (curve.valuation, 0)


def test_a_loss_by_overbidding_is_named_and_a_truthful_bid_has_none() -> None:
    """thm5_T4_4tasks_strict: task 1, v = 20, wins with 26 and pays 25."""
    instance = in_gigabytes(named("thm5_T4_4tasks_strict"))
    literal, truthful = (check_claim(instance, "pdftsp:units=given", name) for name in ("theorem4_literal", "theorem4"))
    assert literal.witness == {"task": 1, "valuation": 20, "bid": 26, "utility": "-5"}
    assert (literal.status, truthful.status) == (Verdict.VIOLATED, Verdict.HOLDS)


def test_a_negative_cost_takes_payment_14_above_the_bid() -> None:
    """(14) leaves E out: F = b + 3 - 0 wins, pays 0 under (14) but -3 under b - F; with a price it pays above b."""
    data = document(in_gigabytes(named("truth_overbid_e")))
    data["tasks"][1].pop("energy_wh")
    data["tasks"][1] |= {"cost": [[-3]], "bid": 2, "valuation": 2}
    instance = parse(data)
    auction = auction_of(instance, run(instance, "pdftsp:units=given"))
    cost = auction.costs.get(1)
    assert cost is not None
    assert (cost.total, cost.payment("printed"), cost.payment("critical")) == (1, 4, 1)
    assert check_claim(instance, "pdftsp:units=given", "theorem4").reason == "negative cost (task 1)"
    assert check_claim(instance, "pdftsp:units=given", "theorem4").left == 2
    assert check_claim(instance, "pdftsp:units=given,payment=critical", "theorem4").status is Verdict.HOLDS
    # Any bid up to 1 loses instead of paying 4 for 2; a valuation of 1 loses as it is, and has no loss.
    twin = algorithm1(Menu(instance), bids={1: Fraction(1)}, given=constants(instance))
    assert utility(Menu(instance), twin, 1, "printed") == 0
    check = check_claim(instance, "pdftsp:units=given", "theorem3_fixed_constants")
    assert (check.status, check.left) == (Verdict.VIOLATED, 2)
    assert check.witness is not None
    assert (check.witness["task"], check.witness["utility"], check.witness["better_utility"]) == (1, "-2", "0")
    assert Fraction(check.witness["better_bid"]) <= 1
    data["tasks"][1]["valuation"] = 1
    assert check_claim(parse(data), "pdftsp:units=given", "theorem4").left == 0


def test_the_command_writes_the_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CSV with exact fractions, the same rows as JSON; the checks can be named."""
    file, out = str(path("truth_alpha_underbid")), tmp_path / "curve.csv"
    command = ["audit", file, "--algorithm", "pdftsp", "--task", "1", "--curve", str(out)]
    found = json_of(capsys, *command)
    pieces = found["pieces"]
    assert {"theorem3": "violated"}.items() <= {check["name"]: check["status"] for check in found["checks"]}.items()
    with out.open(newline="") as lines:
        assert list(csv.DictReader(lines)) == pieces
    assert [(row["bid_from"], row["admitted"], row["utility_from"]) for row in pieces] == [
        ("0", "false", "0"),
        ("1", "true", "7"),
        ("2", "true", "7"),
    ]
    assert {row["known"] for row in pieces} == {"exact"}
    whole = out.read_text()
    lines = printed(capsys, *command, "--claim", "theorem3").splitlines()
    assert (lines[0], lines[1]) == (f"{out}: 3 pieces", "pdftsp: task 1")
    assert lines[2].startswith("theorem3: violated  3 > 0")
    assert main([*command[:-1], "-"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (whole, "-: 3 pieces\n")
    [check] = json_of(capsys, "audit", file, "--algorithm", "pdftsp", "--claim", "theorem3")["checks"]
    assert (check["name"], check["status"], check["left"]) == ("theorem3", "violated", "3")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "2"], "task: 2 is not in 0..1"),
        (["--curve", "x.csv"], "--curve: needs --task I, the number of the bidder"),
        (["--curve", "-", "--task", "1", "--claim", "theorem3"], "--curve - prints the curve only"),
        (["--curve", "-", "--task", "1", "--json"], "--json: what these options print is no JSON document"),
        (["--curve", "x.csv", "--task", "2"], "task: 2 is not in 0..1"),
        (["--curve", "no/such/x.csv", "--task", "1"], "no/such"),
        (["--claim", "lemma5"], "'lemma5' is not known; did you mean 'lemma4'?"),
    ],
)
def test_what_the_command_cannot_use_is_one_line(
    options: list[str], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, "audit", str(path("truth_alpha_underbid")), "--algorithm", "pdftsp", *options)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [("titan", "it has no payment rule"), ("tests.support.contestants:Raises", "the run is not valid (")],
)
def test_only_auctions_have_curves(
    algorithm: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.csv"
    file = str(path("truth_alpha_underbid"))
    assert said in refused(capsys, "audit", file, "--algorithm", algorithm, "--task", "0", "--curve", str(out))
    assert not out.exists()
