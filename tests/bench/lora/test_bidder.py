"""One bidder alone: its best bid, its lies, and its curve, with or without the offers."""

import csv
import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratiobench.bench.cli import main
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.lora.theory import bidder
from ratiobench.bench.lora.theory.bidder import audit_bidder, curve, try_curve
from ratiobench.bench.lora.theory.paper import bidding
from ratiobench.bench.lora.theory.pdftsp.bids import utility_curve
from ratiobench.bench.lora.theory.pdftsp.curve import read_curve
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Decision, Instance, document, parse
from ratiobench.instances.lora.model import Task
from ratiobench.instances.lora.named import named, path
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.run import run
from tests.support.laboratory import check_claim, truthfulness, truthfulness_of
from tests.support.mechanisms import crowded
from tests.support.mutants import Mutant, two_nodes
from tests.support.nightly import one_in
from tests.support.payments import NAMES, utility_of
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

OF_ONE = ("theorem3", "theorem3_fixed_constants", "theorem3_types")  # The paper's claims about one bidder


@settings(max_examples=samples(25), deadline=None)
@given(instance=tiny_instances(max_tasks=4, max_slots=4), rule=st.sampled_from(["printed", "critical"]))
def test_the_checks_of_all_bidders_one_by_one_are_those_of_the_run(instance: Instance, rule: str) -> None:
    """Decided where the audit is, and violated exactly if one bidder gains; the largest gain where constants stay."""
    result = run(instance, f"pdftsp:payment={rule}")
    for name in OF_ONE:
        check = check_claim(instance, f"pdftsp:payment={rule}", name)
        found = [audit_bidder(instance, result, i, [name])[0] for i in range(instance.tasks)]
        if check.status in (Verdict.HOLDS, Verdict.VIOLATED):
            assert {each.status for each in found} <= {Verdict.HOLDS, Verdict.VIOLATED}
            gains = [each.left for each in found if each.left is not None]
            assert (max(gains) > 0) == (check.status is Verdict.VIOLATED)
            assert check.left is not None
            assert check.left == max(gains) if name == "theorem3_fixed_constants" else check.left <= max(gains)
            for i, each in enumerate(found):
                assert each.witness is None or each.witness["task"] == i
        else:
            assert check.status is Verdict.NOT_APPLICABLE
            assert {each.reason for each in found} <= {check.reason}


def test_a_bidder_whose_curve_cannot_be_followed_is_heard_in_runs_with_other_bids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """truth_alpha_underbid in doubles and under Algorithm 2: the audit leaves it open, a run with a low bid shows 3."""
    monkeypatch.setattr("ratiobench.bench.lora.theory.payments.truthfulness.ONE", 4)
    instance = named("truth_alpha_underbid")
    data = document(instance)
    assert check_claim(instance, "pdftsp:arith=float", "theorem3").status is Verdict.UNDECIDED
    for algorithm in ("pdftsp:arith=float", "pdftsp:search=printed"):
        [check] = audit_bidder(instance, run(instance, algorithm), 1, ["theorem3"])
        assert (check.status, check.left) == (Verdict.VIOLATED, 3)
        assert check.witness is not None
        told = parse(data | {"tasks": [data["tasks"][0], data["tasks"][1] | {"bid": int(check.witness["better_bid"])}]})
        offer = run(told, algorithm).trace.offers[1]
        assert offer.admitted
        assert instance.valuation[1] - math.ceil(offer.payment) == int(check.witness["better_utility"])


def test_a_type_that_gains_in_doubles_is_shown_by_a_run_with_the_constants_kept() -> None:
    """truth_later_arrival: what the audit leaves open in doubles gains as much as in fractions, for its bidder."""
    instance = named("truth_later_arrival")
    exact = check_claim(instance, "pdftsp", "theorem3_types")
    assert exact.status is Verdict.VIOLATED
    assert exact.witness is not None
    assert check_claim(instance, "pdftsp:arith=float", "theorem3_types").status is Verdict.UNDECIDED
    result = run(instance, "pdftsp:arith=float")
    [check] = audit_bidder(instance, result, exact.witness["task"], ["theorem3_types"])
    assert check.status is Verdict.VIOLATED
    assert check.left == pytest.approx(float(exact.left or 0), abs=1)
    [check] = audit_bidder(instance, result, 0, ["theorem3_types"])
    assert check.status is Verdict.UNDECIDED
    assert "misreports of task 0 tried, none gains" in check.reason


def test_more_searches_are_allowed_for_one_bidder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an audit runs out, its curve is followed; where that runs out too, runs with other bids are heard."""
    instance = named("truth_nonmonotone")
    monkeypatch.setattr(bidding, "SEARCHES", 10)
    assert check_claim(instance, "pdftsp", "theorem3").status is Verdict.UNDECIDED
    result = run(instance, "pdftsp")
    [check] = audit_bidder(instance, result, 2, ["theorem3"])
    curve = utility_curve(instance, result, 2)
    assert check.left == curve.best()[1] - curve.utility(curve.valuation)
    monkeypatch.setattr(bidding, "CHOSEN", 0)
    [check] = audit_bidder(instance, result, 2, ["theorem3"])
    assert check.status is Verdict.VIOLATED or "its curve takes more than 0 searches; " in check.reason


def test_the_command_asks_one_bidder_without_solving(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its three claims, or those named, in text and JSON; those that are no claims about one bidder say so."""
    monkeypatch.setattr("ratiobench.bench.lora.FAMILY.solve", lambda *_: pytest.fail("solved"))
    monkeypatch.setattr("ratiobench.bench.lora.theory.payments.truthfulness.ONE", 4)
    command = ["audit", str(path("truth_alpha_underbid")), "--algorithm", "pdftsp", "--task", "1"]
    assert main([*command, "--json"]) == 0
    document_ = json.loads(capsys.readouterr().out)
    assert (document_["task"], document_["valid"], document_["violations"]) == (1, True, [])
    assert [check["name"] for check in document_["checks"]] == list(OF_ONE)
    assert (document_["checks"][0]["status"], document_["checks"][0]["left"]) == ("violated", "3")
    claims = [part for name in ("theorem3", "theorem5", "truthful_bid") for part in ("--claim", name)]
    assert main([*command, *claims]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pdftsp: task 1"
    assert lines[1] == "1 violated: theorem3 3 > 0; 2 not applicable"
    assert lines[2].startswith("theorem3: violated  3 > 0")
    assert lines[-2:] == [
        "theorem5: not applicable (a claim about whole runs, not about one bidder)",
        "truthful_bid: not applicable (a claim about payments other than pdFTSP's)",
    ]
    assert main(["audit", command[1], "--algorithm", "titan", "--task", "1"]) == 0
    assert "truthful_bid: not applicable  (no payment rule)" in capsys.readouterr().out


@pytest.mark.parametrize("algorithm", ["eris", "posted", "pdftsp:arith=float"])
def test_the_command_tries_bids_where_no_curve_is_known(algorithm: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Pieces of tried bids, and a line that says how many runs it took and why."""
    command = ["audit", str(path("tiny_contention")), "--algorithm", algorithm, "--task", "0", "--curve", "-"]
    assert main(command) == 0
    captured = capsys.readouterr()
    rows = list(csv.DictReader(captured.out.splitlines()))
    assert {row["known"] for row in rows} == {"tried"}
    assert f"-: {len(rows)} piece" in captured.err
    assert "runs, as " in captured.err
    assert captured.err.endswith("; between the bids that were tried nothing is proved\n")


@pytest.mark.parametrize("algorithm", one_in(2, ["eris", "posted", "greedy", "bbar-rule"]))
def test_what_one_bidder_gains_is_no_less_than_what_the_audit_of_all_found_for_it(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ratiobench.bench.lora.theory.payments.truthfulness.ONE", 2)
    compared = 0
    for name in ("tiny_cost_table", "tiny_contention", "truth_overbid_e", "thm5_T4_4tasks_strict"):
        instance = named(name)
        result = run(instance, algorithm)
        for check in truthfulness(instance, result, NAMES[:2]):
            tasks = [check.witness["task"]] if check.witness else range(min(samples(2, 1), instance.tasks))
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
    assert compared >= 8


@settings(max_examples=samples(12))
@given(instance=tiny_instances(max_tasks=3, max_slots=3), algorithm=st.sampled_from(["posted", "eris"]))
def test_a_chosen_bidders_best_bid_is_a_gain_that_a_run_of_its_own_gives(instance: Instance, algorithm: str) -> None:
    """The gain is that of the witness's run, constants recomputed, and where none is found none up to 40 gains."""
    try:
        result = run(instance, algorithm)
    except InputError:
        return
    assume(instance.tasks and result.revenue is not None and max(instance.bid.tolist()) <= 60)
    [check] = truthfulness_of(instance, result, 0, ["truthful_bid"])
    honest = utility_of(instance, 0, {"bid": int(instance.valuation[0])}, algorithm)
    if check.status is Verdict.VIOLATED:
        assert check.witness is not None
        gained = utility_of(instance, 0, {"bid": int(check.witness["better_bid"])}, algorithm)
        assert (gained is not None and honest is not None and gained - honest) == check.left
        return
    assert check.status is Verdict.UNDECIDED
    for bid in range(41):
        try:
            gained = utility_of(instance, 0, {"bid": bid}, algorithm)
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
    monkeypatch.setattr("ratiobench.bench.lora.theory.payments.truthfulness.ALLOWANCE", 0)
    result = run(named("tiny_two_types"), "eris")
    [check] = truthfulness_of(named("tiny_two_types"), result, i, ["truthful_bid"])
    assert (check.status, check.reason) == (Verdict.UNDECIDED, "too long to probe: 0 decisions are allowed")
    monkeypatch.setattr("ratiobench.bench.lora.theory.payments.truthfulness.ALLOWANCE", 5)
    [check] = truthfulness_of(named("tiny_two_types"), result, i, ["truthful_bid"])
    assert 5 < int(str(check.figures["misreports_tried"])) <= 500


@settings(max_examples=samples(15))
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
    trials = try_curve(instance, result, 0)
    rows = list(trials.rows())
    assert any(piece.has(Fraction(int(instance.valuation[0]))) for piece in read_curve(rows).pieces)
    for row in rows:
        for end in ("from", "to"):
            assert utility_of(instance, 0, {"bid": int(row[f"bid_{end}"])}, algorithm) == int(row[f"utility_{end}"])
    if trials.failed == 0 and trials.runs < bidder.RUNS:
        assert all(int(two["bid_from"]) == int(one["bid_to"]) + 1 for one, two in pairwise(rows))
        assert (rows[0]["bid_from"], rows[-1]["bid_to"]) == ("0", str(LIMIT))
    if algorithm == "greedy":
        exact = utility_curve(instance, result, 0)
        for bid in trials.answers:
            assert trials.answers[bid][1] is None or exact.piece(bid).admitted
            assert (trials.answers[bid][1] is None) == (not exact.piece(bid).admitted)


def test_anyones_own_auction_has_a_curve_as_far_as_runs_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first price: nothing below the cost, then every bid a piece of its own, as far as runs are allowed."""
    monkeypatch.setattr(bidder, "RUNS", 20)
    instance = named("tiny_contention")
    found = curve(instance, run(instance, "tests.support.auctioneers:FirstPrice"), 0)
    assert found.note.startswith("20 runs, as this run kept no offers; between the bids that were tried nothing")
    assert {row["known"] for row in found.rows} == {"tried"}
    lost, *won = found.rows
    assert (lost["bid_from"], lost["bid_to"], lost["utility_to"]) == ("0", "4", "0")
    assert won[0]["bid_from"] == "5"
    assert all(row["payment_from"] == row["bid_from"] == row["bid_to"] for row in won)
    monkeypatch.setattr(bidder, "RUNS", 6)
    found = curve(instance, run(instance, "tests.support.auctioneers:Remembers"), 0)
    assert {row["utility_from"] for row in found.rows} <= {"0", "5"}


def test_bids_that_end_in_no_valid_run_are_in_no_row(mutants: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the rows around them nothing is said."""

    class Crashes(Mutant):
        def decide(self, task: Task, view: View) -> Decision | None:
            if 7 <= task.bid <= 9:
                raise RuntimeError("not these")
            return super().decide(task, view)

    instance = two_nodes(1, [(1, 4, [4, 4], 1, 8, [[2], [9]])])
    entry = REGISTRY._entries["mutant"]
    monkeypatch.setitem(REGISTRY._entries, "mutant", replace(entry, make=Crashes))
    with pytest.raises(RuntimeError, match="not these"):
        run(instance, "mutant:kind=second")
    data = document(instance)
    data["tasks"][0] |= {"bid": 10, "valuation": 10}
    instance = parse(data)
    trials = try_curve(instance, run(instance, "mutant:kind=second"), 0)
    assert [(row["bid_from"], row["bid_to"]) for row in trials.rows()] == [("0", "2"), ("3", "6"), ("10", str(LIMIT))]
    assert trials.failed == 3
