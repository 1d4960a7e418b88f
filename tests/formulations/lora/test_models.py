"""Every formulation with every installed backend agrees with brute force; the interval is always proved."""

import re
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ratiobench.formulations import backends
from ratiobench.formulations.backends import BackendResult, Limits
from ratiobench.formulations.linear import LinearModel, RowBuilder
from ratiobench.formulations.lora import solve as solve_module
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.direct_solve import build, safe_floor
from ratiobench.formulations.lora.models import tight
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum, list_schedules
from ratiobench.formulations.lora.models.formulation import registry, solution_of, vector_of
from ratiobench.formulations.lora.solve import choose, formulations, solve
from ratiobench.formulations.report import UNLIMITED, Proof, Status, Termination
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Decision, Instance
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import ScheduleKind
from ratiobench.instances.lora.named import named
from tests.support.examples import on_examples
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

PAIRS = [
    (each.name, backend)
    for each in registry().values()
    if each.schedules is ScheduleKind.ANY
    for backend in each.backends
]


@lru_cache(maxsize=1)
def installed() -> frozenset[str]:
    """The backends whose solver starts here."""
    return frozenset(name for name in backends.backends() if backends.version(name) is not None)


def contended_instance(number: int) -> Instance:
    """A small instance in which tasks compete: two types, vendors, rate 0, negative prices, tight windows."""
    draw = Stream("contended", number).integer
    slots, types = draw(3, 4), draw(1, 2)
    tasks = []
    for arrival in sorted(draw(1, 2) for _ in range(draw(3, 5))):
        deadline = draw(arrival, slots)
        tasks.append(
            {
                "arrival": arrival,
                "deadline": deadline,
                "memory_mb": draw(1, 3),
                "work": draw(1, 3 * (deadline - arrival + 1)),
                "bid": draw(10, 60),
                "rate": [draw(1, 4) if draw(0, 5) else 0 for _ in range(types)],
                "energy_wh": [draw(0, 3) for _ in range(types)],
                "vendors": [{"price": draw(0, 9), "delay": draw(0, 2)} for _ in range(draw(0, 2))],
            }
        )
    low = -3 if draw(0, 2) == 0 else 0
    return make_instance(
        slots,
        [
            make_node(
                count=draw(1, 2) if types == 1 else 1,
                compute=draw(3, 6),
                memory_mb=draw(4, 7),
                tariff=[draw(low, 3) for _ in range(slots)],
            )
            for g in range(types)
        ],
        tasks,
        base_memory_mb=1,
    )


CONTENDED = 100  # Contended instances from this number on are those of other files
# Those of this file: each row of `printed` decides one of them or of `earning_instance`, (4k) the last
SAMPLE = (*range(samples(39)), 52)


def prove_optimum(instance: Instance, formulation: str, backend: str) -> int:
    """Let a formulation and a solver prove the optimum of brute force, with nothing dropped on the way; the optimum."""
    optimum, _ = enumerate_optimum(instance)
    report = solve(instance, formulation, backend)
    assert (report.lower, report.upper, report.message) == (optimum, optimum, ""), (instance.name, formulation, backend)
    verdict = check(instance, report.solution)
    assert verdict.valid
    assert verdict.welfare == optimum
    assert report.status is Status.OPTIMAL
    if instance.tasks:
        assert (report.backend, report.termination) == (backend, Termination.OPTIMAL)
    return optimum


@pytest.mark.parametrize(("formulation", "backend"), PAIRS)
def test_the_pair_agrees_with_brute_force_under_contention(formulation: str, backend: str) -> None:
    """On a sample: lower = upper = OPT, the solution is verified. `nox -s crosscheck` takes 300 and more."""
    if backend not in installed():
        pytest.skip(
            f"{backend}: {backends.call(backend, f'ratiobench.formulations.backends.{backend}:version').message}"
        )
    instances = [earning_instance(), *map(contended_instance, SAMPLE)]
    positive = sum(prove_optimum(instance, formulation, backend) > 0 for instance in instances)
    assert positive > len(instances) * 3 // 4


@on_examples(tiny_instances(), samples(40))
def test_all_installed_pairs_agree_with_brute_force_on_any_tiny_instance(instance: Instance) -> None:
    """Any mixture of types, vendors, rate 0, rates above compute, negative costs, explicit costs, empty windows."""
    optimum, solution = enumerate_optimum(instance)
    verdict = check(instance, solution)
    assert verdict.valid
    assert verdict.welfare == optimum
    for formulation, backend in PAIRS:
        if backend in installed():
            prove_optimum(instance, formulation, backend)


@on_examples(tiny_instances(), samples(100))
def test_auto_solves_tiny_instances_to_optimality(instance: Instance) -> None:
    """`auto` closes the interval, and its work is the same the second time."""
    optimum, _ = enumerate_optimum(instance)
    first, second = solve(instance), solve(instance)
    assert (first.lower, first.upper) == (optimum, optimum)
    assert (first.solution, first.work, first.proof) == (second.solution, second.work, second.proof)


def model_of(instance: Instance, formulation: str = "tight") -> LinearModel:
    model = build(instance, registry()[formulation])
    assert isinstance(model, LinearModel), model
    return model


def optimum_of(model: LinearModel) -> int:
    """The model's optimum by HiGHS."""
    result = backends.solve("highs", model)
    assert result.termination is Termination.OPTIMAL
    assert result.bound is not None
    return round(result.bound)


def schedule_program(instance: Instance) -> LinearModel:
    """P1 (5): a column per task and schedule of (4a)-(4e), one schedule a task (5a), (5b) compute and (5c) memory."""
    kind = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
    listed = [(i, each) for i in range(instance.tasks) for each in list_schedules(instance, instance.task(i))]
    rows: dict[str, tuple[float, list[tuple[int, float]]]] = {}
    for column, (i, schedule) in enumerate(listed):
        rows.setdefault(f"once_{i}", (1.0, []))[1].append((column, 1.0))
        for k, t in schedule.decision.cells:
            node, task = instance.node_types[kind[k]], instance.task(i)
            room = node.memory_mb - instance.base_memory_mb
            rows.setdefault(f"compute_{k}_{t}", (node.compute, []))[1].append((column, float(task.rate[kind[k]])))
            rows.setdefault(f"memory_{k}_{t}", (room, []))[1].append((column, float(task.memory_mb)))
    builder = RowBuilder()
    for name, (limit, entries) in rows.items():
        where, value = np.array([c for c, _ in entries]), np.array([v for _, v in entries])
        builder.block([name], np.zeros(len(entries), np.int64), where, value, -np.inf, float(limit))
    values = np.array([schedule.value for _, schedule in listed], dtype=np.float64)
    return builder.binary_model("p1", values, tuple(f"l_{c}" for c in range(len(listed))))


def test_p1_over_all_schedules_is_p() -> None:
    """The first step of (16): the best choice of a schedule per task (5) is worth the optimum of (4)."""
    several = 0
    for instance in map(contended_instance, range(40)):
        program = schedule_program(instance)
        assert optimum_of(program) == optimum_of(model_of(instance, "printed")), instance.name
        several += len(program.columns) > instance.tasks
    assert several > 20


def test_4d_as_printed_enforces_no_deadline() -> None:
    """x_ikt <= d_i says nothing of a 0-1 variable: two tasks of deadline 1 are served where OPT serves one."""
    instance = named("formulation_4d")
    model = model_of(instance, "printed")
    printed = without(model, "c4d")  # the printed rows are idle, so the model without any is the one with them
    assert max(model.upper) <= 1 <= min(instance.deadline)
    assert (optimum_of(model), enumerate_optimum(instance)[0], optimum_of(printed)) == (2, 2, 4)


def without(model: LinearModel, pattern: str) -> LinearModel:
    """The model without the rows whose names match at the beginning."""
    keep = [j for j, name in enumerate(model.rows) if not re.match(pattern, name)]
    spans = [model.row(j) for j in keep]
    return replace(
        model,
        row_start=np.concatenate([[0], np.cumsum([len(index) for index, _ in spans])]).astype(np.int64),
        index=np.concatenate([np.zeros(0, dtype=np.int64), *(index for index, _ in spans)]),
        value=np.concatenate([np.zeros(0), *(value for _, value in spans)]),
        row_lower=model.row_lower[keep],
        row_upper=model.row_upper[keep],
        rows=tuple(model.rows[j] for j in keep),
    )


# (4i) implies (4b), and with prices that are not negative (4a) does the work of (4j), so those go together.
PRINTED_ROWS = ("c4[aj]", "c4[bi]", "c4c", "c4d", "c4e", "c4f", "c4g", "c4i", "c4k")


@pytest.mark.parametrize(
    ("formulation", "patterns"),
    [
        ("printed", PRINTED_ROWS),
        ("printed-ortools", PRINTED_ROWS),
        ("tight", ("vendor", "run", "work|late", "compute", "memory")),
    ],
)
def test_each_constraint_matters(formulation: str, patterns: tuple[str, ...]) -> None:
    """For every constraint there is an instance whose optimum is wrong without it: none is written in vain."""
    undecided = set(patterns)
    for instance in chain([earning_instance()], map(contended_instance, SAMPLE)):
        optimum, _ = enumerate_optimum(instance)
        model = model_of(instance, formulation)
        assert optimum_of(model) == optimum
        undecided -= {pattern for pattern in sorted(undecided) if optimum_of(without(model, pattern)) != optimum}
        if not undecided:
            break
    assert not undecided


def earning_instance() -> Instance:
    """A task that is not worth its cells, of which some earn money, one of them where its rate is 0."""
    task = {"work": 4, "bid": 0, "rate": [2, 0], "cost": [[-5, 99], [0, -200]], "vendors": [{"price": 0, "delay": 0}]}
    return make_instance(2, [make_node(4, 4)] * 2, [task])


def test_literal_reading_differs_where_a_rate_is_zero_or_a_cost_negative() -> None:
    """Without (4i)-(4k) a rejected task can earn a negative cost, so the literal optimum is above OPT."""
    instance = one_task_instance(bid=0, cost=[[-5]])
    assert enumerate_optimum(instance)[0] == 5
    rejected = one_task_instance(bid=0, cost=[[-5]], work=9)
    assert enumerate_optimum(rejected)[0] == 0
    assert optimum_of(model_of(rejected, "printed:literal")) == 5
    report = solve(rejected, "printed:literal", "highs")
    assert (report.lower, report.upper) == (0, 0)
    assert "dropped" not in report.message


def one_task_instance(bid: int, cost: list[list[int]], work: int = 1) -> Instance:
    """One task on one node of compute 4, rate 2, as many slots as costs."""
    slots = len(cost[0])
    return make_instance(slots, [make_node(4, 4)], [{"work": work, "bid": bid, "rate": [2], "cost": cost}])


@pytest.mark.parametrize(("formulation", "backend"), PAIRS)
def test_covers_beyond_the_minimal_ones_are_allowed(formulation: str, backend: str) -> None:
    """A second cell of negative cost belongs to the optimum although the first one covers the work."""
    if backend not in installed():
        pytest.skip(f"{backend} is not installed")
    instance = one_task_instance(bid=1, cost=[[1, -2, -3]])
    report = solve(instance, formulation, backend)
    assert (report.lower, report.upper) == (6, 6)
    assert report.solution == (Decision(None, ((0, 2), (0, 3))),)


def test_auto_never_builds_a_node_level_model_of_a_large_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand tasks on a trillion nodes: an interval, without a model of any kind."""
    monkeypatch.setattr(solve_module, "build", lambda *_: pytest.fail("a model was built"))
    instance = crowded_instance(tasks=1000, count=2**40, slots=100)
    report = solve(instance)
    assert report.backend == "none"
    assert report.lower <= report.upper


def crowded_instance(tasks: int, count: int, slots: int, work: int = 20) -> Instance:
    """Equal tasks that want all slots of nodes that hold two of them at a time."""
    return make_instance(
        slots,
        [make_node(5, 99, count, tariff=[1] * slots)],
        [
            {"work": work + i % 7, "bid": 500 + 13 * (i * i % 11), "rate": [2], "energy_wh": [1 + i % 5]}
            for i in range(tasks)
        ],
    )


@pytest.mark.parametrize("formulation", ["printed", "cpsat"])
def test_a_formulation_too_large_to_build_is_a_report(formulation: str) -> None:
    """Asked for by name on a huge instance: bounds, and a message that says how large it would be."""
    report = solve(crowded_instance(tasks=3, count=2**40, slots=10), formulation)
    assert report.termination is Termination.MEMORY
    assert "not built" in report.message


@pytest.mark.parametrize(
    ("formulation", "backend"),
    [("nonsense", "auto"), ("auto", "nonsense"), ("tight", "cpsat"), ("cpsat", "highs"), ("printed", "cpsat"),
     ("enumerate", "highs"), ("tight", "none")],
)  # fmt: skip
def test_other_names_and_pairs_are_input_errors(formulation: str, backend: str) -> None:
    with pytest.raises(InputError, match=r"^(formulation|backend): [^\n]+$"):
        solve(one_task_instance(1, [[0]]), formulation, backend)


@pytest.mark.parametrize(
    "wrong", [{"effort": 0}, {"effort": True}, {"gap": -0.1}, {"gap": float("nan")}, {"seconds": 0.0}]
)
def test_numbers_out_of_range_are_input_errors(wrong: dict[str, float]) -> None:
    """effort, gap and seconds are checked before anything runs."""
    with pytest.raises(InputError, match=next(iter(wrong))):
        solve(one_task_instance(1, [[0]]), **wrong)  # type: ignore[arg-type]


def test_every_formulation_is_listed_with_its_backends() -> None:
    listed = dict(formulations())
    of_p = {"tight", "printed", "printed:literal", "printed-ortools", "cpsat", "enumerate", "auto"}
    assert set(listed) == {"auto", "enumerate", *registry()} >= of_p | {"one-node"}
    for name, each in registry().items():
        assert all(backend in listed[name] for backend in each.backends)
        assert set(each.backends) <= set(backends.backends())
    assert choose(one_task_instance(1, [[0]]), "auto", "cpsat").formulation == "cpsat"


def test_an_infeasible_start_is_dropped_and_told() -> None:
    instance = one_task_instance(bid=3, cost=[[1]])
    wrong = (Decision(0, ((0, 1),)),)
    report = solve(instance, start=wrong)
    assert report.lower == report.upper == 2
    assert "start: dropped, it breaks (4j)" in report.message


def test_a_wrong_incumbent_and_a_wrong_bound_are_dropped_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that certifies nonsense as optimal cannot spoil the interval."""
    instance = crowded_instance(tasks=3, count=1, slots=12)
    true = solve(instance, "tight", "highs")
    start = true.solution

    def liar(_backend: str, model: LinearModel, *_: object) -> BackendResult:
        return BackendResult(Termination.OPTIMAL, np.ones(len(model.columns)), bound=1.0)

    monkeypatch.setattr(backends, "solve", liar)
    report = solve(instance, "tight", "highs", start=start)
    assert report.lower == true.lower
    assert report.proof in (Proof.TRIVIAL, Proof.LAGRANGIAN)
    assert report.lower <= true.upper <= report.upper
    assert "incumbent: dropped" in report.message
    assert "below the verified welfare" in report.message


@pytest.mark.parametrize(
    "termination", [Termination.CRASH, Termination.TIMEOUT, Termination.MEMORY, Termination.UNAVAILABLE]
)
def test_a_backend_that_fails_leaves_an_interval(termination: Termination, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report carries the termination and the message, and still both ends."""
    monkeypatch.setattr(backends, "solve", lambda *_: BackendResult(termination, message="it failed"))
    report = solve(crowded_instance(tasks=3, count=1, slots=12), "tight", "highs")
    assert report.status is Status.INTERVAL
    assert (report.termination, report.message) == (termination, "it failed")
    assert report.time_limited == (termination is Termination.TIMEOUT)
    assert 0 <= report.lower < report.upper


def hard_instance() -> Instance:
    """More than a unit of work for HiGHS: unequal tasks on two crowded nodes."""
    draw = Stream("hard").integer
    slots = 24
    tasks = [
        {
            "arrival": arrival,
            "deadline": min(slots, arrival + draw(5, 11)),
            "memory_mb": draw(6, 19),
            "work": draw(10, 40) * 100,
            "bid": draw(1000, 9000),
            "rate": [draw(8, 20) * 50],
            "energy_wh": [draw(50, 150)],
        }
        for arrival in sorted(draw(1, 18) for _ in range(40))
    ]
    node = make_node(1600, 48, 2, tariff=[draw(1, 3) for _ in range(slots)])
    return make_instance(slots, [node], tasks, base_memory_mb=3)


def test_a_limit_in_work_gives_the_same_figures_every_time() -> None:
    """Stopped early, twice: the same interval, solution and counts."""
    instance = hard_instance()
    first, again = solve(instance, "tight", "highs"), solve(instance, "tight", "highs")
    assert first.termination is Termination.LIMIT
    assert not first.time_limited
    assert (first.lower, first.upper, first.work) == (again.lower, again.upper, again.work)
    assert first.solution == again.solution


@given(st.integers(1, 3).flatmap(lambda g: st.lists(st.integers(1, 9), min_size=g, max_size=g)), st.integers(1, 25))
def test_cover_inequalities_hold_for_exactly_the_covers(rates: list[int], work: int) -> None:
    """For all counts of slots per type up to 6: all inequalities hold if and only if the work is covered."""
    inequalities = tight.cover_inequalities(np.array(rates), work)
    for counts in np.ndindex(*([7] * len(rates))):
        inside = all(int(weights @ np.array(counts)) >= needed for weights, needed in inequalities)
        assert inside == (int(np.dot(rates, counts)) >= work)


@given(
    st.integers(1, 3).flatmap(lambda g: st.lists(st.integers(1, 9), min_size=g, max_size=g)),
    st.integers(1, 25),
    st.lists(st.integers(1, 7), min_size=1, max_size=3),
)
def test_covers_in_windows_hold_for_exactly_the_covers(rates: list[int], work: int, widths: list[int]) -> None:
    """For all counts that fit into an option's slots: what is needed of it holds if and only if the work is covered."""
    widths = sorted((width for width in widths if width * max(rates) >= work), reverse=True)
    assume(widths)
    covers = tight.covers_in_windows(np.array(rates), work, widths)
    for option, width in enumerate(widths):
        for counts in np.ndindex(*([width + 1] * len(rates))):
            if sum(counts) <= width:
                mine = [each for each in covers if each.since <= option]
                inside = all(int(each.weights @ np.array(counts)) >= each.needed[option] for each in mine)
                assert inside == (int(np.dot(rates, counts)) >= work)
        assert all(each.needed[option] == 0 for each in covers if each.since > option)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 400), st.integers(1, 15))
def test_covers_in_a_window_describe_the_hull(first: int, second: int, work: int, width: int) -> None:
    """Of two types: where two of the inequalities are tight, and all hold, are whole numbers of cells."""
    assume(width * max(first, second) >= work)
    covers = tight.covers_in_windows(np.array([first, second]), work, [width])
    lines = [(*each.weights.tolist(), int(each.needed[0])) for each in covers]
    lines += [(1, 0, 0), (0, 1, 0), (-1, -1, -width)]
    for (a, b, c), (d, e, f) in combinations(lines, 2):
        if a * e != b * d:
            x, y = Fraction(c * e - b * f, a * e - b * d), Fraction(a * f - c * d, a * e - b * d)
            if all(p * x + q * y >= least for p, q, least in lines):
                assert (x.denominator, y.denominator) == (1, 1)
                assert first * x + second * y >= work


@pytest.mark.nightly
def test_with_seconds_alone_the_search_goes_on_beside_the_solver() -> None:
    """The interval is as good as that of one unit of effort, and the trail ends with it."""
    morning = {
        "kind": "paper",
        "nodes": 2,
        "arrivals": {"trace": "pai"},
        "tasks": 60,
        "start": 60,
        "slots": 36,
        "quiet": 8,
    }
    instance = generate(morning | {"seed": ["beside"]})
    once = solve(instance, effort=1, backend="none")
    report = solve(instance, effort=UNLIMITED, seconds=4.0)
    assert max(once.lower, report.lower) <= min(once.upper, report.upper)
    assert report.time_limited
    assert report.backend == "highs"
    assert report.trail[-1][1:] == (report.lower, report.upper)
    assert [lower for _, lower, _ in report.trail] == sorted(lower for _, lower, _ in report.trail)


def test_a_limit_in_seconds_marks_the_report() -> None:
    report = solve(one_task_instance(bid=3, cost=[[1]]), seconds=30.0)
    assert report.time_limited
    assert report.lower == report.upper == 2


def test_an_instance_without_tasks_has_optimum_zero() -> None:
    instance = crowded_instance(tasks=0, count=2, slots=3)
    for formulation in ("auto", "tight", "cpsat", "enumerate"):
        report = solve(instance, formulation)
        assert (report.lower, report.upper, report.solution) == (0, 0, ())


@on_examples(tiny_instances(), samples(100))
def test_any_solution_is_feasible_in_tight_after_renumbering_nodes(instance: Instance) -> None:
    """Symmetry breaking and dropped vendors cut off no welfare: the renumbered optimum satisfies every row."""
    optimum, solution = enumerate_optimum(instance)
    renumbered = tight.canonical(instance, solution)
    verdict = check(instance, renumbered)
    assert verdict.valid
    assert verdict.welfare >= optimum
    model = model_of(instance)
    vector = vector_of(model.columns, renumbered)
    assert model.violation(vector) == 0
    assert round(float(model.objective @ vector)) == verdict.welfare
    assert solution_of(instance, model.columns, vector) == renumbered


@pytest.mark.parametrize("backend", ["highs", "cbc", "cpsat"])
def test_huge_integers_do_not_break_the_interval(backend: str) -> None:
    """Values near 2^40, where one sample decides: whatever a tolerance lets pass, the verification catches."""
    top = 2**40
    instance = make_instance(
        2,
        [make_node(top - 1, top, tariff=[1, 1])],
        [
            {"memory_mb": top // 2, "work": top // 2, "bid": top - i, "rate": [top // 2], "energy_wh": [top // 4]}
            for i in range(3)
        ],
    )
    optimum, _ = enumerate_optimum(instance)
    report = solve(instance, backend=backend)
    assert report.lower <= optimum <= report.upper
    assert solve(instance).lower == solve(instance).upper == optimum


def test_a_bound_is_rounded_to_the_safe_side() -> None:
    """A float bound just below an integer still admits that integer; an exact one is taken as it is."""
    assert safe_floor(41.99999999, exact=False) == 42
    assert safe_floor(41.9, exact=False) == 41
    assert safe_floor(10.0**12 - 1, exact=False) >= 10**12 - 1
    assert safe_floor(42.0, exact=True) == 42


def test_limits_reach_the_solver() -> None:
    """A relative gap stops early with a bound that is honest about it."""
    model = model_of(crowded_instance(tasks=30, count=2, slots=24))
    loose = backends.solve("highs", model, Limits(work=20, gap=0.9))
    assert loose.bound is not None
    assert loose.values is not None
    assert float(model.objective @ loose.values) <= loose.bound
