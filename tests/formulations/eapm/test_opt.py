"""EAPM offline: solvers against brute force, exact bounds, exported models."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratiobench.formulations import backends, worker
from ratiobench.formulations.backends import BackendResult
from ratiobench.formulations.eapm import bounds, models, search
from ratiobench.formulations.eapm import verify as certificates
from ratiobench.formulations.eapm.aggregate import aggregate_users, split, totals_of
from ratiobench.formulations.eapm.check import check
from ratiobench.formulations.eapm.search import WAYS_LIMIT, enumerate_optimum, splits, ways
from ratiobench.formulations.eapm.solve import export, formulations, solve
from ratiobench.formulations.eapm.verify import Certificate, verify
from ratiobench.formulations.report import UNLIMITED, Proof, Status, Termination
from ratiobench.instances.eapm import Instance
from ratiobench.instances.eapm.generate import generate
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import Stream
from tests.support.documents import refusal_of
from tests.support.eapm_optimum import Document, literal_optimum, literal_rate, literal_solutions, made, small
from tests.support.samples import samples
from tests.support.strategies.eapm import placements, tiny_instances


@settings(max_examples=samples(60))
@given(st.data(), tiny_instances())
def test_the_check_computes_objective_4_of_any_valid_solution(data: st.DataObject, instance: Instance) -> None:
    solution = data.draw(placements(instance))
    report = check(instance, solution)
    assert report.valid
    assert report.value == literal_rate(instance, solution) == Fraction(report.profit, 1000 * report.makespan_ms)
    assert report.profit == sum(instance.price.tolist()) - report.energy_cost
    assert report.placed == instance.users


@settings(max_examples=samples(60))
@given(st.data(), tiny_instances())
def test_the_check_names_the_equation_that_a_spoiled_solution_breaks(data: st.DataObject, instance: Instance) -> None:
    solution: list[Any] = list(data.draw(placements(instance)))
    i = data.draw(st.integers(0, instance.users - 1))
    shares = solution[i]
    spoiled, equation = data.draw(
        st.sampled_from(
            [
                (None, "5"),
                ((shares[0] + 1, *shares[1:]), "5"),
                ((*shares, 0), "7"),
                ((), "7"),
                ((-1, *shares[1:]), "7"),
                ((True, *shares[1:]), "7"),
                ((0.5, *shares[1:]), "7"),
            ]
        )
    )
    solution[i] = spoiled
    report = check(instance, tuple(solution))
    assert not report.valid
    assert [(each.rule, each.task) for each in report.violations] == [(equation, i)]
    assert report.value is None
    assert report.placed == instance.users - 1


def test_the_check_counts_decisions() -> None:
    """One too few and one too many break (5)."""
    instance = made(1, 2, types=2, machines=2)
    problem = aggregate_users(instance)
    whole = split(problem, problem.place_on(problem.cost.argmin(axis=1)))
    for solution in (whole[:1], (*whole, whole[0])):
        report = check(instance, solution)
        assert [each.rule for each in report.violations] == ["5"]
        assert str(report.violations[0]).startswith("(5) ")


@settings(max_examples=samples(100))
@given(tiny_instances())
def test_enumeration_over_types_finds_what_looking_at_every_user_finds(instance: Instance) -> None:
    """Summing the users of a type loses nothing, and no solution is forgotten."""
    assume(np.prod([(a + 1) ** len(instance.machines) for a in instance.tasks.tolist()]) < 20_000)
    value, solution = enumerate_optimum(instance)
    assert value == literal_optimum(instance)
    assert check(instance, solution).value == value


def test_enumeration_refuses_what_is_too_large() -> None:
    instance = made(2, 60)
    assert ways(aggregate_users(instance)) > WAYS_LIMIT
    with pytest.raises(ValueError, match="more than"):
        enumerate_optimum(instance)
    report = solve(instance, "enumeration")
    assert "enumeration" in report.message
    assert report.status is Status.INTERVAL


def test_one_task_is_enumerated_on_as_many_machines_as_the_format_allows() -> None:
    """`auto` looks at all 1,000 ways, and the best machine is found."""
    stream = Stream("test_eapm_opt wide")
    etc, apc = stream.integers(1, 3000, 1000).tolist(), stream.integers(0, 9, 1000).tolist()
    price = 20_000
    kind = {"name": "t", "etc_ms": etc, "apc_mw": apc}
    instance = small([kind], [{"type": 0, "tasks": 1, "price": price}], [f"m{j}" for j in range(1000)])
    best = max(Fraction(price - t * w, 1000 * t) for t, w in zip(etc, apc, strict=True))
    report = solve(instance)
    assert (report.formulation, report.status, report.message) == ("enumeration", Status.OPTIMAL, "")
    assert report.lower == best == report.upper


@pytest.mark.parametrize("types", [64, 65, 10_000])
def test_any_number_of_types_on_one_machine_is_enumerated(types: int) -> None:
    kinds = [{"name": f"t{k}", "etc_ms": [k + 1], "apc_mw": [1]} for k in range(types)]
    instance = small(kinds, [{"type": k, "tasks": 2, "price": 3 * k + 3} for k in range(types)], ["m"])
    value, solution = enumerate_optimum(instance)
    assert solution == ((2,),) * types
    assert value == literal_rate(instance, solution)
    report = solve(instance)
    assert (report.formulation, report.status, report.message) == ("enumeration", Status.OPTIMAL, "")
    assert report.proof is Proof.ENUMERATION
    assert report.upper == value


def test_enumeration_refuses_tables_that_no_memory_holds() -> None:
    """Two tasks on 774 machines are few ways, but of 774 numbers each."""
    machines = 774
    kind = {"name": "t", "etc_ms": [1] * machines, "apc_mw": [1] * machines}
    instance = small([kind], [{"type": 0, "tasks": 2, "price": 9}], [f"m{j}" for j in range(machines)])
    assert ways(aggregate_users(instance)) <= WAYS_LIMIT
    with pytest.raises(ValueError, match="more than"):
        enumerate_optimum(instance)


@pytest.mark.parametrize(("tasks", "machines"), [(0, 3), (7, 1), (2**40, 1), (1, 5), (4, 3), (3, 4)])
def test_splits_are_all_ordered_sums_once_and_in_order(tasks: int, machines: int) -> None:
    """As many as there are, none twice, the first machine's share slowest."""
    found = [tuple(row) for row in splits(tasks, machines).tolist()]
    assert found == sorted(set(found))
    assert all(sum(row) == tasks and min(row) >= 0 and len(row) == machines for row in found)
    assert len(found) == math.comb(tasks + machines - 1, machines - 1)


@settings(max_examples=samples(200))
@given(tiny_instances())
def test_dinkelbach_equals_brute_force(instance: Instance) -> None:
    """OPT of random tiny instances, proved, attained, and the certificate's bound is not below it."""
    optimum = enumerate_optimum(instance)[0]
    report = solve(instance, "dinkelbach")
    assert report.lower == optimum == report.upper, report.message
    assert report.status is Status.OPTIMAL
    assert check(instance, report.solution).value == optimum
    assert isinstance(report.certificate, Certificate)
    assert report.certificate.upper >= optimum
    assert verify(instance, certificates.document(report.certificate)).valid
    assert not report.message


@settings(max_examples=samples(60))
@given(tiny_instances(), st.sampled_from(["auto", "charnes-cooper", "enumeration"]), st.booleans())
def test_every_other_formulation_holds_the_optimum_in_its_interval(
    instance: Instance, formulation: str, certified: bool
) -> None:
    """With and without being asked for the best prices; `auto` and `enumeration` are exact here."""
    optimum = enumerate_optimum(instance)[0]
    report = solve(instance, formulation, certified=certified)
    assert report.lower <= optimum <= report.upper
    if formulation != "charnes-cooper":
        assert report.lower == report.upper
    assert check(instance, report.solution).value == report.lower
    assert isinstance(report.certificate, Certificate)
    assert verify(instance, certificates.document(report.certificate)).valid


@settings(max_examples=samples(12))
@given(tiny_instances())
def test_cbc_agrees_with_brute_force(instance: Instance) -> None:
    assume(aggregate_users(instance).surplus > 0)
    optimum = enumerate_optimum(instance)[0]
    report = solve(instance, "dinkelbach", "cbc")
    assert report.lower == optimum
    assert report.upper >= optimum


@settings(max_examples=samples(100))
@given(tiny_instances(max_users=2))
def test_the_closed_form_is_the_optimum_where_everything_loses(instance: Instance) -> None:
    """No price pays for the energy: prices of 0 and energy that costs."""
    instance = replace(instance, price=np.zeros_like(instance.price), energy_price=1, cache={})
    problem = aggregate_users(instance)
    assume(problem.surplus < 0)
    totals, bound = bounds.best_loss(problem)
    assert bound.upper == problem.value(totals) == literal_optimum(instance) < 0
    assert solve(instance, "charnes-cooper").backend == "none"


@settings(max_examples=samples(100))
@given(st.data(), tiny_instances())
def test_the_priced_bound_is_the_least_of_its_direction_and_holds(data: st.DataObject, instance: Instance) -> None:
    """D(t w) = P exactly, and OPT is not above; the bound of equal prices is one of them."""
    problem = aggregate_users(instance)
    assume(problem.surplus > 0)
    machines = len(instance.machines)
    direction = data.draw(st.lists(st.integers(1, 50), min_size=machines, max_size=machines))
    t = bounds.least_multiple(problem, direction)

    def priced(multiple: Fraction) -> Fraction:
        return sum(
            (
                a * min(c + multiple * w * e for c, e, w in zip(cost, etc, direction, strict=True))
                for a, cost, etc in zip(*(x.tolist() for x in (problem.tasks, problem.cost, problem.etc)), strict=True)
            ),
            Fraction(0),
        )

    assert priced(t) == problem.price
    assert priced(t * Fraction(10**12 - 1, 10**12)) < problem.price
    optimum = enumerate_optimum(instance)[0]
    assert bounds.price_bound(problem, direction).upper == t * sum(direction) / 1000 >= optimum
    assert bounds.trivial_bound(problem).upper >= optimum


@settings(max_examples=samples(60))
@given(st.data(), tiny_instances(max_users=2))
def test_no_solution_that_reaches_a_rate_is_shorter_than_the_bound_on_its_makespan(
    data: st.DataObject, instance: Instance
) -> None:
    machines = len(instance.machines)
    rates = [(literal_rate(instance, each), check(instance, each).makespan_ms) for each in literal_solutions(instance)]
    positive = sorted(rate for rate, _ in rates if rate > 0)
    assume(positive)
    rate = data.draw(st.sampled_from(positive))
    direction = data.draw(st.lists(st.integers(1, 50), min_size=machines, max_size=machines))
    bound = bounds.shortest_makespan(aggregate_users(instance), direction, 1000 * rate)
    assert 1 <= bound <= min(makespan for other, makespan in rates if other >= rate)


def test_large_prices_are_rounded_up_and_still_prove_the_bound() -> None:
    """Where exact prices do not fit the limit, the rounded ones cost next to nothing."""
    problem = aggregate_users(made(3, 60))
    direction = [2**50 + 7 * j for j in range(9)]
    exact = bounds.least_multiple(problem, direction) * sum(direction) / 1000
    bound = bounds.price_bound(problem, direction)
    assert max(*bound.prices, bound.scale) <= bounds.PRICE_LIMIT
    assert exact <= bound.upper <= exact * (1 + Fraction(1, 10**12))


@settings(max_examples=samples(40))
@given(st.data(), tiny_instances(max_users=5, max_tasks=6))
def test_totals_split_into_whole_bags_and_back(data: st.DataObject, instance: Instance) -> None:
    problem, solution = aggregate_users(instance), data.draw(placements(instance))
    totals = totals_of(problem, solution)
    again = split(problem, totals)
    assert (totals_of(problem, again) == totals).all()
    assert check(instance, again).value == check(instance, solution).value == problem.value(totals)


@settings(max_examples=samples(40))
@given(st.data(), tiny_instances(max_users=5, max_tasks=6))
def test_a_descent_keeps_the_totals_whole_and_never_loses(data: st.DataObject, instance: Instance) -> None:
    problem = aggregate_users(instance)
    totals = totals_of(problem, data.draw(placements(instance)))
    after = search.descend(problem, totals)
    assert (after.sum(axis=1) == problem.tasks).all()
    assert after.min() >= 0
    assert problem.value(after) >= problem.value(totals)


@pytest.mark.parametrize("gamma", ["1.05", "1.5"])
@pytest.mark.parametrize("users", [30, 2000])
def test_thirty_types_and_nine_machines_close_to_a_ten_thousandth(users: int, gamma: str) -> None:
    """Whatever the number of users, with a certificate of the priced bound that is as close."""
    instance = generate({"kind": "users", "users": users, "gamma": gamma, "seed": 4})
    report = solve(instance, effort=4, gap=1e-4)
    assert report.lower > 0
    assert report.upper - report.lower <= report.upper / 10_000
    assert check(instance, report.solution).value == report.lower
    assert isinstance(report.certificate, Certificate)
    assert report.certificate.upper - report.lower <= report.upper / 5_000
    assert verify(instance, certificates.document(report.certificate)).valid
    assert not report.time_limited


def test_without_a_solver_the_interval_is_within_a_twentieth() -> None:
    """Prices by weights: far better than equal prices and simple rules; no solver is started or named."""
    for gamma in ("1.1", "1.5"):
        instance = generate({"kind": "users", "users": 200, "gamma": gamma, "seed": 5})
        report, close = solve(instance, backend="none"), solve(instance, "charnes-cooper")
        assert (report.backend, report.termination, report.proof) == ("none", Termination.NONE, Proof.LAGRANGIAN)
        assert report.upper - report.lower <= report.upper / 20
        assert report.lower <= close.upper
        assert close.lower <= report.upper <= close.upper * Fraction(101, 100)


def test_a_limit_in_seconds_is_said() -> None:
    """The interval is as true as any; that it may differ elsewhere is marked."""
    instance = made(4, 30)
    report = solve(instance, seconds=0.5, effort=UNLIMITED)
    assert report.time_limited
    assert 0 < report.lower < report.upper


def test_the_exact_bound_is_the_linear_program_s_optimum() -> None:
    """Within 1e-9: against HiGHS's own value of the exported relaxation's model."""
    instance = made(5, 200)
    problem = aggregate_users(instance)
    relaxed = backends.solve("highs", models.charnes_cooper(problem, plain=True)).bound
    report = solve(instance, "charnes-cooper")
    assert report.proof is Proof.LAGRANGIAN
    assert float(report.upper) == pytest.approx(relaxed, rel=1e-9)
    assert report.upper < bounds.trivial_bound(problem).upper


def test_more_effort_never_widens_the_interval() -> None:
    """Both ends, on an instance that one unit leaves open, and the same again for the same effort."""
    instance = made(6, 12, types=6, machines=4)
    reports = [solve(instance, "dinkelbach", effort=effort) for effort in (1, 2, 3)]
    for less, more in itertools.pairwise(reports):
        assert more.lower >= less.lower
        assert more.upper <= less.upper
    assert reports[0].lower < reports[0].upper
    again = solve(instance, "dinkelbach", effort=2)
    assert (again.lower, again.upper, again.solution) == (reports[1].lower, reports[1].upper, reports[1].solution)


def test_a_start_is_used_where_it_is_better_and_told_where_it_is_wrong() -> None:
    """An optimal start stands; one that leaves tasks out is dropped with the equation it breaks."""
    instance = made(7, 30)
    best = solve(instance, "charnes-cooper")
    # Without a solver it is not found.
    assert solve(instance, backend="none").lower < best.lower
    assert solve(instance, backend="none", start=best.solution).lower == best.lower
    broken = (tuple(0 for _ in instance.machines), *best.solution[1:])
    assert "(5) user 0" in solve(instance, backend="none", start=broken).message


def test_a_backend_that_fails_or_lies_leaves_a_true_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash, nonsense values, and a bound below what is attained."""
    instance = made(8, 12, types=6, machines=4)
    best = solve(instance, "dinkelbach")
    monkeypatch.setattr(search, "MOVES_LIMIT", 500)  # from values that are far off a descent takes all that it may
    for values, bound, end in (
        (None, None, Termination.CRASH),
        (1e7, 1e9, Termination.OPTIMAL),
        (-3.0, -1e9, Termination.OPTIMAL),
        (0.4, None, Termination.LIMIT),
    ):

        def answer(*call: Any, v: float | None = values, b: float | None = bound, t: Any = end) -> BackendResult:
            n = len(call[1].columns)
            return BackendResult(t, None if v is None else np.full(n, v), b)

        monkeypatch.setattr(backends, "solve", answer)
        report = solve(instance, "dinkelbach")
        assert check(instance, report.solution).value == report.lower <= best.upper
        if bound != -1e9:
            assert report.upper >= best.lower


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"formulation": "tight"}, "formulation"),
        ({"backend": "cplex"}, "backend"),
        ({"formulation": "charnes-cooper", "backend": "cbc"}, "backend"),
        ({"formulation": "dinkelbach", "backend": "none"}, "backend"),
        ({"formulation": "enumeration", "backend": "highs"}, "backend"),
        ({"effort": 0}, "effort"),
        ({"effort": True}, "effort"),
        ({"gap": 1.0}, "gap"),
        ({"seconds": 0.0}, "seconds"),
    ],
)
def test_settings_that_do_not_exist_or_go_together_are_input_errors(arguments: Document, field: str) -> None:
    assert refusal_of(solve, made(1, 2, types=2, machines=2), **arguments).startswith(f"{field}: ")


def test_every_formulation_is_listed_and_can_be_asked_for() -> None:
    instance = made(1, 1, types=1, machines=2)
    names = [name for name, _ in formulations()]
    assert names == ["dinkelbach", "charnes-cooper", "enumeration", "auto"]
    assert len({solve(instance, name).lower for name in names[2:]}) == 1


def optimum_read(reader: str, path: Path) -> float:
    """The optimum of the file as the reader prints it, as a maximum."""
    reply = worker.worker(reader).call(f"ratiobench.formulations.backends.{reader}:optimum_of_file", str(path))
    assert reply.termination is None, reply.message
    value: float = reply.value[0]
    return value if path.suffix == ".lp" else -value


@pytest.mark.parametrize("kind", ["mps", "lp"])
@pytest.mark.parametrize("reader", ["highs", "cbc"])
def test_exported_models_read_back_have_our_optimum(kind: str, reader: str, tmp_path: Path) -> None:
    """The relaxation's is the certified bound; the fixed-rate program's is 0 at OPT, of either sign of OPT."""
    path = tmp_path / f"model.{kind}"
    for gamma in (130, 80):
        instance = made(9, 3, types=3, machines=3, gamma=gamma)
        if reader == "highs":  # `optimum_of_file` reads what CBC says of integer programs
            path.write_text(export(instance, kind, "charnes-cooper"))
            upper = float(solve(instance, "charnes-cooper").upper)
            assert optimum_read(reader, path) == pytest.approx(max(0.0, upper), rel=1e-6, abs=1e-9)
        path.write_text(export(instance, kind))
        report = solve(instance, "dinkelbach")
        scale = sum(instance.price.tolist()) / 1e6
        # What a better rate could still be worth over the makespan.
        room = float(report.upper - report.lower) * check(instance, report.solution).makespan_ms / 1000
        assert -1e-6 * scale <= optimum_read(reader, path) <= 1.01 * room + 1e-6 * scale


def test_an_export_at_a_rate_below_opt_has_a_positive_optimum() -> None:
    """The objective is profit - rate * makespan of the best solution at that rate, here by enumeration."""
    for gamma, factor in ((150, Fraction(1, 2)), (50, Fraction(2))):
        instance = small(
            [
                {"name": "a", "etc_ms": [3, 5], "apc_mw": [5000, 3000]},
                {"name": "b", "etc_ms": [4, 2], "apc_mw": [2000, 9000]},
            ],
            [{"type": 0, "tasks": 4, "price": 600 * gamma}, {"type": 1, "tasks": 3, "price": 240 * gamma}],
            ["x", "y"],
        )
        rate = factor * 1000 * literal_optimum(instance)
        best = max(
            report.profit - rate * report.makespan_ms
            for report in (check(instance, each) for each in literal_solutions(instance))
        )
        found = backends.solve("highs", models.make_plain_rate_model(aggregate_users(instance), rate)).bound
        assert found == pytest.approx(float(best) / 1e6, rel=1e-6)
        assert best > 0


@pytest.mark.parametrize(("kind", "formulation"), [("xml", "auto"), ("mps", "enumeration"), ("lp", "tight")])
def test_what_cannot_be_exported_is_an_input_error(kind: str, formulation: str) -> None:
    with pytest.raises(InputError):
        export(made(1, 2, types=2, machines=2), kind, formulation)
