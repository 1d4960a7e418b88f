"""The paper's claims as checks: verdicts and both sides against the definitions, on random and shipped instances."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.counterexamples.moves import Bounds, draw_start, raise_bids
from ratiobench.bench.lora.counterexamples.tiny import instance as sketch_instance
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.basis.verdicts import compare
from ratiobench.bench.lora.theory.claims import CLAIMS, THEORY, Claim, ProofStatus, audit
from ratiobench.bench.theory.claim import ClaimScope, keep_by_content
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.instances.lora import Instance, parse
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.named import expected, named, names, path
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import PriceTrace
from tests.support.laboratory import PAPER, report_of
from tests.support.literal import in_gigabytes, run_pdftsp
from tests.support.literal_claims import Menu, algorithm1, failing_in_theorem5, net_cost, verdicts
from tests.support.literal_claims import Verdict as Said
from tests.support.literal_claims import constants as largest_ratios
from tests.support.lora_documents import make_document, make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances
from tests.tools.survey import Settled, shipped_cases, survey

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = tuple(name for name in names() if "claims" in expected(name))
FALSE = {claim.name for claim in PAPER if claim.standing is ProofStatus.FALSE}
Named = list[tuple[str, Case]]


@pytest.fixture(scope="module")
def smaller() -> Named:
    """The shipped instances with fewer than 20 tasks."""
    return [(name, case) for name, case in shipped_cases() if case.instance.tasks < 20]


def _case(instance: Instance, algorithm: str, optimum: int) -> Case:
    return Case(instance, run(instance, algorithm), report_of(optimum))


@pytest.mark.parametrize("algorithm", ["posted", "capped", "minimal-edit", "bbar-rule"])
def test_an_upper_end_of_opt_refutes_no_certificate(algorithm: str) -> None:
    """What lies between the ends may be OPT: only the lower end is known to be reached."""
    settled = 0
    for name in ("tiny_contention", "tiny_two_types", "thm5_T5_3tasks"):
        instance = named(name)
        played, opt = run(instance, algorithm), enumerate_optimum(instance)[0]
        checks = audit(instance, played, report_of(opt, 10**6 * opt))
        bounded = [check for check in checks if check.name.startswith("theorem_")]
        assert Verdict.VIOLATED not in {check.status for check in bounded}
        settled += sum(check.status is Verdict.HOLDS for check in checks)
    assert settled


def _checks(case: Case, names_: frozenset[str] | None = None) -> dict[str, Check]:
    return {each.name: each.check_run(case) for each in PAPER if names_ is None or each.name in names_}


def _agrees(check: Check, said: Said, factor: Fraction) -> None:
    """Status and sides are those of the definition; a ratio is brought back to its two products."""
    status, left, right = said
    assert check.status.value == status, (check, said)
    if status == "not applicable":
        assert check.reason
    elif not check.name.startswith("theorem5"):
        assert (check.left, check.right) == (left, right), check.name
    elif check.left is not None and check.right is not None:
        assert (check.left * factor, check.right * factor) == (left, right), check.name
    assert (check.witness is not None) == (check.status is Verdict.VIOLATED)


def _factor(name: str, case: Case) -> Fraction:
    assert case.observations is not None
    return Fraction(case.observations.almost_feasible if name == "theorem5_repaired_a" else case.run.welfare)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_counterexamples_get_the_verdicts_of_the_table(name: str) -> None:
    """By the audit, and by the definitions over listed schedules and many bids."""
    instance, table = named(name), expected(name)
    case = _case(instance, "pdftsp", int(table["opt"]))
    checks = _checks(case)
    assert {key: check.status.value for key, check in checks.items()} == table["claims"]
    twin = verdicts(Menu(in_gigabytes(instance)), int(table["opt"]))
    assert len(twin) == len(PAPER) - 2  # what follows the bid: test_curves; lies: test_misreports
    for key, said in twin.items():
        _agrees(checks[key], said, _factor(key, case))
        assert said[0] == table["claims"][key]
    assert table["claims"]["theorem5"] == ("violated" if table["theorem5_violated"] else "holds")
    assert table["claims"]["lemma3"] == ("violated" if table["lemma3_violated"] else "holds")
    assert table["claims"]["lemma4"] == ("violated" if table["violated_6a"] else "holds")
    assert table["claims"]["weak_duality"] == ("violated" if table["weak_duality_violated"] else "holds")


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_figures_of_lemma_4_and_of_all_covers_come_out(name: str) -> None:
    """Every violated row of (6a), D^I, rho over all covers."""
    instance, table = named(name), expected(name)
    checks = _checks(_case(instance, "pdftsp", int(table["opt"])), frozenset({"lemma4", "theorem5"}))
    lemma4, theorem5 = checks["lemma4"], checks["theorem5"]
    assert lemma4.figures["violated_6a"] == len(table["violated_6a"])
    assert str(lemma4.figures["d_printed"]) == table["d_printed"]
    if table["violated_6a"]:
        first = table["violated_6a"][0]
        assert lemma4.witness is not None
        assert {key: lemma4.witness[key] for key in first} == first
        assert lemma4.witness["tasks"] == [row["task"] for row in table["violated_6a"]]
    assert str(theorem5.figures["bbar_min_all_covers"]) == table["bbar_min_all_covers"]
    assert str(theorem5.figures["rho_all_covers"]) == table["rho_all_covers"]


def test_every_false_claim_has_a_shipped_counterexample_and_no_proved_one_has() -> None:
    """The table over all shipped instances is what the claims say about themselves."""
    violated = {key for name in SHIPPED for key, status in expected(name)["claims"].items() if status == "violated"}
    assert len(SHIPPED) == 22
    assert violated == FALSE
    assert all(claim.repaired or claim.name == "ghost_updates" for claim in PAPER if claim.name in FALSE)
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.statement and claim.source and claim.assumptions for claim in CLAIMS)
    assert all((claim.check is None) == bool(claim.proof) for claim in CLAIMS)


@settings(max_examples=samples(150), deadline=None)
@given(
    instance=tiny_instances(max_slots=4),
    rule=st.sampled_from(["printed", "critical"]),
    ghosts=st.sampled_from([True, True, False]),
)
def test_every_verdict_is_that_of_the_definition(instance: Instance, rule: str, ghosts: bool) -> None:
    """Status and both sides, fractions, negative costs and valuations that differ from bids included."""
    optimum, _ = enumerate_optimum(instance)
    twin = verdicts(Menu(instance), optimum, rule, ghosts=ghosts, bids=(0, 3, 17, 2**40))
    case = _case(instance, f"pdftsp:payment={rule},units=given,updates={'all' if ghosts else 'admitted'}", optimum)
    checks = _checks(case, frozenset(twin))
    for key, said in twin.items():
        _agrees(checks[key], said, _factor(key, case))
    assert checks["theorem5"].failing == (failing_in_theorem5(Menu(instance)) if ghosts else None)
    assert all(check.failing is None for key, check in checks.items() if key != "theorem5")


@settings(max_examples=samples(150), deadline=None)
@given(
    instance=tiny_instances(max_slots=4),
    constants=st.tuples(*[st.sampled_from([None, Fraction(0), Fraction(1, 3), Fraction(90)])] * 2),
    slack=st.integers(0, 30),
)
def test_both_facts_of_theorem_5_are_those_of_their_definitions(
    instance: Instance, constants: tuple[Fraction | None, Fraction | None], slack: int
) -> None:
    """The comparison with both ends of an interval on OPT, whatever fails; the assumptions by listed schedules."""
    optimum, _ = enumerate_optimum(instance)
    own = largest_ratios(instance)
    options = [f"{name}={each}" for name, each in zip(("alpha", "beta"), constants, strict=True) if each is not None]
    used = tuple(one if each is None else each for each, one in zip(constants, own, strict=True))
    result = run(instance, f"pdftsp:{','.join([*options, 'units=given'])}")
    case = Case(instance, result, report_of(max(0, optimum - slack), optimum + slack))
    check = _checks(case, frozenset({"theorem5"}))["theorem5"]
    assert check.failing == failing_in_theorem5(Menu(instance), (used[0], used[1]))
    if check.right is None:
        assert (result.welfare, optimum) == (0, 0)
        right = Fraction(0)
    else:
        assert case.rho is not None
        assert check.right == case.rho * (1 + max(own))
        right = check.right * result.welfare
    lower, upper = max(0, optimum - slack, result.welfare), optimum + slack
    wanted = Verdict.HOLDS if upper <= right else Verdict.VIOLATED if lower > right else Verdict.UNDECIDED
    assert check.status is wanted


@settings(max_examples=samples(150), deadline=None)
@given(
    instance=tiny_instances(max_tasks=5),
    algorithm=st.sampled_from(["", ":units=canonical", ":units=canonical,updates=admitted", ":money=20", ":alpha=90"]),
)
def test_what_is_proved_is_never_violated(instance: Instance, algorithm: str) -> None:
    """Lemmas 1 and 2, the repaired forms, rationality of truthful bids, one drop per cell."""
    optimum, _ = enumerate_optimum(instance)
    proved = frozenset(claim.name for claim in PAPER if claim.standing is ProofStatus.PROVED)
    for check in _checks(_case(instance, f"pdftsp{algorithm}", optimum), proved).values():
        assert check.status in (Verdict.HOLDS, Verdict.NOT_APPLICABLE), check


@settings(max_examples=samples(60), deadline=None)
@given(instance=tiny_instances())
def test_the_witness_of_lemma_4_is_a_schedule_of_that_value(instance: Instance) -> None:
    """It covers the work, and its linear reduced cost at the final prices is the left side."""
    menu = Menu(instance)
    check = _checks(_case(instance, "pdftsp:units=given", 0), frozenset({"lemma4"}))["lemma4"]
    if check.witness is None:
        return
    after, i = algorithm1(menu), check.witness["task"]
    cells = tuple((k, t) for k, t in check.witness["schedule"])
    [row] = [row for row in menu.listed[i] if row[:2] == (check.witness["option"], cells)]
    assert net_cost(menu, i, row, after.lam, after.phi) == check.left
    assert check.left is not None
    assert check.left > Fraction(check.witness["mu"])


def test_a_tie_that_doubles_break_is_a_tie() -> None:
    """lambda = 1/3, phi = 2/3 after task 0: F = 4 - 2/3 - 10/3 = 0 of task 1, then and later; doubles say > 0."""
    lam, phi = Fraction(7, 3) * Fraction(1, 7), Fraction(7, 3) * Fraction(2, 7)
    assert 4 - 2 * lam - 5 * phi == 0 < 4 - (2 * float(lam) + 5 * float(phi))
    tasks = [{"memory_mb": r, "work": s, "rate": [s], "bid": bid} for r, s, bid in [(2, 1, 7), (5, 2, 4)]]
    instance = make_instance(1, [make_node(7, 7)], tasks)
    case = _case(instance, "pdftsp:alpha=1,beta=1,units=given", 7)
    assert case.trace is not None
    assert (case.trace.lam, case.trace.phi) == ({(0, 1): lam}, {(0, 1): phi})
    check = _checks(case, frozenset({"lemma4"}))["lemma4"]
    assert (check.status, check.left, check.right, check.figures["violated_6a"]) == (Verdict.HOLDS, 0, 0, 0)


@settings(max_examples=samples(40), deadline=None)
@given(instance=tiny_instances())
def test_a_run_in_doubles_never_contradicts_the_exact_one(instance: Instance) -> None:
    optimum, _ = enumerate_optimum(instance)
    exact = _checks(_case(instance, "pdftsp", optimum))
    rounded = _checks(_case(instance, "pdftsp:arith=float", optimum))
    for key, check in rounded.items():
        assert check.status in (exact[key].status, Verdict.UNDECIDED), (exact[key], check)


@pytest.mark.parametrize("search", ["exact", "printed"])
@settings(max_examples=samples(80), deadline=None)
@given(instance=tiny_instances())
def test_prices_that_move_on_admission_only_follow_the_literal_twin(search: str, instance: Instance) -> None:
    """updates=admitted: a task that does not fit moves no price."""
    result = run(instance, f"pdftsp:search={search},units=given,updates=admitted")
    assert isinstance(result.trace, PriceTrace)
    payments = [None if decision is None else decision.payment for decision in result.decisions]
    assert [
        (offer.value, offer.admitted, offer.cells, payment)
        for offer, payment in zip(result.trace.offers, payments, strict=True)
    ] == run_pdftsp(instance, search, ghosts=False)


def test_what_a_dropped_task_leaves_behind_costs_180_of_208() -> None:
    """dropped_duals_hurt_L10: 28 as printed, 208 when prices move on admission only."""
    instance = named("dropped_duals_hurt_L10")
    check = _checks(_case(instance, "pdftsp", 280), frozenset({"ghost_updates"}))["ghost_updates"]
    assert (check.status, check.left) == (Verdict.VIOLATED, 9)
    assert check.witness == {"task": 2, "tasks": list(range(2, 11))}
    assert (check.figures["welfare"], check.figures["welfare_admitted_only"]) == (28, 208)
    assert run(instance, "pdftsp:updates=admitted").welfare == 208
    assert int(expected("dropped_duals_hurt_L10")["alg_updates_on_admission_only"]) == 208


def test_claims_about_the_printed_updates_leave_other_updates_alone() -> None:
    """Lemma 3, Theorem 5 and the drops speak of line 7 as printed; Lemmas 1 and 2 hold either way."""
    checks = _checks(_case(named("lemma3_T2_two_tasks"), "pdftsp:updates=admitted", 8))
    for key in ("theorem5", "theorem5_repaired", "lemma3", "lemma3_repaired", "drops", "overflow", "ghost_updates"):
        assert checks[key].status is Verdict.NOT_APPLICABLE
        assert checks[key].reason.startswith("prices moved on admission only")
    assert {checks[key].status for key in ("lemma1", "lemma2", "lemma4_repaired")} == {Verdict.HOLDS}


def test_no_claim_about_pdftsp_is_checked_on_another_algorithm() -> None:
    instance = named("thm5_T5_3tasks")
    checks = audit(instance, run(instance, "greedy"), report_of(312))
    assert [check.name for check in checks][: len(PAPER)] == [claim.name for claim in PAPER]
    assert {check.reason for check in checks[: len(PAPER)]} == {"a claim about pdFTSP"}


def test_an_interval_on_opt_leaves_weak_duality_open() -> None:
    """lemma4_T2_D_below_OPT: D^I = 8 lies between the ends."""
    instance = named("lemma4_T2_D_below_OPT")
    weak = next(claim for claim in PAPER if claim.name == "weak_duality")
    result = run(instance, "pdftsp")
    statuses = [weak.check_run(Case(instance, result, report_of(*ends))).status for ends in ((2, 8), (8, 12), (9, 12))]
    assert statuses == [Verdict.HOLDS, Verdict.UNDECIDED, Verdict.VIOLATED]


@pytest.fixture(scope="module")
def surveyed(smaller: Named) -> list[Settled]:
    """All claims on the shipped instances without the largest one."""
    return survey(smaller)


def test_the_survey_names_the_smallest_witness_of_every_false_claim(smaller: Named, surveyed: list[Settled]) -> None:
    """Verdicts of the table, fewest tasks first."""
    assert len(smaller) == 21
    settled = {each.claim.name: each for each in surveyed}
    assert list(settled) == [claim.name for claim in PAPER]
    assert {name for name, each in settled.items() if each.witness is not None} == FALSE
    assert {name: settled[name].witness for name in ("theorem5", "lemma3", "lemma4", "weak_duality", "theorem3")} == {
        "theorem5": "thm5_T5_3tasks",
        "lemma3": "lemma3_T2_two_tasks",
        "lemma4": "lemma4_T2_two_tasks",
        "weak_duality": "thm5_T5_3tasks",
        "theorem3": "truth_alpha_underbid",
    }
    assert settled["theorem5"].verdict == "violated on 7 of 21"
    assert settled["lemma1"].verdict == "holds on 21 of 21"
    for each in settled.values():
        assert (each.check is not None) == (each.witness is not None)
        if each.check is not None:
            assert each.check.status is Verdict.VIOLATED


def test_the_table_of_the_page_is_the_survey(surveyed: list[Settled]) -> None:
    """Every claim stands there; witnesses and sides are those that the checks give."""
    text = (ROOT / "docs" / "theory" / "paper.md").read_text(encoding="utf-8")
    claims = text.partition("## Verdicts")[2].partition("\n## ")[0]
    rows = [line for line in claims.splitlines() if line.startswith("|")][2:]
    assert all(f"`{claim.name}`" in "".join(rows) for claim in PAPER)
    witnesses, proved = {}, {}
    for row in rows:
        _, claim, check, verdict, witness, _, _ = (part.strip() for part in row.split("|"))
        if check == "by proof":
            proved[claim.partition(":")[0]] = verdict
            continue
        assert verdict.startswith("false" if check.strip("`") in FALSE else "true"), row
        if shown := re.match(r"`(\w+)`: (\S+) > ([\d/]+)", witness):
            witnesses[check.strip("`")] = shown.groups()
    assert set(witnesses) == FALSE
    assert set(proved) == {"Theorem 1", "Theorem 2"}
    assert (proved["Theorem 1"][:5], proved["Theorem 2"][:6]) == ("true;", "false:")
    for each in surveyed:
        if each.check is not None:
            assert witnesses[each.claim.name] == (each.witness, str(each.check.left), str(each.check.right))


def test_two_theorems_are_settled_by_proof_and_have_no_check() -> None:
    said = {each.name: each.standing for each in THEORY.statements if each.proof}
    assert said == {"theorem1": "proved", "theorem2": "false"}
    assert [each.name for each in THEORY.statements][:2] == list(said)
    instance = named("thm5_T5_3tasks")
    result = run(instance, "greedy")
    assert not set(said) & {check.name for check in audit(instance, result, report_of(312))}
    assert audit(instance, result, report_of(312), said) == []


# Weights with values or costs
ITEMS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5)


def _one_slot(capacity: int, items: list[tuple[int, int]]) -> Instance:
    """The knapsack as problem (4): one node, one slot, memory for all."""
    tasks = [{"work": weight, "rate": [weight], "bid": value} for weight, value in items]
    return make_instance(1, [make_node(capacity, len(items))], tasks)


@settings(max_examples=samples(60), deadline=None)
@given(items=ITEMS, capacity=st.integers(1, 25))
def test_theorem_1s_problem_contains_the_knapsack(items: list[tuple[int, int]], capacity: int) -> None:
    """OPT of the instance is the best value of a set that fits."""
    sets = [[item for j, item in enumerate(items) if chosen >> j & 1] for chosen in range(1 << len(items))]
    best = max(sum(v for _, v in chosen) for chosen in sets if sum(w for w, _ in chosen) <= capacity)
    assert enumerate_optimum(_one_slot(capacity, items))[0] == best


@settings(max_examples=samples(60), deadline=None)
@given(items=ITEMS, data=st.data())
def test_theorem_2s_subproblem_contains_the_min_knapsack(items: list[tuple[int, int]], data: st.DataObject) -> None:
    """One task on n nodes in n slots, node j cheap in slot j alone: it pays the least cost of items that reach B."""
    n, demand = len(items), data.draw(st.integers(1, sum(w for w, _ in items)))
    dear = 1 + sum(c for _, c in items)
    cost = [[c if t == j else dear for t in range(n)] for j, (_, c) in enumerate(items)]
    task = {"work": demand, "rate": [w for w, _ in items], "bid": 1000, "cost": cost}
    instance = make_instance(n, [make_node(9, 1)] * n, [task])
    sets = [[item for j, item in enumerate(items) if chosen >> j & 1] for chosen in range(1 << n)]
    least = min(sum(c for _, c in chosen) for chosen in sets if sum(w for w, _ in chosen) >= demand)
    for search in ("exact", "printed"):
        assert run(instance, f"pdftsp:search={search}").welfare == 1000 - least


def test_two_tasks_never_violate_theorem_5() -> None:
    """As docs/theory/paper.md proves: OPT/ALG <= 1 + A (rho - 1) < bound. The witness of three is the smallest."""
    applied = 0
    for j in range(150):
        sketch = draw_start(RandomNumbers("two tasks", j), Bounds(2, 4, 2, 60, 0, vendors=True))
        instance = sketch_instance(raise_bids(sketch) if j % 4 else sketch)
        optimum, _ = enumerate_optimum(instance)
        for algorithm in ("pdftsp", "pdftsp:search=printed", "pdftsp:units=canonical"):
            case = _case(instance, algorithm, optimum)
            check = _checks(case, frozenset({"theorem5"}))["theorem5"]
            if check.status is Verdict.NOT_APPLICABLE or not optimum:
                continue
            applied += 1
            assert case.rho is not None
            assert optimum <= (1 + max(case.facts.alpha, case.facts.beta) * (case.rho - 1)) * case.run.welfare
            assert check.status is Verdict.HOLDS
    assert applied > 150
    about = json.loads(path("thm5_T5_3tasks").read_text(encoding="utf-8"))["origin"]["about"]
    text = (ROOT / "docs" / "theory" / "paper.md").read_text(encoding="utf-8")
    assert "three tasks, the fewest possible" in about
    assert "the three tasks of `thm5_T5_3tasks` are the fewest possible" in " ".join(text.split())


@pytest.mark.parametrize("algorithm", ["pdftsp:search=printed", "pdftsp:units=canonical"])
def test_what_cannot_be_followed_is_undecided_and_no_excuse(algorithm: str) -> None:
    """truth_alpha_underbid: task 1 gains by bidding 2 under both, which moves alpha; the claim does apply."""
    case = _case(named("truth_alpha_underbid"), algorithm, int(expected("truth_alpha_underbid")["opt"]))
    assert _checks(case, frozenset({"theorem3"}))["theorem3"].status in (Verdict.UNDECIDED, Verdict.VIOLATED)


def test_a_valuation_within_rounding_of_the_cost_proves_no_gain() -> None:
    """A task of valuation 7 and bid 100 costs 7, or a little less: fractions say 7 > c, doubles 7 = c."""
    task = {"deadline": 1, "memory_mb": 2, "work": 2, "bid": 4, "rate": [2]}
    data = make_document(
        2,
        [make_node(4, 4)],
        [
            task | {"memory_mb": 1},
            task | {"deadline": 2, "memory_mb": 2, "rate": [1], "bid": 100, "cost": [[3, 0]], "valuation": 7},
        ],
    )
    for alpha in ("2", "1.99999999999999999", "2.00000000000000001"):
        for valuation in range(5, 12):
            data["tasks"][1]["valuation"] = valuation  # type: ignore[index]
            instance = parse(data)
            exact, near = (
                _checks(_case(instance, f"pdftsp:alpha={alpha},beta=2,arith={arith}", 0), frozenset({name}))[name]
                for name in ("theorem3_fixed_constants",)
                for arith in ("exact", "float")
            )
            assert near.status in (exact.status, Verdict.UNDECIDED), (alpha, valuation, exact, near)


def test_an_entry_of_the_table_is_all_that_a_claim_needs() -> None:
    """Whom it is about and what it assumes are asked before its check; words and signs come from it."""
    about = ClaimScope("greedy", lambda run: run.algorithm == "greedy")
    claim = Claim(
        name="small", statement="ALG <= N", source="a test", standing=ProofStatus.FALSE, about=about,
        signs=(("N", "5"),), applies=lambda case: "" if case.instance.tasks == 3 else "three tasks only",
        check=lambda case: compare(case, case.run.welfare, 5, "ALG <= 5"),
        check_one=lambda case, task: compare(case, task, 5, "i <= 5"),
    )  # fmt: skip
    three, other = named("thm5_T5_3tasks"), named("lemma3_T2_two_tasks")
    greedy = Case(three, run(three, "greedy"), report_of(312))
    assert (claim.is_shown(greedy.run), claim.check_run(greedy).left) == (True, greedy.run.welfare)
    assert claim.check_bidder(greedy, 2).left == 2
    foreign = Case(three, run(three, "eft"), report_of(312))
    assert (claim.is_shown(foreign.run), claim.check_run(foreign).reason) == (False, "a claim about greedy")
    assert other.tasks != 3
    for check in (claim.check_run, lambda case: claim.check_bidder(case, 0)):
        found = check(Case(other, run(other, "greedy"), report_of(0)))
        assert (found.status, found.reason) == (Verdict.NOT_APPLICABLE, "three tasks only")
    assert (claim.name, claim.standing, claim.assumptions) == ("small", "false", "none")
    assert {sign for claim in CLAIMS for sign, _ in claim.signs} <= {sign for sign, _ in THEORY.notation}


def test_what_claims_share_of_a_run_is_made_once() -> None:
    made: list[int] = []

    def make(case: Case, more: int) -> int:
        made.append(more)
        return case.instance.tasks + more

    case = _case(named("thm5_T5_3tasks"), "pdftsp", 312)
    assert [case.share(make, 1), case.share(make, 1), case.share(make, 2)] == [4, 4, 5]
    assert Case(case.instance, case.run, case.reference).share(make, 1) == 4
    assert made == [1, 2, 1]


def test_what_is_kept_by_content_is_found_by_an_equal_instance_and_dropped_at_the_limit() -> None:
    """An equal instance read anew, further arguments, and more instances than are kept."""
    made: list[tuple[str, int]] = []

    @keep_by_content(content_hash, 2)
    def count(instance: Instance, more: int = 0) -> int:
        made.append((instance.name, more))
        return instance.tasks + more

    first, second = named("thm5_T5_3tasks"), named("lemma3_T2_two_tasks")
    again = parse(json.loads(path("thm5_T5_3tasks").read_text(encoding="utf-8")))
    assert [count(first), count(again), count(first, 1)] == [3, 3, 4]
    assert made == [(first.name, 0), (first.name, 1)]
    count(second)
    count(first)
    assert made[2:] == [(second.name, 0), (first.name, 0)]
