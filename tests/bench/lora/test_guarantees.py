"""Guarantees of the corrected mechanisms: where they hold, where they do not apply, and that the checks can fail."""

import importlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.guarantees import find_full_cells
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, document, parse
from ratiobench.instances.lora.named import named
from ratiobench.online.lora import public_constants
from ratiobench.online.lora.mechanism import Mechanism
from ratiobench.online.lora.registry import entries
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.lora.traces import LinearTrace, Rule
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run import run_built
from tests.support.laboratory import guarantees, report_of
from tests.support.literal import in_gigabytes
from tests.support.lora_documents import make_instance, make_node
from tests.support.mechanisms import (
    CANONICAL,
    MECHANISMS,
    cheapest_by_enumeration,
    decide_by_definition,
    roomy_instances,
)
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances


def _checks(instance: Instance, result: OnlineRun, optimum: int) -> dict[str, Check]:
    return {check.name: check for check in guarantees(instance, result, report_of(optimum))}


@settings(max_examples=samples(160))
@given(
    instance=roomy_instances(),
    name=st.sampled_from([*MECHANISMS, CANONICAL, "posted:room=ignored", "posted:growth=1/3"]),
)
def test_the_guarantees_hold_where_no_task_fills_a_node(instance: Instance, name: str) -> None:
    """Theorems A and C, C beforehand, and the certificate, against OPT by brute force; negative costs included."""
    optimum, _ = enumerate_optimum(instance)
    result = run(instance, name)
    assert result.valid, result.violations
    checks = _checks(instance, result, optimum)
    wanted = {"dual_certificate", "theorem_c", "theorem_c_a_priori"}
    if name.startswith("posted"):
        wanted.add("theorem_a")
    if name in ("minimal-edit", CANONICAL):
        wanted.add("theorem_b")
    assert set(checks) == wanted
    for check in checks.values():
        if public_constants.largest_share(instance) == 1:  # no task has a schedule
            continue
        if (name, check.name) == ("posted:room=ignored", "theorem_c_a_priori"):
            assert check.reason == "room was not looked at"
        elif name == "minimal-edit" and check.name == "theorem_b" and check.status is Verdict.NOT_APPLICABLE:
            assert check.reason.startswith("bbar >= 1 fails on an admitted schedule")
        else:
            assert check.status is Verdict.HOLDS, check
            assert check.left is not None
            assert check.right is not None
            assert check.left <= check.right
            assert optimum <= (check.left if check.name != "dual_certificate" else check.right)
    if name == "posted":
        constants = result.trace.constants
        figures = checks["theorem_a"].figures
        assert figures["spread_observed"] <= constants["spread"]
        assert figures["gamma"] <= figures["gamma_known_beforehand"]  # type: ignore[operator]


@settings(max_examples=samples(150))
@given(instance=roomy_instances(scale=20))
def test_theorem_b_holds_where_bids_are_large(instance: Instance) -> None:
    """bbar >= 1 on admitted schedules is then the rule; without the room test nothing overflows either."""
    optimum, _ = enumerate_optimum(instance)
    result = run(instance, "minimal-edit")
    check = _checks(instance, result, optimum)["theorem_b"]
    if public_constants.largest_share(instance) < 1 and (check.figures["bbar_min"] or 1) >= 1:  # type: ignore[operator]
        assert check.status is Verdict.HOLDS
        assert isinstance(result.trace, LinearTrace)
        untested = decide_by_definition(instance, replace(result.trace.rule, tested=False))
        assert [answer for _, answer in untested] == [
            None if decision is None else decision[:3] for decision in result.decisions
        ]


@settings(max_examples=samples(50))
@given(instance=roomy_instances())
def test_theorem_b_needs_no_luck_with_units(instance: Instance) -> None:
    """In canonical units bbar >= 1 on every schedule that can be admitted; the factor is 1 + U / (2^(1-eps) - 1)."""
    optimum, _ = enumerate_optimum(instance)
    result = run(instance, CANONICAL)
    if public_constants.largest_share(instance) == 1:  # no task has a schedule
        return
    check = _checks(instance, result, optimum)["theorem_b"]
    assert check.status is Verdict.HOLDS
    assert (check.figures["bbar_min"] or 1) >= 1  # type: ignore[operator]
    constants, gain = result.trace.constants, result.trace.rule.gain
    if constants["cap_compute"]:
        assert check.figures["gamma"] == 1 + constants["spread"] / gain
        assert check.figures["alpha"] == check.figures["beta"]


def test_canonical_units_with_too_small_a_spread_are_told() -> None:
    """U = 1/2 of what the admitted schedule needs: bbar is 1/2 and the theorem does not apply; U = 0 is an error."""
    instance = in_gigabytes(named("truth_overbid_e"))  # X = 8, the task of bid 8 has S = R = 1: (8 + 8) / 8 = 2
    data = document(instance)
    data["tasks"] = data["tasks"][2:]
    alone = parse(data)
    for spread, status in (("1", Verdict.NOT_APPLICABLE), ("2", Verdict.HOLDS)):
        check = _checks(alone, run(alone, f"{CANONICAL},spread={spread}"), 8)["theorem_b"]
        assert (check.status, check.figures["bbar_min"]) == (status, Fraction(spread) / 2)
    with pytest.raises(InputError, match="0 is not above 0"):
        run(alone, f"{CANONICAL},spread=0")


@settings(max_examples=samples(80))
@given(instance=roomy_instances())
def test_theorem_g_holds_for_greedy(instance: Instance) -> None:
    """OPT <= D(X on full cells) <= (1 + U/(1-eps)) ALG, recomputed from the loads."""
    optimum, _ = enumerate_optimum(instance)
    result = run(instance, "greedy")
    check = _checks(instance, result, optimum)["theorem_g"]
    share = public_constants.largest_share(instance)
    if share == 1:
        assert check.status is Verdict.NOT_APPLICABLE
        return
    assert check.status is Verdict.HOLDS
    assert check.left is not None
    assert optimum <= check.left
    observed = check.figures["spread_observed"]
    assert check.right == (1 + Fraction(observed or 0) / (1 - share)) * result.welfare


@pytest.mark.parametrize("name", [*MECHANISMS, CANONICAL])
@settings(max_examples=samples(30))
@given(instance=st.one_of(tiny_instances(), roomy_instances()))
def test_the_sides_of_theorem_c_are_the_enumerated_ones(name: str, instance: Instance) -> None:
    """Gamma' of the admitted schedules; Leak = what each task could still gain less what it gained when admitted."""
    result = run(instance, name)
    trace = result.trace
    assert isinstance(trace, LinearTrace)
    rule, public = trace.rule, instance.public("")
    kind = public.type_of_node.tolist()
    gamma, leak, leaking = Fraction(0), Fraction(0), 0
    for i, (cost, answer) in enumerate(decide_by_definition(instance, rule)):
        task = instance.task(i)
        best = cheapest_by_enumeration(task, public, dict(trace.lam), dict(trace.phi))  # type: ignore[arg-type]
        gained = Fraction(0)
        if answer is not None and cost is not None:
            gained = task.bid - cost
            option, cells, _ = answer
            work, use = sum(int(task.rate[kind[k]]) for k, _ in cells), task.memory_mb * len(cells)
            fee = 0 if option is None else task.vendors[option].price
            net = task.bid - fee - sum(int(task.cost[kind[k], t - 1]) for k, t in cells)
            moved = net / (rule.weights[0] * work + rule.weights[1] * use) if rule.by_bbar else Fraction(1)
            gamma = max(gamma, moved * (rule.eta_c * work + rule.eta_m * use) / net)
        could = Fraction(0) if best is None else max(Fraction(0), task.bid - best[0])
        leak += max(Fraction(0), could - gained)
        leaking += could > gained
    gamma += max(Fraction(1), rule.growth)
    check = _checks(instance, result, 0)["theorem_c"]
    assert (check.figures["gamma"], check.figures["leak"], check.figures["leaking_tasks"]) == (gamma, leak, leaking)
    assert check.right == gamma * result.welfare + leak


@pytest.mark.parametrize(("tasks", "full"), [(2, False), (3, False), (4, True)])
def test_a_cell_is_full_above_1_minus_eps_and_not_at_it(tasks: int, full: bool) -> None:
    """Tasks of 1 on a node of 4, eps = 1/4: 3 of 4 leave room for another; D has the price X = 8 from the fourth on."""
    data = document(named("truth_overbid_e"))
    data["tasks"] = [data["tasks"][2]] * tasks
    instance = parse(data)
    result = run(instance, "greedy")
    assert sum(decision is not None for decision in result.decisions) == tasks
    lam, phi = find_full_cells(instance, result, Fraction(8), Fraction(8), Fraction(1, 4))
    assert lam == phi == ({(0, 1): 8} if full else {})
    check = _checks(instance, result, 8 * tasks)["theorem_g"]
    # Full: 4 * 8 + 4 * 8 and no surplus; else every task's 8.
    assert (check.left, check.status) == (64 if full else 8 * tasks, Verdict.HOLDS)


def test_a_node_that_a_task_fills_takes_the_theorems_away() -> None:
    """eps = 1: not applicable with the reason; Theorem C, which needs no eps, is checked all the same."""
    instance = named("lemma4_T2_two_tasks")
    data = document(instance)
    data["node_types"][0]["compute"] = 1
    full = parse(data)
    for name, claim in (("posted", "theorem_a"), ("minimal-edit", "theorem_b"), ("greedy", "theorem_g")):
        result = run(full, name)
        check = _checks(full, result, enumerate_optimum(full)[0])[claim]
        assert (check.status, check.reason) == (
            Verdict.NOT_APPLICABLE,
            "eps < 1 fails: a task can fill a node's compute or memory",
        )
        if name != "greedy":
            assert _checks(full, result, enumerate_optimum(full)[0])["theorem_c"].status is Verdict.HOLDS


def test_constants_that_do_not_bound_are_named() -> None:
    """Too small a cap or share: not applicable, the constant and what the instance needs; larger ones hold."""
    instance = in_gigabytes(named("truth_overbid_e"))
    optimum, _ = enumerate_optimum(instance)
    cheap = ": full cells may be too cheap to keep tasks away"
    for given_, reason in (
        ("cap_compute=7", f"cap_compute is too small: 7 was used, this instance needs 8 (1.15 times as much){cheap}"),
        ("cap_memory=1", f"cap_memory is too small: 1 was used, this instance needs 8 (8 times as much){cheap}"),
        (
            "cap_compute=0,largest_share=1/8",
            "cap_compute is too small: 0 was used, this instance needs 8; "
            f"largest_share is too small: 0.125 was used, this instance needs 0.25 (2 times as much){cheap}",
        ),
        ("largest_share=1", "largest_share = 1 was used; below 1 is needed"),
    ):
        for name, claim in (("posted", "theorem_a"), ("minimal-edit", "theorem_b")):
            check = _checks(instance, run(instance, f"{name}:{given_}"), optimum)[claim]
            assert (check.status, check.reason) == (Verdict.NOT_APPLICABLE, reason)
    larger = run(instance, "posted:cap_compute=80,cap_memory=9,largest_share=1/3,spread=2")
    assert _checks(instance, larger, optimum)["theorem_a"].status is Verdict.HOLDS


def test_the_checks_can_fail() -> None:
    """Runs that are not what they say: each inequality is broken by what should break it."""
    instance = in_gigabytes(named("thm5_T4_4tasks_strict"))
    data = document(instance)
    data["node_types"][0]["compute"] = 8
    data["node_types"][0]["memory_mb"] = 40
    wide = parse(data)
    optimum, _ = enumerate_optimum(wide)
    result = run(wide, "posted")
    assert _checks(wide, result, optimum)["theorem_a"].status is Verdict.HOLDS
    poor = replace(result, welfare=0)
    for claim in ("theorem_a", "theorem_c_a_priori"):
        check = _checks(wide, poor, 0)[claim]
        assert check.status is Verdict.VIOLATED
        assert check.witness is not None
    below = _checks(wide, result, 10**9)
    assert {check.status for check in below.values()} == {Verdict.VIOLATED}
    assert below["dual_certificate"].witness == {
        "opt_lower": 10**9,
        "tau": str(below["dual_certificate"].figures["tau"]),
    }
    greedy = run(wide, "greedy")
    assert _checks(wide, replace(greedy, welfare=1), 1)["theorem_g"].status is Verdict.VIOLATED
    invalid = replace(result, valid=False)
    assert {check.reason for check in _checks(wide, invalid, 0).values()} == {"the run is not valid"}


@pytest.mark.parametrize("name", ["bbar-rule", "posted", CANONICAL])
@settings(max_examples=samples(60))
@given(scale=st.sampled_from([2**16, 2**20, 2**23]), bids=st.lists(st.integers(1, 30), min_size=1, max_size=4))
def test_a_run_in_doubles_violates_no_theorem_by_rounding(name: str, scale: int, bids: list[int]) -> None:
    """Much memory and small bids: prices near 2^-40, at which D was once computed next to them and found too large."""
    task = {"memory_mb": scale, "work": 2, "rate": [3]}
    tasks = [task | {"bid": bid, "memory_mb": scale // (1 + i)} for i, bid in enumerate(bids)]
    instance = make_instance(2, [make_node(7, scale)], tasks)
    optimum, _ = enumerate_optimum(instance)
    exact = _checks(instance, run(instance, f"{name}{',' if ':' in name else ':'}arith=exact"), optimum)
    rounded = _checks(instance, run(instance, f"{name}{',' if ':' in name else ':'}arith=float"), optimum)
    for key, check in rounded.items():
        assert check.status in (exact[key].status, Verdict.UNDECIDED), (exact[key], check)


def test_the_smallest_run_in_doubles_that_was_called_a_violation() -> None:
    """One task on a node of 128 GB, both sides equal: 422/43 by either arithmetic."""
    instance = make_instance(2, [make_node(7, 131072)], [{"memory_mb": 131072, "work": 2, "bid": 4, "rate": [3]}])
    exact = _checks(instance, run(instance, "bbar-rule:arith=exact"), 4)["theorem_c"]
    assert (exact.status, exact.left, exact.right) == (Verdict.HOLDS, Fraction(422, 43), Fraction(422, 43))
    assert _checks(instance, run(instance, "bbar-rule:arith=float"), 4)["theorem_c"].status is not Verdict.VIOLATED


def test_a_share_next_to_one_is_told_apart_from_one() -> None:
    """eps = 4999/5000 rounds up to 1 in the powers; the reason says so, and not that it is 1."""
    data = document(named("truth_overbid_e"))
    data["node_types"][0]["compute"] = 5000
    data["tasks"] = [data["tasks"][2] | {"rate": [4999], "work": 4999, "bid": 9000}]
    instance = parse(data)
    check = _checks(instance, run(instance, "minimal-edit"), 9000)["theorem_b"]
    assert check.reason == "largest_share = 4999/5000 is within 1/4096 of 1, and prices were made for 1/2"


def test_a_schedule_refused_for_want_of_room_is_found() -> None:
    """Two tasks of 3 on a node of 4 and prices that hardly move: the second has F' > 0 and no room."""
    data = document(named("truth_overbid_e"))
    data["tasks"] = [data["tasks"][0] | {"rate": [3], "work": 3, "bid": 9}] * 2
    instance = parse(data)
    rule = Rule(Fraction(1), Fraction(1, 1000), Fraction(1, 1000), by_bbar=False, gain=Fraction(1, 10))
    mechanism = Mechanism(
        "posted", (), lambda options, constants: rule, {"arith": "exact", "constants": "oracle", "room": "tested"}
    )
    result = run_built(ENVIRONMENT, instance, mechanism, "posted", "1", (), "")
    trace = result.trace
    assert isinstance(trace, LinearTrace)
    true = {name: getattr(public_constants, name)(instance) for name in ("cap_compute", "cap_memory", "largest_share")}
    trace.constants = true | {"spread": Fraction(100)}
    check = _checks(instance, result, 9)["theorem_a"]
    assert (check.status, check.reason) == (Verdict.VIOLATED, "a schedule with F' > 0 does not fit")
    assert check.witness is not None
    assert (check.witness["task"], check.witness["node"], check.witness["slot"]) == (1, 0, 1)


@pytest.mark.parametrize("name", MECHANISMS)
@settings(max_examples=samples(40))
@given(instance=roomy_instances())
def test_a_run_in_doubles_is_close_and_never_violated(name: str, instance: Instance) -> None:
    """The same decisions as in fractions, or a comparison within rounding; no check says violated."""
    optimum, _ = enumerate_optimum(instance)
    exact, floats = run(instance, name), run(instance, f"{name}:arith=float")
    assert floats.arithmetic == "float"
    assert {check.status for check in _checks(instance, floats, optimum).values()} <= {
        Verdict.HOLDS,
        Verdict.UNDECIDED,
        Verdict.NOT_APPLICABLE,
    }
    for one, other in zip(exact.trace.offers, floats.trace.offers, strict=True):
        if one.admitted != other.admitted:
            assert abs(one.value) < 1e-9 * (1 + int(instance.bid[one.task]))
            break
        if one.cells != other.cells:
            assert one.value == pytest.approx(other.value)
            break
        assert (one.value is None) == (other.value is None)
        assert one.value is None or float(one.value) == pytest.approx(other.value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("name", "claim"), [("posted", "theorem_a"), ("minimal-edit", "theorem_b")])
def test_a_margin_makes_up_for_constants_that_are_too_small(name: str, claim: str) -> None:
    """The rule is that of constants so many times as large; the guarantee applies from the factor that is needed on."""
    instance = in_gigabytes(named("truth_overbid_e"))
    optimum, _ = enumerate_optimum(instance)
    small = "cap_compute=4,cap_memory=5,largest_share=1/4" + (",spread=3" if name == "posted" else "")
    for margin, status in (("1", Verdict.NOT_APPLICABLE), ("1.99", Verdict.NOT_APPLICABLE), ("2", Verdict.HOLDS)):
        result = run(instance, f"{name}:{small},margin={margin}")
        assert _checks(instance, result, optimum)[claim].status is status
        w = Fraction(margin)
        large = f"cap_compute={4 * w},cap_memory={5 * w},largest_share=1/4" + (
            f",spread={3 * w}" if name == "posted" else ""
        )
        assert result.trace == run(instance, f"{name}:{large}").trace
        assert [constant.value for constant in result.constants][:2] == [4, 5]


def test_the_table_of_the_mechanisms_lists_each_with_its_theorem() -> None:
    """A row for every mechanism, with the theorem that its docstring states and the guarantee of its summary."""
    text = (Path(__file__).parents[3] / "docs" / "theory" / "mechanisms.md").read_text(encoding="utf-8")
    table = text.partition("## Setting")[0]
    rows = [[part.strip() for part in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    listed = {row[0].strip("`"): row[1] for row in rows[2:]}
    assert set(listed) == {*MECHANISMS, "greedy", "guarded"}
    for name, theorem in listed.items():
        module = importlib.import_module(f"ratiobench.online.lora.algorithms.{name.replace('-', '_')}")
        assert f"Claim (Theorem {theorem})" in (module.__doc__ or "")
        assert f"(Theorem {theorem})" in entries()[name].summary
        assert f"\n## Theorem {theorem} (" in text
