"""Theorem 5 and its repaired form: figures against enumeration and the shipped ones, verdicts at every edge."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.facts import find_facts
from ratiobench.bench.lora.theory.claims import audit
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.lora import Instance, document, parse, write
from ratiobench.instances.lora.named import expected, named, names
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import PriceTrace
from ratiobench.online.outcome import OnlineRun
from tests.support.laboratory import report_of
from tests.support.literal import schedules
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

KNOWN = tuple(name for name in names() if "alg" in expected(name))


def _audit(instance: Instance, algorithm: str, lower: int, upper: int | None = None) -> dict[str, Check]:
    return {check.name: check for check in audit(instance, run(instance, algorithm), report_of(lower, upper))}


def _trace(result: OnlineRun) -> PriceTrace:
    assert isinstance(result.trace, PriceTrace)
    return result.trace


@pytest.mark.parametrize("name", KNOWN)
def test_the_shipped_figures_come_out_exactly(name: str) -> None:
    """Run, figures and verdicts of every instance whose figures are known from two other implementations."""
    instance, wanted = named(name), expected(name)
    result = run(instance, "pdftsp")
    offers = _trace(result).offers
    checks = {check.name: check for check in audit(instance, result, report_of(int(wanted["opt"])))}
    theorem, repaired, part_a = (checks[key] for key in ("theorem5", "theorem5_repaired", "theorem5_repaired_a"))
    assert result.arithmetic == "exact"
    assert result.welfare == int(wanted["alg"])
    assert [i for i, decision in enumerate(result.decisions) if decision] == wanted["admitted"]
    assert [None if offer.value is None else str(offer.value) for offer in offers] == wanted["surplus"]
    assert [None if offer.payment is None else str(offer.payment) for offer in offers] == wanted["payment_14"]
    critical = _trace(run(instance, "pdftsp:payment=critical")).offers
    assert [None if o.payment is None else str(o.payment) for o in critical] == wanted["payment_b_minus_f"]
    for key in ("alpha", "beta", "kappa", "bbar_min", "bbar_max", "rho_minimal", "rho_observed", "bound"):
        found = theorem.figures[key]
        assert (None if found is None else str(found)) == wanted[key], key
    assert str(theorem.figures["ratio_upper"]) == wanted["ratio"]
    assert str(repaired.figures["rho_L"]) == wanted["rho_l"]
    assert str(repaired.right) == wanted["repaired_bound"]
    assert str(part_a.figures["almost_feasible_welfare"]) == wanted["p_tilde"]
    applicable = theorem.figures["basis"] == "minimal" and Fraction(wanted["bbar_min"]) >= 1
    if applicable:
        assert (theorem.status is Verdict.VIOLATED) == wanted["theorem5_violated"]
    assert theorem.status is not Verdict.UNDECIDED
    assert repaired.status in (Verdict.HOLDS, Verdict.NOT_APPLICABLE)
    assert part_a.status is Verdict.HOLDS
    charges = [None if each is None else math.ceil(Fraction(each)) for each in wanted["payment_14"]]
    assert [decision and decision.payment for decision in result.decisions] == charges
    assert str(_dual_objective(instance, _trace(result))) == wanted["d_printed"]


def _dual_objective(instance: Instance, trace: PriceTrace) -> Fraction:
    """D^I as printed: sum mu_i + sum C_kp lambda_kt + sum (C_km - r_b) phi_kt, mu_i = max(0, F)."""
    public = instance.public("")
    kind = public.type_of_node
    total = sum((max(Fraction(0), Fraction(o.value)) for o in trace.offers if o.value is not None), Fraction(0))
    total += sum(Fraction(price) * int(public.compute[kind[k]]) for (k, _), price in trace.lam.items())
    return total + sum(Fraction(price) * int(public.memory_mb[kind[k]]) for (k, _), price in trace.phi.items())


@pytest.mark.parametrize(
    ("name", "ratio", "bound"),
    [("thm5_T5_3tasks", "26", "49/2"), ("thm5_T4_4tasks_strict", "13", "12"), ("thm5_T2_drop_18tasks", "128", "102")],
)
def test_the_counterexamples_violate_theorem_5(name: str, ratio: str, bound: str) -> None:
    """With the exact sides in the check and a witness; the repaired bounds hold there."""
    checks = _audit(named(name), "pdftsp", int(expected(name)["opt"]))
    theorem = checks["theorem5"]
    assert (theorem.status, str(theorem.left), str(theorem.right)) == (Verdict.VIOLATED, ratio, bound)
    assert theorem.witness is not None
    assert {checks["theorem5_repaired"].status, checks["theorem5_repaired_a"].status} == {Verdict.HOLDS}
    assert theorem.document()["status"] == "violated"


def test_the_least_of_the_family_holds() -> None:
    """thm5_lead_L4: ratio 16 against 18."""
    theorem = _audit(named("thm5_lead_L4"), "pdftsp", 32)["theorem5"]
    assert (theorem.status, theorem.left, theorem.right) == (Verdict.HOLDS, 16, 18)


@pytest.mark.parametrize(
    ("lower", "upper", "status", "left"),
    [
        (200, 294, Verdict.HOLDS, Fraction(294, 12)),
        (294, 312, Verdict.UNDECIDED, 26),
        (12, 10**6, Verdict.UNDECIDED, Fraction(10**6, 12)),
        (295, 10**6, Verdict.VIOLATED, Fraction(295, 12)),
        (0, 100, Verdict.HOLDS, Fraction(100, 12)),
    ],
)
def test_an_interval_on_opt_decides_only_what_it_can(lower: int, upper: int, status: Verdict, left: Fraction) -> None:
    """thm5_T5_3tasks, ALG = 12: the bound is at 294; the run itself is a lower end of OPT."""
    theorem = _audit(named("thm5_T5_3tasks"), "pdftsp", lower, upper)["theorem5"]
    assert (theorem.status, theorem.left) == (status, left)
    assert (theorem.witness is None) == (status is not Verdict.VIOLATED)
    assert theorem.figures["opt_lower"] == max(lower, 12)
    assert theorem.figures["ratio_lower"] == Fraction(max(lower, 12), 12)


def test_money_scale_decides_the_welfare_of_the_printed_rule() -> None:
    """units_money_scale: four identical tasks that all fit; ALG/OPT = 1, 1, 1/2, 1/4 for money x 1/8, 1/2, 1, 10."""
    instance = named("units_money_scale")
    optimum, _ = enumerate_optimum(instance)
    found = [Fraction(run(instance, f"pdftsp:money={money}").welfare, optimum) for money in ("1/8", "1/2", "1", "10")]
    assert found == [1, 1, Fraction(1, 2), Fraction(1, 4)]


@settings(max_examples=samples(60))
@given(instance=tiny_instances(), scale=st.sampled_from([Fraction(1, 7), Fraction(3)]))
def test_the_unit_of_money_scales_alpha_beta_bbar_and_nothing_else(instance: Instance, scale: Fraction) -> None:
    """rho, kappa and the spread are free of units."""
    one, other = find_facts(instance, Fraction(1), Fraction(1)), find_facts(instance, scale, Fraction(1))
    for name in ("alpha", "beta", "bbar_min", "bbar_max"):
        assert getattr(other, name) == scale * getattr(one, name)
    assert (other.kappa, other.spread) == (one.kappa, one.spread)


def _facts_by_enumeration(instance: Instance, money: Fraction, memory: Fraction) -> dict[str, Any]:
    public = instance.public("")
    kind = public.type_of_node.tolist()
    nets: list[tuple[Fraction, int]] = []
    rates: set[int] = set()
    sizes: set[int] = set()
    minimal_kappa, every_kappa = [Fraction(0)], [Fraction(0)]
    negative = False
    for i in range(instance.tasks):
        task = instance.task(i)
        menu = list(schedules(task, public))
        if menu:
            # Every pair (i, k) with a usable cell counts, also where no schedule uses it.
            able = (task.rate > 0) & (task.rate <= public.compute) & (task.memory_mb <= public.memory_mb)
            rates |= set(task.rate[able].tolist())
            sizes.add(task.memory_mb)
            slots = slice(min(option.first for option in task.options) - 1, task.deadline)
            negative |= bool((task.cost[able, slots] < 0).any())
        for option, cells in menu:
            used = [int(task.rate[kind[k]]) for k, _ in cells]
            costs = [int(task.cost[kind[k], t - 1]) for k, t in cells]
            kappa = max(Fraction(len(cells)), Fraction(sum(used), min(used)))
            every_kappa.append(kappa)
            if sum(used) - min(used) < task.work:
                minimal_kappa.append(kappa)
                net = task.bid - task.options[option].price - sum(costs)
                nets.append((money * net / (sum(used) + memory * task.memory_mb * len(cells)), i))
    found: dict[str, Any] = {
        "kappa": max(every_kappa if negative else minimal_kappa),
        "negative": negative,
        "unprofitable": any(bar <= 0 for bar, _ in nets),
        "scheduled": len({i for _, i in nets}),
    }
    if nets:
        found |= {
            "bbar_min": min(nets)[0],
            "bbar_max": max(nets)[0],
            "s_min": min(rates),
            "s_max": max(rates),
            "r_min": memory * min(sizes),
            "r_max": memory * max(sizes),
        }
    return found


@settings(max_examples=samples(200))
@given(
    instance=tiny_instances(),
    money=st.sampled_from([Fraction(1), Fraction(2, 3)]),
    memory=st.sampled_from([Fraction(1), Fraction(7, 2)]),
)
def test_the_facts_of_an_instance_are_the_enumerated_ones(
    instance: Instance, money: Fraction, memory: Fraction
) -> None:
    """Over all schedules, one by one; kappa over wasteful covers too where a cost is negative."""
    known = find_facts(instance, money, memory)
    wanted = _facts_by_enumeration(instance, money, memory)
    for key, value in wanted.items():
        found = getattr(known, key)
        if key in ("negative", "unprofitable"):
            assert (found is not None) == value, key
        else:
            assert found == value, key
    if nets_known := "s_min" in wanted:
        assert known.spread == max(Fraction(wanted["s_max"], wanted["s_min"]), wanted["r_max"] / wanted["r_min"])
    assert nets_known == (known.scheduled > 0)
    bids = instance.bid.tolist()
    for found, sizes in ((known.alpha, instance.work), (known.beta * memory, instance.memory_mb)):
        assert found == money * max((Fraction(b, s) for b, s in zip(bids, sizes.tolist(), strict=True)), default=0)


@settings(max_examples=samples(150))
@given(
    instance=tiny_instances(max_tasks=5),
    algorithm=st.sampled_from(["", ":units=canonical", ":money=1/5", ":money=20", ":alpha=2,beta=1/2", ":alpha=90"]),
)
def test_the_repaired_bounds_are_never_violated(instance: Instance, algorithm: str) -> None:
    """5'(a) always, 5'(b) where it applies, against OPT by brute force; given constants count as they are used."""
    optimum, _ = enumerate_optimum(instance)
    checks = _audit(instance, f"pdftsp{algorithm}", optimum)
    part_a, repaired = checks["theorem5_repaired_a"], checks["theorem5_repaired"]
    known = find_facts(instance, Fraction(1), Fraction(1))
    if known.negative is not None:
        assert "costs >= 0" in (checks["theorem5"].failing or ())
        if known.scheduled:
            assert (repaired.status, repaired.reason) == (
                Verdict.NOT_APPLICABLE,
                f"negative cost (task {known.negative})",
            )
    if known.scheduled:
        assert part_a.status is Verdict.HOLDS
    else:
        assert (part_a.status, part_a.reason) == (Verdict.NOT_APPLICABLE, "no task has a schedule")
    assert repaired.status in (Verdict.HOLDS, Verdict.NOT_APPLICABLE)
    assert checks["theorem5"].status is not Verdict.UNDECIDED


@settings(max_examples=samples(150), suppress_health_check=[HealthCheck.filter_too_much])
@given(instance=tiny_instances(max_tasks=5))
def test_the_repaired_bound_applies_in_canonical_units(instance: Instance) -> None:
    """There the least bbar is 1: with costs >= 0 the claim must be decided, and hold."""
    known = find_facts(instance, Fraction(1), Fraction(1))
    assume(known.scheduled and known.negative is None and known.unprofitable is None)
    optimum, _ = enumerate_optimum(instance)
    checks = _audit(instance, "pdftsp:units=canonical", optimum)
    assert checks["theorem5_repaired"].status is Verdict.HOLDS
    assert checks["theorem5"].status in (Verdict.HOLDS, Verdict.VIOLATED)
    figures = checks["theorem5"].figures
    assert figures["alpha"] == figures["beta"]
    assert figures["bbar_min"] == 1
    assert figures["alpha"] == _least_v(instance)


def _least_v(instance: Instance) -> Fraction:
    """V = max over minimal schedules of (A0 S + B0 R) / b_il, A0 = max b/M, B0 = max b/r."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    a0 = max(Fraction(int(b), int(m)) for b, m in zip(instance.bid, instance.work, strict=True))
    b0 = max(Fraction(int(b), int(r)) for b, r in zip(instance.bid, instance.memory_mb, strict=True))
    values = []
    for i in range(instance.tasks):
        task = instance.task(i)
        for option, cells in schedules(task, public):
            used = [int(task.rate[kind[k]]) for k, _ in cells]
            if sum(used) - min(used) < task.work:
                cost = task.options[option].price + sum(int(task.cost[kind[k], t - 1]) for k, t in cells)
                values.append((a0 * sum(used) + b0 * task.memory_mb * len(cells)) / (task.bid - cost))
    return max(values)


def test_canonical_units_over_observed_schedules_are_labelled() -> None:
    """A minimal cover with b_il <= 0 leaves no unit: then the selected schedules decide, and the row says so."""
    data = document(named("thm5_T4_4tasks_strict"))
    plain = run(parse(data), "pdftsp:units=canonical")
    assert plain.label == "pdftsp:units=canonical"
    data["tasks"][1]["bid"] = 0
    loss = parse(data)
    result = run(loss, "pdftsp:units=canonical")
    assert result.label == "pdftsp:units=canonical (canonical-observed)"
    detail = {constant.name: constant.detail for constant in result.constants}
    assert detail["canonical_money"] == "canonical-observed"
    first = _trace(run(loss, "pdftsp")).offers
    memory = _trace(result).memory
    positive = [
        offer.net / (offer.work + memory * int(loss.memory_mb[offer.task]) * len(offer.cells))
        for offer in first
        if offer.value is not None and offer.value > 0
    ]
    assert _trace(result).money * min(positive) == 1


def test_a_negative_cost_leaves_part_a_alone() -> None:
    """K = T = 1, two tasks (1,1,1,2), the second with e = -100: F_2 = 98 > 0 on a full cell."""
    instance = make_instance(
        1, [make_node(1, 1000)], [{"memory_mb": 1000, "bid": 2, "cost": [[cost]]} for cost in (0, -100)]
    )
    result = run(instance, "pdftsp")
    assert [offer.value for offer in _trace(result).offers] == [2, 98]
    assert (result.admitted, result.counts) == (1, {"positive_f": 2, "dropped": 1})
    checks = _audit(instance, "pdftsp", 102)
    for name in ("lemma3", "theorem5_repaired"):
        assert (checks[name].status, checks[name].reason) == (Verdict.NOT_APPLICABLE, "negative cost (task 1)")
    assert (checks["theorem5"].status, checks["theorem5"].failing) == (Verdict.HOLDS, ["costs >= 0"])
    assert (checks["theorem5"].figures["bbar_min"], checks["theorem5"].figures["bbar_max"]) == (1, 51)
    assert checks["theorem5_repaired_a"].status is Verdict.HOLDS


def test_theorem_5_has_a_verdict_where_bbar_is_below_one() -> None:
    """As printed it has no assumption: the sides are compared, and the assumption of its proof that fails is named."""
    checks = _audit(named("thm5_T5_3tasks"), "pdftsp:money=1/2", 312)
    theorem = checks["theorem5"]
    assert (theorem.status, theorem.failing) == (Verdict.HOLDS, ["bbar >= 1"])
    assert theorem.reason.endswith(
        "; bbar >= 1 fails, which its proof assumes (the least bbar over minimal schedules is 0.5)"
    )
    for name in ("lemma3", "theorem5_repaired"):
        assert checks[name].status is Verdict.NOT_APPLICABLE
        assert (checks[name].failing, checks[name].reason[:15]) == (None, "bbar >= 1 fails")
    assert all(theorem.figures[key] is not None for key in ("alpha", "beta", "rho", "bound", "ratio_upper", "bbar_min"))
    assert theorem.right == theorem.figures["bound"]


def test_nothing_to_earn_is_a_ratio_of_one() -> None:
    """ALG = OPT = 0: the ratio is 1, rho is undefined and says so."""
    data = document(named("thm5_T5_3tasks"))
    for task in data["tasks"]:
        task["bid"] = 0
    checks = _audit(parse(data), "pdftsp", 0)
    theorem = checks["theorem5"]
    assert (theorem.status, theorem.failing) == (Verdict.HOLDS, [])
    assert "the bound is undefined, and the verdict is the same with any" in theorem.reason
    assert checks["lemma3"].reason == "rho undefined: task 0 has a minimal b_il <= 0, and no schedule has F > 0"
    assert (theorem.figures["ratio_lower"], theorem.figures["ratio_upper"]) == (1, 1)
    assert (theorem.figures["rho"], theorem.right) == (None, None)
    assert checks["theorem5_repaired"].status is Verdict.HOLDS


def test_a_run_that_earns_nothing_is_unbounded_or_undefined() -> None:
    """ALG <= 0 < lower: unbounded; ALG < 0 otherwise: no ratio, and the difference is shown."""
    instance = named("thm5_T5_3tasks")
    nothing = replace(run(instance, "greedy"), welfare=0)
    theorem = audit(instance, nothing, report_of(5, 9))[0]
    assert (theorem.status, theorem.reason) == (Verdict.NOT_APPLICABLE, "a claim about pdFTSP")
    assert theorem.figures["ratio_lower"] == theorem.figures["ratio_upper"] == "unbounded"
    loss = replace(nothing, welfare=-3)
    figures = audit(instance, loss, report_of(0, 0))[0].figures
    assert (figures["ratio_lower"], figures["opt_minus_welfare_lower"], figures["opt_minus_welfare_upper"]) == (
        None,
        3,
        3,
    )


def test_an_invalid_run_proves_nothing() -> None:
    instance = named("thm5_T5_3tasks")
    broken = replace(run(instance, "pdftsp"), valid=False)
    assert {check.reason for check in audit(instance, broken, report_of(312))} == {"the run is not valid"}


def test_constants_of_another_instance_are_an_assumption_that_fails(tmp_path: Any) -> None:
    """Given or prior alpha, beta: the bound of Theorem 5 has this instance's; 5'(b) needs them to be no smaller."""
    instance = named("thm5_T5_3tasks")
    write(named("thm5_lead_L10"), tmp_path / "prior.json")
    checks = _audit(instance, f"pdftsp:prior={tmp_path / 'prior.json'}", 312)
    both = ["alpha = max b/M", "beta = max b/r"]
    assert (checks["theorem5"].status, checks["theorem5"].failing) == (Verdict.VIOLATED, both)
    assert "alpha = max b/M fails, which its proof assumes (2 was used, 6 is)" in checks["theorem5"].reason
    assert checks["theorem5"].right == Fraction(49, 2)
    assert checks["lemma3"].reason == "alpha is not this instance's: 2 was used, 6 is"
    assert checks["theorem5_repaired"].status is Verdict.NOT_APPLICABLE
    assert checks["theorem5_repaired_a"].status is Verdict.HOLDS
    assert checks["theorem5"].figures["alpha_used"] == 2
    larger = _audit(instance, "pdftsp:alpha=100,beta=100", 312)
    assert larger["theorem5"].failing == both
    assert larger["theorem5_repaired"].status is Verdict.HOLDS
    same = _audit(instance, "pdftsp:alpha=6,beta=3/500", 312)
    assert (same["theorem5"].status, same["theorem5"].failing) == (Verdict.VIOLATED, [])


def test_the_printed_search_is_no_maximiser() -> None:
    """5' is proved for (9); Theorem 5 is claimed for the algorithm as printed, and is checked."""
    checks = _audit(named("thm5_T5_3tasks"), "pdftsp:search=printed", 312)
    assert checks["theorem5"].status is Verdict.VIOLATED
    for name in ("theorem5_repaired", "theorem5_repaired_a"):
        assert checks[name].reason == "the proof needs a maximiser of (9); search=printed is none"


@pytest.mark.parametrize("name", ["lemma4_T2_two_tasks", "lemma4_T2_D_below_OPT", "thm5_T5_3tasks"])
def test_a_float_run_with_f_near_zero_is_undecided(name: str) -> None:
    """F = 0 exactly, which doubles cannot be trusted with; exact arithmetic decides."""
    instance, optimum = named(name), int(expected(name)["opt"])
    checks = _audit(instance, "pdftsp:arith=float", optimum)
    certificate = checks.pop("dual_certificate")
    assert certificate.status is Verdict.HOLDS  # D is a bound whatever prices are left
    for check in checks.values():
        assert check.status is Verdict.UNDECIDED
        assert check.reason.startswith("float prices: F of task 1 is within rounding of 0")
        assert check.witness is None
    assert all(check.status is not Verdict.UNDECIDED for check in _audit(instance, "pdftsp", optimum).values())


def test_a_float_run_far_from_zero_is_decided() -> None:
    """thm5_T4_4tasks_strict: F = -5 for the long tasks."""
    checks = _audit(named("thm5_T4_4tasks_strict"), "pdftsp:arith=float", 65)
    assert checks["theorem5"].status is Verdict.VIOLATED
    assert checks["theorem5_repaired"].status is Verdict.HOLDS
