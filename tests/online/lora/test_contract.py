"""What every registered algorithm must satisfy, with each of its options; the registry names them all."""

import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, content_hash, document, parse, read_solution, solution_document, write
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.registry import REGISTRY, algorithms, canonical, entries
from ratiobench.online.lora.registry import parse as parse_name
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.outcome import OnlineRun, Source
from ratiobench.online.run import run_built
from tests.support.documents import refusal_of
from tests.support.examples import Examples, optimum_of
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances


def _variants() -> Iterator[str]:
    for entry in entries().values():
        yield entry.name
        for key, option in entry.options.items():
            yield from (f"{entry.name}:{key}={value}" for value in option.allowed or () if value != option.default)
    yield "learned:guard=20"
    yield "guarded:inner=bbar-rule,beta=300"
    yield "pdftsp:search=printed,units=canonical"
    yield "pdftsp:arith=float,search=printed"
    yield "static:split=3"


VARIANTS = tuple(_variants())
# Charges that contain the operational cost; (14) does not, so a negative cost can take it above the bid
PRICED_AT_MOST_THE_BID = (
    "greedy", "eris", "pdftsp:payment=critical", "posted", "minimal-edit", "capped", "bbar-rule", "learned", "guarded",
    "zcl", "reserve", "advice", "units", "static", "mirror", "pooled",
)  # fmt: skip
# A price that is drawn may be above what all tasks would pay
DRAWN = ("static", "static:arith=exact", "static:arith=float")

_PAPER = {"kind": "paper", "arrivals": {"trace": "pai"}, "start": 60, "slots": 30, "quiet": 8}


@pytest.fixture(scope="module", params=[pytest.param("pai_24", marks=pytest.mark.nightly), "many_types"])
def generated(request: pytest.FixtureRequest) -> Instance:
    """A small part of a trace-driven day; and the same with vendors on all tasks and single nodes."""
    name = str(request.param)
    nodes = {"pai_24": {"a100": 1, "a40": 1}, "many_types": {"a100": 2, "a40": 3}}[name]
    return generate(_PAPER | {"name": name, "seed": ["contract", name], "tasks": 24, "nodes": nodes})


def _fixed(
    original: Instance, variant: str, instance: Instance, *, with_constants_of: Instance | None = None
) -> OnlineRun:
    spec = parse_name(variant)
    assert spec.entry is not None
    algorithm = spec.entry.make(spec.entry.settle(dict(spec.options), original.tasks))
    constants = REGISTRY.settle_constants(
        spec, tuple(getattr(algorithm, "constants", ())), with_constants_of or original
    )
    if spec.entry.learns:
        algorithm.learn(None, with_constants_of or original)
    return run_built(ENVIRONMENT, instance, algorithm, variant, "1", constants, content_hash(original))


def _obeys(instance: Instance, result: OnlineRun, variant: str) -> None:
    assert result.valid, result.violations
    verdict = check(instance, result.decisions)
    assert verdict.valid, verdict.violations
    assert (result.welfare, result.true_welfare) == (verdict.welfare, verdict.true_welfare)
    assert (result.revenue, result.admitted) == (verdict.revenue, verdict.admitted)
    admitted = [(i, decision) for i, decision in enumerate(result.decisions) if decision is not None]
    assert len({decision.payment is None for _, decision in admitted}) <= 1
    costs_below_zero = any((instance.cost(i) < 0).any() for i, _ in admitted)
    for i, decision in admitted:
        if decision.payment is not None and (variant.startswith(PRICED_AT_MOST_THE_BID) or not costs_below_zero):
            assert decision.payment <= int(instance.bid[i])
            assert costs_below_zero or decision.payment >= 0
        assert type(decision.vendor) in (int, type(None))
        assert all(type(number) is int for cell in decision.cells for number in cell)
        assert list(decision.cells) == sorted(decision.cells, key=lambda cell: cell[1])


def _alike(one: OnlineRun, other: OnlineRun) -> bool:
    return (one.decisions, one.welfare, one.label, one.counts) == (
        other.decisions,
        other.welfare,
        other.label,
        other.counts,
    )


TINY = Examples(tiny_instances(), samples(60), content_hash)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_is_valid_repeatable_and_below_opt(variant: str) -> None:
    """On tiny instances: the referee's and the verifier's figures, a second run, brute force."""

    def holds(instance: Instance) -> None:
        result = run(instance, variant)
        _obeys(instance, result, variant)
        assert _alike(result, run(instance, variant))
        assert result.welfare <= optimum_of(instance)

    TINY.check(holds)


class Changed(NamedTuple):
    """An instance, and two that are alike up to a task: with other tasks behind it, and without them."""

    instance: Instance
    altered: Instance
    cut: Instance
    end: int  # The first task that differs


@st.composite
def _changed(draw: st.DrawFn, *, batches: bool) -> Changed:
    """With `batches`, no slot has tasks before and behind the cut."""
    instance = draw(tiny_instances(max_tasks=5))
    ends = [i for i in range(1, instance.tasks) if not batches or instance.arrival[i] != instance.arrival[i - 1]]
    assume(ends)
    end = draw(st.sampled_from(ends))
    altered: dict[str, Any] = document(instance)
    for task in altered["tasks"][end:]:
        task["bid"] = draw(st.integers(0, 60))
        task["work"] = draw(st.integers(1, 8))
        task["memory_mb"] = draw(st.integers(1, 4))
        task.pop("valuation", None)
    return Changed(instance, parse(altered), parse(altered | {"tasks": altered["tasks"][:end]}), end)


CHANGED = {
    batches: Examples(
        _changed(batches=batches),
        samples(50),
        lambda drawn: (content_hash(drawn.instance), content_hash(drawn.altered)),
    )
    for batches in (False, True)
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_decisions_do_not_depend_on_later_arrivals(variant: str) -> None:
    """With seed and constants given: later tasks altered, then cut away. A batch is one decision."""

    def holds(drawn: Changed) -> None:
        whole = _fixed(drawn.instance, variant, drawn.instance)
        for other in (drawn.altered, drawn.cut):
            again = _fixed(drawn.instance, variant, other, with_constants_of=drawn.instance)
            assert again.decisions[: drawn.end] == whole.decisions[: drawn.end]

    spec = parse_name(variant)
    assert spec.entry is not None
    CHANGED[hasattr(spec.entry.make(spec.options), "decide_batch")].check(holds)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_trace_driven_part_is_served_by_the_rules(
    generated: Instance, variant: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """24 tasks, tens of slots: valid, repeatable, something admitted, and the solution file reads back."""
    result = run(generated, variant)
    _obeys(generated, result, variant)
    assert _alike(result, run(generated, variant))
    assert result.admitted > 0 or variant in DRAWN
    half = generated.tasks // 2
    while generated.arrival[half] == generated.arrival[half - 1]:
        half += 1
    data = document(generated)
    data["tasks"] = data["tasks"][:half]
    assert _fixed(generated, variant, parse(data)).decisions == result.decisions[:half]
    file = tmp_path_factory.mktemp("solution") / "solution.json"
    file.write_text(json.dumps(solution_document(result.decisions)))
    assert read_solution(file) == result.decisions


def test_an_empty_instance_and_an_empty_menu_are_served() -> None:
    """No tasks; and a task without any schedule: decision null, welfare 0."""
    data = document(named("tiny_empty_window"))
    for variant in VARIANTS:
        empty = run(parse(data | {"tasks": []}), variant)
        assert (empty.valid, empty.welfare, empty.decisions) == (True, 0, ())
        assert run(named("tiny_empty_window"), variant).valid
        assert run(named("tiny_rate_zero"), variant).valid


def test_no_solver_is_loaded_into_the_process_that_runs_algorithms() -> None:
    """Titan's MILP is solved in a worker; a fresh process runs every algorithm and has no solver among its modules."""
    code = (
        "import sys\n"
        "from ratiobench.instances.lora.named import named\n"
        "from ratiobench.online.lora.registry import entries\n"
        "from ratiobench.online.lora.run import run\n"
        "for name in entries():\n"
        "    assert run(named('tiny_contention'), name).valid\n"
        "found = {'highspy', 'ortools', 'pulp', 'pyscipopt', 'gurobipy'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {found}' if found else 0)\n"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stderr


def test_names_have_one_spelling() -> None:
    """Options at their defaults are left out, the others sorted; a version stands behind."""
    assert canonical("pdftsp:search=exact") == canonical("pdftsp") == "pdftsp version 2"
    assert canonical("pdftsp:units=canonical,arith=float") == canonical("pdftsp:arith=float,units=canonical")
    assert canonical("pdftsp:alpha=3.50") == canonical("pdftsp:alpha=7/2") == "pdftsp:alpha=7/2 version 2"
    assert {name for name, _ in algorithms()} == set(entries()) >= {"pdftsp", "titan", "eft", "ntm", "greedy", "eris"}


@pytest.mark.parametrize(
    "name",
    ["", "nobody", "pdftsp:search", "pdftsp:search=", "pdftsp:search=best", "pdftsp:what=1", "greedy:alpha=1",
     "pdftsp:alpha=x", "pdftsp:alpha=-1", "pdftsp:alpha=1e999999999", "pdftsp:alpha=1/0", "pdftsp:alpha=nan",
     "pdftsp:money=0", "pdftsp:search=exact,search=printed", "greedy:prior=x.json", "titan:effort=0", "titan:effort=x",
     "titan:gap=1", "titan:gap=x",
     "pdftsp:prior=no_such_file.json", "eris:eris_low=0", "eris:eris_low=3,eris_high=2"],
)  # fmt: skip
def test_names_that_do_not_exist_are_input_errors(name: str) -> None:
    assert refusal_of(run, named("tiny_contention"), name)


def test_constants_have_sources(tmp_path: Path) -> None:
    """Oracle by default; given; prior, whose content is part of the key; the instance itself is never a prior."""
    instance = named("thm5_T5_3tasks")
    write(named("thm5_lead_L10"), tmp_path / "prior.json")
    constants = run(instance, "pdftsp").constants
    assert [(c.name, c.value, c.source) for c in constants] == [
        ("alpha", 6, Source.ORACLE),
        ("beta", Fraction(6, 1000), Source.ORACLE),
    ]
    name = f"pdftsp:beta=1/2,prior={tmp_path / 'prior.json'}"
    result = run(instance, name)
    assert [(c.name, c.value, c.source) for c in result.constants] == [
        ("alpha", 2, Source.PRIOR),
        ("beta", Fraction(1, 2), Source.GIVEN),
    ]
    assert result.constants[0].detail == str(tmp_path / "prior.json")
    first = canonical(name)
    write(named("thm5_T4_4tasks_strict"), tmp_path / "prior.json")
    assert canonical(name) != first
    write(instance, tmp_path / "prior.json")
    assert run(instance, name).constants[0].source is Source.ORACLE


def test_every_option_that_is_taken_is_listed() -> None:
    """Constants and the prior file too, in `list` and where an option does not exist; none where none is declared."""
    summaries = dict(algorithms())
    for name, entry in entries().items():
        constants = tuple(getattr(parse_name(name).entry.make(parse_name(name).options), "constants", ()))  # type: ignore[union-attr]
        known = ["prior"] if constants or entry.learns else []
        taken = (*entry.options, *constants, *known, *(["history"] if entry.learns else []))
        with pytest.raises(InputError) as caught:
            parse_name(f"{name}:nonsense=1")
        assert caught.value.problem == f"no such option; {name} has {', '.join(taken) or 'none'}"
        for key in (*entry.options, *constants, *(["history"] if entry.learns else known)):
            assert f"{key}=" in summaries[name]
        assert ("prior=FILE" in summaries[name]) == bool(constants)
    assert "alpha=NUMBER" in summaries["pdftsp"]


def test_a_cluster_that_no_run_can_hold_is_an_input_error() -> None:
    """A valid file may count a million million nodes; the books of a run cannot."""
    data = document(named("tiny_contention"))
    data["node_types"][0]["count"] = 2**40
    with pytest.raises(InputError, match="cells"):
        run(parse(data), "greedy")


TOP = 2**40  # The largest number of the format


@pytest.mark.parametrize("cost", [0, pytest.param(TOP, marks=pytest.mark.nightly), -TOP])
def test_extreme_figures_do_not_overflow(cost: int) -> None:
    """Rates, memory, bids and costs at the format's limits: every algorithm stays valid and below OPT."""
    instance = make_instance(
        3,
        [make_node(TOP, TOP)],
        [
            {"memory_mb": memory, "work": work, "bid": TOP - j, "rate": [rate], "cost": [[cost, 0, cost]],
             "vendors": [{"price": TOP * (j % 2), "delay": 0}]}
            for j, (memory, work, rate) in enumerate([(1, 1, TOP), (TOP - 1, TOP, TOP), (1, TOP, TOP // 2)])
        ],
        base_memory_mb=1,
    )  # fmt: skip
    optimum, _ = enumerate_optimum(instance)
    for variant in VARIANTS:
        result = run(instance, variant)
        _obeys(instance, result, variant)
        assert result.welfare <= optimum


def test_the_view_of_an_algorithm_of_ours_is_read_only() -> None:
    class Writes:
        def start(self, public: Any, constants: Any) -> None:
            pass

        def decide(self, task: Any, view: Any) -> Any:
            view.compute[0, 0] = 5

    with pytest.raises(ValueError, match="read-only"):
        run_built(ENVIRONMENT, named("thm5_lead_L4"), Writes(), "writes", "1", (), "")
