"""The corrected mechanisms: their search, payments and guarantees against enumeration, in fractions."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import online.lora
from bench.family.checks import Check, Verdict
from bench.lora.theory.basis.dual import TAUS, Dual, best_schedule, dual_of
from bench.lora.theory.guarantees import full_cells
from formulations.lora.models.enumerate import enumerate_optimum
from formulations.report import Proof, SolveReport, Status, Termination
from instances.errors import InputError
from instances.lora import Decision, Instance, content_hash, document, parse, write
from instances.lora.model import Public, Task
from instances.lora.named import expected, named, names
from online.lora import public_constants
from online.lora.algorithms import greedy
from online.lora.mechanism import ExactPrices, FloatPrices, Mechanism, Room
from online.lora.registry import REGISTRY, canonical, entries
from online.lora.registry import parse as parse_name
from online.lora.roots import gain_below, is_gain_below, share_above
from online.lora.run import play, run
from online.lora.traces import LinearTrace, PriceTrace, Rule
from online.outcome import OnlineRun, Source
from tests.support.laboratory import dual_value, guarantees, near_dual_value
from tests.support.literal import schedules
from tests.support.strategies import tiny_documents, tiny_instances

MECHANISMS = ("posted", "minimal-edit", "capped", "bbar-rule")
CANONICAL = "minimal-edit:units=canonical"
Prices = dict[tuple[int, int], Fraction]


@st.composite
def roomy_instances(draw: st.DrawFn, max_tasks: int = 5, scale: int = 1) -> Instance:
    """Tiny instances on nodes that no task can fill (eps < 1); bids times `scale`."""
    data = draw(tiny_documents(max_tasks))
    for node in data["node_types"]:
        node["compute"] = draw(st.integers(6, 12))
        node["memory_mb"] = data["base_memory_mb"] + draw(st.integers(8, 14))
    for task in data["tasks"]:
        task["bid"] *= scale
        task.pop("valuation", None)
    return parse(data, "<hypothesis>")


@st.composite
def priced_instances(draw: st.DrawFn) -> tuple[Instance, Prices, Prices]:
    """A tiny instance with prices in eighths on some cells: doubles hold all their sums exactly."""
    instance = draw(tiny_instances())
    cells = [(k, t) for k in range(instance.nodes) for t in range(1, instance.slots + 1)]
    table = st.dictionaries(st.sampled_from(cells), st.integers(1, 24).map(lambda n: Fraction(n, 8)))
    return instance, draw(table), draw(table)


def _report(lower: int, upper: int | None = None) -> SolveReport:
    upper = lower if upper is None else upper
    status = Status.OPTIMAL if lower == upper else Status.INTERVAL
    return SolveReport(status, lower, upper, None, Proof.ENUMERATION, "-", "none", Termination.NONE, False, 0.0)


def _checks(instance: Instance, result: OnlineRun, optimum: int) -> dict[str, Check]:
    return {check.name: check for check in guarantees(instance, result, _report(optimum))}


def _cost(task: Task, public: Public, option: int, cells: Any, lam: Prices, phi: Prices) -> Fraction:
    """c = q + sum (lambda s + phi r + e), term by term."""
    kind = public.type_of_node.tolist()
    total = Fraction(task.options[option].price)
    for k, t in cells:
        total += lam.get((k, t), Fraction(0)) * int(task.rate[kind[k]]) + int(task.cost[kind[k], t - 1])
        total += phi.get((k, t), Fraction(0)) * task.memory_mb
    return total


def _enumerated(
    task: Task, public: Public, lam: Prices, phi: Prices, fits: Any = None
) -> tuple[Fraction, int, tuple[tuple[int, int], ...]] | None:
    """The cheapest schedule with the project's ties: first option, fewest cells, smallest list of (slot, node)."""
    graded = [
        (_cost(task, public, option, cells, lam, phi), option, len(cells), [(t, k) for k, t in cells])
        for option, cells in schedules(task, public)
        if fits is None or all(fits(k, t) for k, t in cells)
    ]
    if not graded:
        return None
    cost, option, _, listed = min(graded)
    return cost, option, tuple((k, t) for t, k in listed)


_RULE = Rule(Fraction(1), Fraction(1), Fraction(1), by_bbar=False)


def _book(kind: type[ExactPrices] | type[FloatPrices], public: Public, lam: Prices, phi: Prices) -> Any:
    book = kind(public, _RULE)
    for (k, t), value in lam.items():
        book.lam[(k, t) if isinstance(book, ExactPrices) else (k, t - 1)] = value
    for (k, t), value in phi.items():
        book.phi[(k, t) if isinstance(book, ExactPrices) else (k, t - 1)] = value
    return book


@settings(max_examples=150)
@given(priced=priced_instances(), data=st.data())
def test_the_search_finds_the_schedule_that_enumeration_finds(
    priced: tuple[Instance, Prices, Prices], data: st.DataObject
) -> None:
    """In fractions and in doubles: cost, vendor, cells and ties, with and without room; negative costs included."""
    instance, lam, phi = priced
    public = instance.public("")
    kind = public.type_of_node
    shape = (instance.nodes, instance.slots)
    free = st.lists(st.integers(0, 6), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    compute, memory = (np.array(data.draw(free), dtype=np.int64).reshape(shape) for _ in range(2))
    compute = np.minimum(compute, public.compute[kind][:, None])
    memory = np.minimum(memory, public.memory_mb[kind][:, None])
    books = [_book(each, public, lam, phi) for each in (ExactPrices, FloatPrices)]
    for i in range(instance.tasks):
        task = instance.task(i)

        def fits(k: int, t: int) -> bool:
            rate = task.rate[kind[k]]  # noqa: B023
            return bool(rate <= compute[k, t - 1] and task.memory_mb <= memory[k, t - 1])  # noqa: B023

        for room, wanted in (
            (None, _enumerated(task, public, lam, phi)),
            (Room(compute, memory), _enumerated(task, public, lam, phi, fits)),
        ):
            for book in books:
                found = book.cheapest(task, room)
                assert (found is None) == (wanted is None)
                if found is not None and wanted is not None:
                    assert (found.cost, found.option, found.cells) == wanted
                    assert found.work == sum(int(task.rate[kind[k]]) for k, _ in found.cells)
                    assert found.energy == sum(int(task.cost[kind[k], t - 1]) for k, t in found.cells)


@settings(max_examples=150)
@given(priced=priced_instances())
def test_the_dual_is_the_enumerated_one_and_never_below_opt(priced: tuple[Instance, Prices, Prices]) -> None:
    """Term by term over all schedules; in 64 bits, in large integers and from doubles the same; OPT by brute force."""
    instance, lam, phi = priced
    public = instance.public("")
    kind = public.type_of_node
    value = sum((price * int(public.compute[kind[k]]) for (k, _), price in lam.items()), Fraction(0))
    value += sum((price * int(public.memory_mb[kind[k]]) for (k, _), price in phi.items()), Fraction(0))
    surplus = []
    for i in range(instance.tasks):
        task = instance.task(i)
        best = _enumerated(task, public, lam, phi)
        surplus.append(Fraction(0) if best is None else max(Fraction(0), task.bid - best[0]))
        found = best_schedule(task, public, lam, phi)
        assert (None if found is None else (found.cost, found.option, found.cells)) == best
    value += sum(surplus)
    priced_tasks = Dual(instance).exact(lam, phi)
    assert priced_tasks.value == value == dual_value(instance, lam, phi) == near_dual_value(instance, lam, phi)
    assert [Fraction(each, priced_tasks.unit) for each in priced_tasks.surplus] == surplus
    rows = [[[float(table.get((k, t), 0)) for t in range(1, instance.slots + 1)] for k in range(instance.nodes)]
            for table in (lam, phi)]  # fmt: skip
    assert near_dual_value(instance, *(np.array(table) for table in rows)) == value
    assert dual_value(instance, *rows) == value
    # A denominator that 64 bits do not hold.
    odd = Fraction(10**30 + 1, 10**30)
    assert dual_value(instance, *({c: odd * v for c, v in table.items()} for table in (lam, phi))) >= 0
    optimum, _ = enumerate_optimum(instance)
    assert value >= optimum
    dual = Dual(instance)
    assert dual.exact(dual.pooled(lam), dual.pooled(phi)).value <= value
    tau, rescaled = dual_of(instance).rescaled(lam, phi)
    tried = {t: dual_value(instance, *({c: t * v for c, v in table.items()} for table in (lam, phi))) for t in TAUS}
    assert rescaled == tried[tau] == min(tried.values()) >= optimum


@pytest.mark.parametrize(("price", "tau"), [(5, "3/2"), (10, "1"), (20, "1/2"), (40, "1/4"), (1280, "1/128"), (0, "0")])
def test_the_best_multiple_of_the_prices_is_found(price: int, tau: str) -> None:
    """Three tasks worth 10 on a cell for one of them: D = 30 - 2 tau price down to 10, where tau price = 10."""
    task = {
        "arrival": 1,
        "deadline": 1,
        "memory_mb": 1,
        "work": 1,
        "rate": [1],
        "bid": 10,
        "cost": [[0]],
        "vendors": [],
    }
    instance = parse(
        {
            "format": "ratiobench/lora/1", "name": "one cell", "slots": 1, "slot_seconds": 1, "base_memory_mb": 0,
            "node_types": [{"name": "a", "count": 1, "compute": 1, "memory_mb": 3, "tariff": [0]}],
            "tasks": [task] * 3,
        }
    )  # fmt: skip
    best = Fraction(tau)
    prices = {(0, 1): Fraction(price)} if price else {}
    assert dual_of(instance).rescaled(prices, {}) == (best, 30 - 2 * best * price)
    assert dual_of(instance).rescaled({}, prices)[1] == min(
        30, *(3 * t * price + 3 * max(0, 10 - t * price) for t in TAUS)
    )


@settings(max_examples=60)
@given(priced=priced_instances(), odd=st.integers(10**25, 10**26))
def test_prices_of_any_length_are_priced_exactly(priced: tuple[Instance, Prices, Prices], odd: int) -> None:
    """Over denominators of 26 digits: the exact value by enumeration; the near one within its rounding."""
    instance, lam, phi = priced
    lam, phi = ({c: v * Fraction(odd, odd + 7) for c, v in table.items()} for table in (lam, phi))
    public = instance.public("")
    kind = public.type_of_node
    value = sum((price * int(public.compute[kind[k]]) for (k, _), price in lam.items()), Fraction(0))
    value += sum((price * int(public.memory_mb[kind[k]]) for (k, _), price in phi.items()), Fraction(0))
    for i in range(instance.tasks):
        best = _enumerated(instance.task(i), public, lam, phi)
        value += 0 if best is None else max(Fraction(0), int(instance.bid[i]) - best[0])
    assert dual_value(instance, lam, phi) == value
    assert abs(near_dual_value(instance, lam, phi) - value) < Fraction(1, 10**6)


@pytest.mark.parametrize("name", [name for name in names() if "d_certificate" in expected(name)])
def test_the_shipped_certificates_come_out(name: str) -> None:
    """D at pdFTSP's final prices, as two other implementations have it."""
    trace = run(named(name), "pdftsp").trace
    assert isinstance(trace, PriceTrace)
    assert str(dual_value(named(name), trace.lam, trace.phi)) == expected(name)["d_certificate"]
    with pytest.raises(ValueError, match="a price of -1"):
        dual_value(named(name), {(0, 1): -1}, {})


def _literal(
    instance: Instance, rule: Rule, book: tuple[Prices, Prices] | None = None
) -> list[tuple[Fraction | None, tuple[int | None, Any, int] | None]]:
    """The mechanism written down over enumerated schedules: (c, answer) per task; final prices into `book`."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    lam, phi = book or ({}, {})
    load: dict[tuple[int, int], list[int]] = {}
    out: list[tuple[Fraction | None, tuple[int | None, Any, int] | None]] = []
    for i in range(instance.tasks):
        task = instance.task(i)

        def fits(k: int, t: int) -> bool:
            used = load.get((k, t), [0, 0])
            g = kind[k]
            return bool(
                used[0] + task.rate[g] <= public.compute[g]  # noqa: B023
                and used[1] + task.memory_mb <= public.memory_mb[g]  # noqa: B023
            )

        found = _enumerated(task, public, lam, phi, fits if rule.tested else None)
        if found is None or task.bid <= found[0]:
            out.append((None if found is None else found[0], None))
            continue
        cost, option, cells = found
        work = sum(int(task.rate[kind[k]]) for k, _ in cells)
        net = task.bid - task.options[option].price - sum(int(task.cost[kind[k], t - 1]) for k, t in cells)
        use = task.memory_mb * len(cells)
        v = net / (rule.weights[0] * work + rule.weights[1] * use) if rule.by_bbar else Fraction(1)
        for k, t in cells:
            d = Fraction(int(task.rate[kind[k]]), int(public.compute[kind[k]]))
            lam[k, t] = lam.get((k, t), Fraction(0)) * (1 + rule.growth * d) + rule.eta_c * v * d
            d = Fraction(task.memory_mb, int(public.memory_mb[kind[k]]))
            phi[k, t] = phi.get((k, t), Fraction(0)) * (1 + rule.growth * d) + rule.eta_m * v * d
            here = load.setdefault((k, t), [0, 0])
            here[0] += int(task.rate[kind[k]])
            here[1] += task.memory_mb
        out.append((cost, (option if task.vendors else None, cells, math.ceil(cost))))
    return out


@pytest.mark.parametrize("name", [*MECHANISMS, CANONICAL, "posted:room=ignored"])
@settings(max_examples=40)
@given(instance=st.one_of(tiny_instances(), roomy_instances(max_tasks=4)))
def test_a_mechanism_decides_as_its_definition_says(name: str, instance: Instance) -> None:
    """Schedule, vendor, charge and exact cost of every task, and all prices in the end, by enumerated schedules."""
    result = run(instance, name)
    trace = result.trace
    assert isinstance(trace, LinearTrace)
    assert (result.valid, result.arithmetic) == (True, "exact")
    book: tuple[Prices, Prices] = ({}, {})
    wanted = _literal(instance, trace.rule, book)
    assert [trace.lam, trace.phi] == [{cell: price for cell, price in part.items() if price} for part in book]
    for i, (cost, answer) in enumerate(wanted):
        offer, decision = trace.offers[i], result.decisions[i]
        assert offer.value == (None if cost is None else int(instance.bid[i]) - cost)
        assert (None if decision is None else tuple(decision)) == answer
        assert offer.payment == (cost if answer is not None else None)


@pytest.mark.parametrize("arith", ["exact", "float"])
def test_prices_grow_by_b_on_cells_that_are_used_again(arith: str) -> None:
    """B = 4, eta = 32/7, s = r = 1 of 4: eta/4 after one task, eta/4 (1 + 4/4) + eta/4 after two; not for 6."""
    data = document(named("truth_overbid_e"))
    data["tasks"] = [data["tasks"][2]] * 2 + [data["tasks"][2] | {"bid": 6}]
    trace = run(parse(data), f"posted:growth=4,arith={arith}").trace
    eta = trace.rule.eta_c
    assert (eta, trace.rule.eta_m) == (Fraction(32, 7), eta)
    assert [offer.admitted for offer in trace.offers] == [True, True, False]
    after = {(0, 1): pytest.approx(3 * eta / 4) if arith == "float" else 3 * eta / 4}
    assert (trace.lam, trace.phi) == (after, after)


def test_the_rules_are_the_theorems() -> None:
    """B, eta and G of each mechanism from its constants, on an instance where all are short."""
    instance = named("truth_overbid_e")  # s = r = 1, C = 4: eps = 1/4; bids 2, 6, 8
    posted, edit, capped, bbar = (_rule(instance, name) for name in ("posted:growth=4", *MECHANISMS[1:]))
    # G = (1 + 4/4)^3 - 1 = 7, X = 8.
    assert posted == Rule(Fraction(4), Fraction(32, 7), Fraction(32, 7), by_bbar=False, gain=Fraction(7))
    gain = edit.gain
    assert gain is not None
    assert (1 + gain) ** 4 <= 8 < (1 + gain + Fraction(1, 2**19)) ** 4
    assert edit == Rule(Fraction(1), 8 / gain, 8 / gain, by_bbar=True, gain=gain)
    # (1 + 2/4)^4 - 1 = 65/16, cut to 20 binary digits (it has 7); X' = 0.35 * 8.
    assert (capped.gain, capped.eta_c) == (Fraction(65, 16), 2 * Fraction("0.35") * 8 / Fraction(65, 16))
    # Medians 6 and 6; bbar of the cheapest schedules: 2/2, (6-3)/2, 8/2.
    step = 6 / Fraction(3, 2) / Fraction("1.72")
    assert bbar == Rule(Fraction(1), step, step, by_bbar=True)


def test_compute_and_memory_have_steps_of_their_own() -> None:
    """Each mechanism from constants that are given: what is about memory moves phi, what is about compute lambda."""
    instance = named("truth_overbid_e")
    # (1 + 2/2)^1 - 1 = 1; (1 + 3/2)^2 - 1 = 21/4.
    posted = _rule(instance, "posted:growth=2,cap_compute=3,cap_memory=5,largest_share=1/2,spread=9")
    assert (posted.eta_c, posted.eta_m) == (6, 10)
    edit = _rule(instance, "minimal-edit:cap_compute=3,cap_memory=5,largest_share=1/2")
    assert edit.gain is not None
    assert (edit.eta_c, edit.eta_m) == (3 / edit.gain, 5 / edit.gain)
    assert edit.weights == (1, 1)
    units = _rule(instance, f"{CANONICAL},cap_compute=3,cap_memory=5,largest_share=1/2,spread=30")
    assert units == replace(edit, weights=(Fraction(1, 10), Fraction(1, 6)))
    assert units.bbar(net=7, work=20, use=6) == Fraction(7, 3)
    capped = _rule(instance, "capped:growth=3,scale=1/7,alpha=3,memory_density=5,largest_share=1/2")
    assert (capped.eta_c, capped.eta_m) == (Fraction(9, 7) / Fraction(21, 4), Fraction(15, 7) / Fraction(21, 4))
    medians = "median_work_density=3,median_memory_density=5,median_bbar=2"
    bbar = _rule(instance, f"bbar-rule:divisor=7,{medians}")
    assert (bbar.eta_c, bbar.eta_m) == (Fraction(3, 14), Fraction(5, 14))


@pytest.mark.parametrize("doubles", [2**53, 0], ids=["in doubles", "in integers"])
def test_greedy_decides_as_its_definition_says(doubles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero prices for ever: the cheapest schedule with room, vendor and charge, by either kernel."""
    monkeypatch.setattr(greedy, "DOUBLES", doubles)
    free = Rule(Fraction(1), Fraction(0), Fraction(0), by_bbar=False)

    @settings(max_examples=60)
    @given(instance=st.one_of(tiny_instances(max_tasks=5), roomy_instances()))
    def decides(instance: Instance) -> None:
        wanted = [answer for _, answer in _literal(instance, free)]
        assert [d if d is None else tuple(d) for d in run(instance, "greedy").decisions] == wanted

    decides()


def test_greedy_in_integers_takes_the_first_node_with_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tasks that fill a node each, on three nodes alike; whole numbers are used where doubles are too short."""
    data = document(named("truth_overbid_e"))
    data["node_types"][0]["count"] = 3
    data["tasks"] = [data["tasks"][2] | {"rate": [4], "work": 4}] * 4
    asked = []
    integers = greedy.Greedy._in_integers
    monkeypatch.setattr(greedy.Greedy, "_in_integers", lambda *told: asked.append(told[1].index) or integers(*told))
    for doubles, by_integers in ((2**53, []), (0, [0, 1, 2, 3])):
        monkeypatch.setattr(greedy, "DOUBLES", doubles)
        decisions = run(parse(data), "greedy").decisions
        assert [d if d is None else d.cells for d in decisions] == [((k, 1),) for k in range(3)] + [None]
        assert asked == by_integers


def _rule(instance: Instance, name: str) -> Rule:
    trace = run(instance, name).trace
    assert isinstance(trace, LinearTrace)
    return trace.rule


@settings(max_examples=200)
@given(
    base=st.fractions(1, 60, max_denominator=300),
    share=st.fractions(Fraction(1, 500), 1, max_denominator=500),
    over=st.booleans(),
)
def test_real_powers_are_bounded_from_below_and_closely(base: Fraction, share: Fraction, over: bool) -> None:
    """G is below the power and within 2^-18 of it, proved in integers; shares are rounded up to 4096ths."""
    exponent = 1 / share if over else (1 - share) / share
    assume(exponent < 60)
    gain = gain_below(base, exponent)
    assert is_gain_below(gain, base, exponent)
    assert gain == 0 or not is_gain_below(gain * (1 + Fraction(1, 2**18)), base, exponent)
    assert (gain == 0) == (base == 1 or exponent == 0)
    assert share_above(share) == share
    odd = Fraction(10**6 - 1, 3 * 10**6)
    assert odd < share_above(odd) <= odd + Fraction(1, 4096)
    assert share_above(odd).denominator <= 4096


# ------------------------------------------------------------------------------------------------ guarantees


@settings(max_examples=160)
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


@settings(max_examples=150)
@given(instance=roomy_instances(scale=20))
def test_theorem_b_holds_where_bids_are_large(instance: Instance) -> None:
    """bbar >= 1 on admitted schedules is then the rule; without the room test nothing overflows either."""
    optimum, _ = enumerate_optimum(instance)
    result = run(instance, "minimal-edit")
    check = _checks(instance, result, optimum)["theorem_b"]
    if public_constants.largest_share(instance) < 1 and (check.figures["bbar_min"] or 1) >= 1:  # type: ignore[operator]
        assert check.status is Verdict.HOLDS
        assert isinstance(result.trace, LinearTrace)
        untested = _literal(instance, replace(result.trace.rule, tested=False))
        assert [answer for _, answer in untested] == [
            None if decision is None else tuple(decision) for decision in result.decisions
        ]


@settings(max_examples=100)
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
    instance = named("truth_overbid_e")  # X = 8, the task of bid 8 has S = R = 1: (8 + 8) / 8 = 2
    data = document(instance)
    data["tasks"] = data["tasks"][2:]
    alone = parse(data)
    for spread, status in (("1", Verdict.NOT_APPLICABLE), ("2", Verdict.HOLDS)):
        check = _checks(alone, run(alone, f"{CANONICAL},spread={spread}"), 8)["theorem_b"]
        assert (check.status, check.figures["bbar_min"]) == (status, Fraction(spread) / 2)
    with pytest.raises(InputError, match="0 is not above 0"):
        run(alone, f"{CANONICAL},spread=0")


@settings(max_examples=200)
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
@settings(max_examples=30)
@given(instance=st.one_of(tiny_instances(), roomy_instances()))
def test_the_sides_of_theorem_c_are_the_enumerated_ones(name: str, instance: Instance) -> None:
    """Gamma' of the admitted schedules; Leak = what each task could still gain less what it gained when admitted."""
    result = run(instance, name)
    trace = result.trace
    assert isinstance(trace, LinearTrace)
    rule, public = trace.rule, instance.public("")
    kind = public.type_of_node.tolist()
    gamma, leak, leaking = Fraction(0), Fraction(0), 0
    for i, (cost, answer) in enumerate(_literal(instance, rule)):
        task = instance.task(i)
        best = _enumerated(task, public, dict(trace.lam), dict(trace.phi))  # type: ignore[arg-type]
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
    lam, phi = full_cells(instance, result, Fraction(8), Fraction(8), Fraction(1, 4))
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
    instance = named("truth_overbid_e")
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
    instance = named("thm5_T4_4tasks_strict")
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
@settings(max_examples=60)
@given(scale=st.sampled_from([2**16, 2**20, 2**23]), bids=st.lists(st.integers(1, 30), min_size=1, max_size=4))
def test_a_run_in_doubles_violates_no_theorem_by_rounding(name: str, scale: int, bids: list[int]) -> None:
    """Much memory and small bids: prices near 2^-40, at which D was once computed next to them and found too large."""
    task = {"arrival": 1, "deadline": 2, "memory_mb": scale, "work": 2, "rate": [3], "vendors": [], "energy_wh": [0]}
    node = {"name": "a", "count": 1, "compute": 7, "memory_mb": scale, "tariff": [1, 1]}
    instance = parse(
        {
            "format": "ratiobench/lora/1", "name": "memory", "slots": 2, "slot_seconds": 1, "base_memory_mb": 0,
            "node_types": [node],
            "tasks": [task | {"bid": bid, "memory_mb": scale // (1 + i)} for i, bid in enumerate(bids)],
        }
    )  # fmt: skip
    optimum, _ = enumerate_optimum(instance)
    exact = _checks(instance, run(instance, f"{name}{',' if ':' in name else ':'}arith=exact"), optimum)
    rounded = _checks(instance, run(instance, f"{name}{',' if ':' in name else ':'}arith=float"), optimum)
    for key, check in rounded.items():
        assert check.status in (exact[key].status, Verdict.UNDECIDED), (exact[key], check)


def test_the_smallest_run_in_doubles_that_was_called_a_violation() -> None:
    """One task on a node of 128 GB, both sides equal: 422/43 by either arithmetic."""
    document_ = {
        "format": "ratiobench/lora/1", "name": "x", "slots": 2, "slot_seconds": 600, "base_memory_mb": 0,
        "node_types": [{"name": "g0", "count": 1, "compute": 7, "memory_mb": 131072, "tariff": [1, 1]}],
        "tasks": [{"arrival": 1, "deadline": 2, "memory_mb": 131072, "work": 2, "bid": 4, "rate": [3], "vendors": [],
                   "energy_wh": [0]}],
    }  # fmt: skip
    instance = parse(document_)
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
    result = play(instance, mechanism, "posted", "1", (), "")
    trace = result.trace
    assert isinstance(trace, LinearTrace)
    true = {name: getattr(public_constants, name)(instance) for name in ("cap_compute", "cap_memory", "largest_share")}
    trace.constants = true | {"spread": Fraction(100)}
    check = _checks(instance, result, 9)["theorem_a"]
    assert (check.status, check.reason) == (Verdict.VIOLATED, "a schedule with F' > 0 does not fit")
    assert check.witness is not None
    assert (check.witness["task"], check.witness["node"], check.witness["slot"]) == (1, 0, 1)


@pytest.mark.parametrize("name", MECHANISMS)
@settings(max_examples=40)
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


# ------------------------------------------------------------------------------------------------ truthfulness


def _with_bid(instance: Instance, i: int, bid: int) -> Instance:
    data = document(instance)
    data["tasks"][i]["bid"] = bid
    return parse(data)


def _fixed(original: Instance, name: str, instance: Instance) -> OnlineRun:
    """The run with the constants of the original: they are public."""
    spec = parse_name(name)
    assert spec.entry is not None
    mechanism = spec.entry.make(spec.entry.settle(dict(spec.options), original.tasks))
    constants = REGISTRY.settle_constants(spec, tuple(getattr(mechanism, "constants", ())), original)
    return play(instance, mechanism, name, "1", constants, content_hash(original))


@pytest.mark.parametrize("name", [*MECHANISMS, "greedy"])
@settings(max_examples=25)
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
@settings(max_examples=50)
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


def test_the_table_of_the_mechanisms_lists_each_with_its_theorem() -> None:
    """A row for every mechanism, with the theorem that its docstring states and the guarantee of its summary."""
    text = (Path(online.lora.__file__).parent / "README.md").read_text(encoding="utf-8")
    section = text.partition("## Mechanisms whose guarantees are true")[2].partition("\n## ")[0]
    rows = [[part.strip() for part in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    listed = {row[0].strip("`"): row[1] for row in rows[2:]}
    assert set(listed) == {*MECHANISMS, "greedy"}
    for name, theorem in listed.items():
        module = importlib.import_module(f"online.lora.algorithms.{name.replace('-', '_')}")
        assert f"Claim (Theorem {theorem})" in (module.__doc__ or "")
        assert f"(Theorem {theorem})" in entries()[name].summary
        assert f"**Theorem {theorem}**" in section


# ------------------------------------------------------------------------------------------------ public constants


@settings(max_examples=150)
@given(instance=tiny_instances())
def test_the_constants_bound_what_the_theorems_need(instance: Instance) -> None:
    """X_c, X_m, eps and U against all schedules of all tasks, one by one."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    cap_c, cap_m, share = [Fraction(0)], [Fraction(0)], [Fraction(0)]
    every: list[tuple[int, int, int]] = []
    for i in range(instance.tasks):
        task = instance.task(i)
        listed = list(schedules(task, public))
        if not listed:
            continue
        able = [
            g
            for g, node in enumerate(instance.node_types)
            if 0 < task.rate[g] <= node.compute and task.memory_mb + instance.base_memory_mb <= node.memory_mb
        ]
        slots = range(min(option.first for option in task.options), task.deadline + 1)
        credit = sum(max(0, -min(int(task.cost[g, t - 1]) for g in able)) for t in slots)
        cap_m.append(Fraction(task.bid + credit, task.memory_mb))
        for g in able:
            cap_c.append(Fraction(task.bid + credit, int(task.rate[g])))
            share += [
                Fraction(int(task.rate[g]), int(public.compute[g])),
                Fraction(task.memory_mb, int(public.memory_mb[g])),
            ]
        negative = min(int(task.cost[g, t - 1]) for g in able for t in slots) < 0
        for option, cells in listed:
            rates = [int(task.rate[kind[k]]) for k, _ in cells]
            cost = task.options[option].price + sum(int(task.cost[kind[k], t - 1]) for k, t in cells)
            if task.bid > cost and (negative or sum(rates) - min(rates) < task.work):
                every.append((sum(rates), task.memory_mb * len(cells), task.bid - cost))
    assert public_constants.cap_compute(instance) == max(cap_c)
    assert public_constants.cap_memory(instance) == max(cap_m)
    assert public_constants.largest_share(instance) == (max(share) or 1)
    assert all(
        (max(cap_c) * work + max(cap_m) * use) / net <= public_constants.spread(instance) for work, use, net in every
    )


def test_the_instance_under_test_is_refused_as_a_prior(tmp_path: Path) -> None:
    """By content: another name and file do not help. Another day's file gives the constants, and the row says so."""
    instance = named("truth_overbid_e")
    write(instance, tmp_path / "same.json")
    data = document(instance) | {"name": "another"}
    data["tasks"][0]["bid"] = 3
    write(parse(data), tmp_path / "other.json")
    for name in MECHANISMS:
        with pytest.raises(InputError, match="is the instance under test"):
            run(instance, f"{name}:prior={tmp_path / 'same.json'}")
        with pytest.raises(InputError, match="neither given nor taken from a prior"):
            run(instance, f"{name}:constants=public")
        with pytest.raises(InputError, match="is not one of oracle, public"):
            run(instance, f"{name}:constants=guess")
        with_prior = run(instance, f"{name}:constants=public,prior={tmp_path / 'other.json'}")
        assert {constant.source for constant in with_prior.constants} == {Source.PRIOR}
        assert "oracle" not in with_prior.label
        plain = run(instance, name)
        assert {constant.source for constant in plain.constants} == {Source.ORACLE}
        assert plain.label == f"{name} (oracle constants)"


def test_yesterday_is_the_instance_that_the_caller_hands_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same constants as from its file, told by its hash; no file is read, and `./yesterday` is one."""
    monkeypatch.chdir(tmp_path)
    instance, other = named("truth_overbid_e"), named("thm5_lead_L10")
    for name in (*MECHANISMS, "pdftsp", "tests.support.contestants:Declares"):
        text = f"{name}:prior=yesterday"
        result = run(instance, text, prior=other)
        assert result.algorithm == text
        write(other, tmp_path / "yesterday")
        from_file = run(instance, f"{name}:prior=./yesterday", prior=instance)
        (tmp_path / "yesterday").unlink()
        assert result.decisions == from_file.decisions
        assert [c.value for c in result.constants] == [c.value for c in from_file.constants]
        assert {c.source for c in result.constants} == {Source.PRIOR}
        assert {c.detail for c in result.constants} == {f"yesterday ({content_hash(other)[:12]})"}
        assert {c.detail for c in from_file.constants} == {"./yesterday"}
        assert canonical(text) == f"{text} version {result.version}"
        assert parse_name(text).name == text
    one = run(instance, "posted:cap_compute=9,prior=yesterday", prior=other).constants
    assert [c.source for c in one] == [Source.GIVEN] + [Source.PRIOR] * 3


@pytest.mark.parametrize("name", [*MECHANISMS, "pdftsp:alpha=1,beta=1", "tests.support.contestants:Declares"])
def test_yesterday_without_another_day_is_an_input_error(name: str) -> None:
    """Also where every constant is given; the instance under test is no other day."""
    instance = named("truth_overbid_e")
    head = name.removesuffix(":alpha=1,beta=1")
    text = f"{name}{',' if head != name else ':'}prior=yesterday"
    with pytest.raises(InputError) as caught:
        run(instance, text)
    assert (caught.value.source, caught.value.field) == ("algorithm", f"{head}:prior")
    assert caught.value.problem == "`yesterday` is the other day of a suite; name a file"
    same = parse(document(instance) | {"name": "another"})
    if name in MECHANISMS:
        with pytest.raises(InputError, match="yesterday is the instance under test"):
            run(instance, text, prior=same)
    else:
        assert {c.source for c in run(instance, text, prior=same).constants} <= {Source.ORACLE, Source.GIVEN}
    with pytest.raises(InputError, match="greedy declares no constants"):
        run(instance, "greedy:prior=yesterday", prior=named("thm5_lead_L10"))


@pytest.mark.parametrize(("name", "claim"), [("posted", "theorem_a"), ("minimal-edit", "theorem_b")])
def test_a_margin_makes_up_for_constants_that_are_too_small(name: str, claim: str) -> None:
    """The rule is that of constants so many times as large; the guarantee applies from the factor that is needed on."""
    instance = named("truth_overbid_e")
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


@pytest.mark.parametrize(
    "name",
    ["posted:margin=0.9", "minimal-edit:margin=0", "posted:margin=x",
     "posted:growth=0", "posted:growth=x", "posted:largest_share=0", "capped:growth=0", "capped:scale=-1",
     "bbar-rule:divisor=0", "bbar-rule:median_bbar=0", "minimal-edit:largest_share=0"],
)  # fmt: skip
def test_constants_that_make_no_prices_are_input_errors(name: str) -> None:
    """One line that names the option."""
    with pytest.raises(InputError) as caught:
        run(named("truth_overbid_e"), name)
    assert caught.value.field == name.split("=")[0]


def test_a_margin_is_said_beside_the_constants_that_it_widens() -> None:
    """What stands in the table is the constant; beside it how much larger it was used."""
    played = run(named("tiny_contention"), "posted:margin=3/2")
    told = {constant.name: constant.detail for constant in played.constants}
    assert all(told[name].endswith("used 3/2 times as large") for name in ("cap_compute", "cap_memory", "spread"))
    assert "times as large" not in told["largest_share"]
