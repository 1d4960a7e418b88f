"""Traps of the solver stack, pinned: what our wrappers must never pass on."""

import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

from ratiobench.formulations import backends, worker
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.direct_solve import build
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.models.formulation import registry, solution_of
from ratiobench.formulations.lora.solve import solve, trivial_bound
from ratiobench.formulations.report import Proof, Termination
from tests.formulations.lora.test_models import contended_instance, hard_instance, model_of, one_task_instance

HERE = "tests.formulations.test_traps"


# Trap 1: highspy and OR-Tools (and PuLP and OR-Tools) clash in one process.


def loaded_solvers() -> list[str]:
    return [name for name in ("highspy", "ortools", "pulp", "pyscipopt", "gurobipy") if name in sys.modules]


def test_highs_and_ortools_and_pulp_serve_one_caller_side_by_side() -> None:
    """In turns, in both orders; each process holds its own solver, this one none."""
    assert loaded_solvers() == []
    for _ in range(2):
        for backend in ("highs", "cpsat", "cbc", "cpsat", "highs"):
            assert backends.version(backend) is not None
    seen = {name: set(worker.worker(name).call(f"{HERE}:loaded_solvers").value) for name in ("highs", "cpsat", "cbc")}
    assert seen["highs"] == {"highspy"}
    assert seen["cpsat"] == {"ortools"}
    # PuLP loads highspy and PySCIPOpt where they are installed, which is why OR-Tools is kept out of its process.
    assert seen["cbc"] - {"highspy", "pyscipopt"} == {"pulp"}
    assert loaded_solvers() == []


def test_the_backends_are_not_reached_by_imports_of_the_caller() -> None:
    code = (
        "import sys, ratiobench.formulations.lora.solve as s; s.formulations(); "
        "print([n for n in ('highspy', 'ortools', 'pulp', 'pyscipopt', 'gurobipy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=sys.path[0])
    assert done.stdout.strip() == "[]"


# Trap 2: a limit is not an optimum, maximisation turns signs, a relaxation's value is not an incumbent's.


@dataclass(frozen=True)
class Truth:
    """Of the hard instance: its tight and printed arrays, a valid upper bound."""

    tight: LinearModel
    printed: LinearModel
    trivial: int


@lru_cache(maxsize=1)
def truth() -> Truth:
    instance = hard_instance()
    return Truth(model_of(instance), model_of(instance, "printed"), trivial_bound(instance))


@lru_cache(maxsize=1)
def cbc_at_a_limit() -> backends.BackendResult:
    """CBC on the tight arrays of the hard instance, stopped after a unit of work; solved once."""
    return backends.solve("cbc", truth().tight, Limits(work=1))


@pytest.mark.parametrize("formulation", ["tight", pytest.param("printed", marks=pytest.mark.nightly)])
def test_highs_at_a_limit_says_limit_and_its_bound_is_above_its_incumbent(formulation: str) -> None:
    """With an incumbent in hand, a stop is LIMIT, not optimal; the bound has the sign of a maximisation."""
    instance, model = hard_instance(), getattr(truth(), formulation)
    start = np.zeros(len(model.columns))
    result = backends.solve("highs", model, Limits(work=1), start)
    assert result.termination is Termination.LIMIT
    assert result.values is not None
    assert result.bound is not None
    welfare = check(instance, solution_of(instance, model.columns, result.values)).welfare
    assert 0 <= welfare < result.bound
    # It bounds what another solver reaches.
    other = cbc_at_a_limit()
    assert other.values is not None
    reached = check(instance, solution_of(instance, truth().tight.columns, other.values))
    assert reached.valid
    assert 0 < reached.welfare <= result.bound


def test_cbc_stopped_without_an_incumbent_gives_none_and_not_the_relaxation() -> None:
    model = truth().printed
    result = backends.solve("cbc", model, Limits(seconds=0.01))
    # On a loaded machine the process may not even have started within the hard limit.
    assert result.termination in (Termination.LIMIT, Termination.TIMEOUT)
    if result.values is not None:
        assert model.violation(result.values) < 1e-5
    report = solve(hard_instance(), "printed", "cbc", seconds=0.3)
    assert check(hard_instance(), report.solution).welfare == report.lower <= report.upper
    assert report.time_limited


LOG = """
Result - Stopped on time limit

{found}
Upper bound:                    inf
Lower bound:                    -1234.568
Gap:                            -0.00
Enumerated nodes:               7
Total iterations:               89
"""


def small_model() -> LinearModel:
    """Maximise 700 x + 600 y over x + y <= 1."""
    return LinearModel(
        name="small",
        objective=np.array([700.0, 600.0]),
        lower=np.zeros(2),
        upper=np.ones(2),
        integer=np.ones(2, dtype=bool),
        row_start=np.array([0, 2]),
        index=np.array([0, 1]),
        value=np.ones(2),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([1.0]),
        columns=("x_0_0_1", "x_0_0_2"),
        rows=("one",),
    )


CASES = [
    # A stop without solution: no incumbent, the bound with its sign turned.
    (LOG.format(found="No feasible solution found"), [0.5, 0.5], None, 1234.569),
    # A stop with a solution.
    (LOG.format(found="Objective value:                -600.00000000"), [0.0, 1.0], [0.0, 1.0], 1234.569),
    # A stop that shows fractional values, whatever it says.
    (LOG.format(found="Objective value:                -650.00000000"), [0.5, 0.5], None, 1234.569),
    # An optimum.
    ("Result - Optimal solution found\n", [1.0, 0.0], [1.0, 0.0], 700.0),
    # An optimum within a gap is no bound.
    ("Result - Optimal solution found (within gap tolerance)\n", [0.0, 1.0], [0.0, 1.0], None),
    ("Result - Optimal solution found (within gap tolerance)\nLower bound: -650.5\n", [0.0, 1.0], [0.0, 1.0], 650.501),
    # Nonsense beside the word optimal: values that break a row.
    ("Result - Optimal solution found\n", [1.0, 1.0], None, None),
    # Infinite and not-a-number bounds are none.
    ("Result - Stopped on node limit\nLower bound: -1e+50\n", [0.0, 1.0], [0.0, 1.0], None),
    ("Result - Stopped on node limit\nLower bound: -inf\n", [0.0, 1.0], [0.0, 1.0], None),
    ("Result - Stopped on node limit\nLower bound: nan\n", [0.0, 1.0], [0.0, 1.0], None),
    ("Result - Problem proven infeasible\n", [0.0, 0.0], None, None),
    ("Result - Problem proven unbounded\nLower bound: -1\n", [0.0, 0.0], None, None),
    ("segmentation", [0.0, 0.0], None, None),
]


def read_log(log: str, values: list[float]) -> backends.BackendResult:
    """The CBC backend's reading of a log; runs in its process, which has PuLP."""
    from ratiobench.formulations.backends import cbc

    return cbc.read_result(small_model(), log, "", np.array(values), 0.0)


@pytest.mark.parametrize(("log", "values", "incumbent", "bound"), CASES)
def test_cbc_logs_are_read_safely(
    log: str, values: list[float], incumbent: list[float] | None, bound: float | None
) -> None:
    """Neither a relaxation nor a gap nor an infinity passes for a proof."""
    result = worker.worker("cbc").call(f"{HERE}:read_log", log, values).value
    assert (None if result.values is None else result.values.tolist()) == incumbent
    assert result.bound == (None if bound is None else pytest.approx(bound))


def test_cbc_at_a_limit_says_limit_with_a_bound_of_the_right_sign() -> None:
    """The node limit, on the minimisation that stands for our maximisation."""
    result = cbc_at_a_limit()
    assert result.termination is Termination.LIMIT
    assert result.bound is not None
    assert result.values is not None
    assert 0 < float(truth().tight.objective @ result.values) <= result.bound <= truth().trivial


# Trap 3: CP-SAT's UNKNOWN comes with a bound of 0.0.


def test_cpsat_without_a_solution_gives_no_bound() -> None:
    """Stopped before its first solution, it says 0.0; that is not an upper bound of a maximisation."""
    instance = contended_instance(0)
    optimum, _ = enumerate_optimum(instance)
    assert optimum > 0
    model = build(instance, registry()["cpsat"])
    result = backends.solve("cpsat", model.text, Limits(work=0))
    assert result.termination is Termination.LIMIT
    assert result.values is None
    assert result.bound is None
    report = solve(hard_instance(), "cpsat", "cpsat", seconds=0.01)
    assert 0 < report.lower <= report.upper


# Trap 4: "optimal" is not a proof; gaps are 0 and every incumbent is verified.


@pytest.mark.parametrize(("formulation", "backend"), [("tight", "highs"), ("tight", "cbc"), ("cpsat", "cpsat")])
def test_the_default_gap_of_solvers_is_not_ours(formulation: str, backend: str) -> None:
    """A task worth 1 beside one worth 10^8: any gap above zero could leave it out."""
    instance = two_tasks_instance(10**8, 1)
    report = solve(instance, formulation, backend)
    assert (report.lower, report.upper) == (10**8 + 1, 10**8 + 1)


def two_tasks_instance(first: int, second: int):  # type: ignore[no-untyped-def]
    """Two tasks without cost in two slots; both fit."""
    from ratiobench.instances.lora import document, parse

    data = document(one_task_instance(first, [[0, 0]]))
    data["tasks"].append(data["tasks"][0] | {"bid": second})
    data["node_types"][0]["compute"] = 2
    return parse(data)


@pytest.mark.parametrize("backend", ["highs", "cbc"])
def test_an_optimal_status_never_beats_the_verification(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that returns an infeasible 'optimum' below the true one: dropped, and the independent bound stands."""
    instance = contended_instance(0)
    optimum, _ = enumerate_optimum(instance)

    def certifies_nonsense(_backend: str, model: LinearModel, *_: object) -> backends.BackendResult:
        values = np.array([1.0 if name.startswith("u_") else 0.0 for name in model.columns])
        return backends.BackendResult(Termination.OPTIMAL, values, bound=float(10**12))

    monkeypatch.setattr(backends, "solve", certifies_nonsense)
    report = solve(instance, "tight", backend)
    assert report.lower <= optimum <= report.upper <= trivial_bound(instance)
    assert report.proof in (Proof.TRIVIAL, Proof.LAGRANGIAN)
    assert "dropped" in report.message
