"""Edgeflow offline: bounds and schedules against brute force, properties of the bound, exported models."""

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ratiobench.formulations import backends
from ratiobench.formulations.edgeflow import bound, models
from ratiobench.formulations.edgeflow import verify as certificates
from ratiobench.formulations.edgeflow.bound import SCALE, prove
from ratiobench.formulations.edgeflow.check import check
from ratiobench.formulations.edgeflow.problem import Grid, grid_of, make_grid, problem_of, refine_prices
from ratiobench.formulations.edgeflow.slots import enumerate_optimum
from ratiobench.formulations.edgeflow.solve import export, formulations, solve, warm
from ratiobench.formulations.edgeflow.verify import Certificate, verify
from ratiobench.formulations.report import Proof, Status, Termination
from ratiobench.instances.arrays import freeze
from ratiobench.instances.edgeflow.generate import expected, named, names
from ratiobench.instances.edgeflow.model import Instance, Piece, Window
from ratiobench.instances.io.errors import InputError
from tests.formulations.edgeflow.test_check import made
from tests.tools.edgeflow_bounds import judge, tiny


def busy(seed: int, jobs: int = 30, gpus: int = 4) -> Instance:
    """Random jobs of some minutes, more than can be met."""
    draw = random.Random(seed)
    rows = []
    for _ in range(jobs):
        submit = draw.randint(0, 1500)
        length = draw.randint(60, 900)
        rows.append((submit, submit + length, int(length * draw.choice([10, 18, 30]) * draw.uniform(0.3, 0.9))))
    speed = [[1, 10], [2, 18], [4, 30]]
    return made(*sorted(rows), gpus=gpus, edge=((300, 700, 1), (1000, 1300, 2)), speed=speed)


def test_tiny_instances_slots_equals_brute_force_and_every_bound_holds() -> None:
    """A slice of `python -m tests.tools.edgeflow_bounds`."""
    for seed in range(8):
        draw = random.Random(seed)
        assert judge(tiny(draw, 3, 8, 2), draw, mutants=4) == []
    draw = random.Random(99)
    assert judge(tiny(draw, 4, 15, 4), draw) == []


@pytest.mark.parametrize("name", names())
def test_shipped_instances_are_solved(name: str) -> None:
    report = solve(named(name))
    assert report.lower == expected(name)["opt"] == report.upper
    assert isinstance(report.certificate, Certificate)
    assert verify(named(name), certificates.document(report.certificate)).valid


EDGE_CASES: dict[str, tuple[Instance, int]] = {
    "no job": (made(), 0),
    "all hopeless": (made((0, 10, 1000), (0, 3, 500)), 0),
    "deadline within the overhead": (made((0, 2, 1), (0, 3, 1)), 1),
    "one level only, not the first": (made((0, 12, 180), speed=[[2, 18]]), 1),
    "more GPUs than there are": (made((0, 90, 1), gpus=1, speed=[[2, 18]], edge_speed=0), 0),
    "more GPUs than there are, but an edge": (made((0, 90, 1), gpus=1, speed=[[2, 18]], edge=((0, 9, 1),)), 1),
    "submit and deadline are the window's": (made((5, 15, 40), gpus=1, speed=[[2, 18]], edge=((5, 15, 1),)), 1),
    "one second less of it": (made((5, 15, 41), gpus=1, speed=[[2, 18]], edge=((5, 15, 1),)), 0),
    "a window shorter than the stall": (made((0, 15, 1), gpus=1, speed=[[2, 18]], edge=((5, 7, 1),)), 0),
    "windows that touch": (made((0, 15, 20), gpus=1, speed=[[2, 18]], edge=((5, 7, 1), (7, 11, 2))), 1),
    "met in the last second": (made((0, 12, 100), speed=[[1, 10]]), 1),
    "a second too late": (made((0, 11, 100), speed=[[1, 10]]), 0),
    "speed falls": (made((0, 12, 180), speed=[[1, 10], [2, 18], [4, 9]]), 1),
    "one after the other": (made((0, 12, 100), (0, 24, 100), gpus=1), 2),
    "one of two": (made((0, 12, 100), (0, 23, 100), gpus=1), 1),
    "there and back": (made((0, 22, 90), gpus=1, speed=[[1, 10]], edge=((0, 8, 1),)), 1),
}  # fmt: skip


@pytest.mark.parametrize("case", EDGE_CASES)
@pytest.mark.parametrize("formulation", ["dual", "slots"])
def test_edge_cases(case: str, formulation: str) -> None:
    """Section 9 of the family's description; `slots` is exact, `dual` encloses."""
    instance, optimum = EDGE_CASES[case]
    report = solve(instance, formulation)
    assert report.lower <= optimum <= report.upper
    if formulation == "slots":
        assert report.lower == optimum == report.upper == enumerate_optimum(instance)[0]
    assert isinstance(report.certificate, Certificate)
    assert verify(instance, certificates.document(report.certificate)).valid


def test_prices_of_nothing_prove_how_many_can_be_met_alone() -> None:
    instance = busy(1)
    problem = problem_of(instance)
    zero = bound.begin(problem, grid_of(problem))
    alone = sum(solve(_only(instance, i)).lower for i in range(instance.jobs))
    assert prove(problem, zero).upper == problem.alone == alone


def _only(instance: Instance, i: int) -> Instance:
    columns: dict[str, Any] = {
        name: freeze([int(getattr(instance, name)[i])]) for name in ("submit", "deadline", "model", "work", "share")
    }
    return replace(instance, **columns, cache={})


def test_splitting_a_cell_leaves_the_bound_as_it_is() -> None:
    """Prices of the cells that it was, whatever the new points are."""
    problem = problem_of(busy(2))
    prices = bound.descend(problem, bound.begin(problem, grid_of(problem)), 100, 2.0, 0.01)
    finer = make_grid(problem, np.unique(np.concatenate([prices.grid.points, np.arange(0, 1500, 7)])))
    finer = finer if finer.points[0] == prices.grid.points[0] else make_grid(problem, finer.points[1:])
    lam, mu = (refine_prices(each, prices.grid, finer) for each in (prices.lam, prices.mu))
    split = bound.Prices(finer, lam, mu, prices.value, prices.cost, prices.bound)
    assert prove(problem, split).total == prove(problem, prices).total


def fluid(instance: Instance, cells: int | None = None) -> float:
    """The linear program's optimum."""
    problem = problem_of(instance)
    result = backends.solve("highs", models.primal(problem, grid_of(problem, cells), whole=False))
    assert result.termination is Termination.OPTIMAL
    assert result.bound is not None
    return result.bound


def test_the_fluid_bound_is_monotone_and_its_dual_is_it() -> None:
    """More GPUs, more servers, later deadlines, a coarser grid: never less."""
    instance = busy(3, jobs=20, gpus=4)
    least = fluid(instance)
    more = [
        replace(instance, gpus=5, cache={}),
        replace(instance, edge=tuple(Window(w.start, w.end, w.servers + 1) for w in instance.edge), cache={}),
        replace(instance, deadline=freeze(instance.deadline + 30), cache={}),
    ]
    assert min(fluid(each) for each in more) >= least - 1e-6
    assert fluid(instance, 6) >= least - 1e-6
    problem = problem_of(instance)
    result = backends.solve("highs", models.dual(problem, grid_of(problem)))
    assert result.bound is not None
    assert -result.bound == pytest.approx(least, abs=1e-6)
    # With stalls in it, the bound at these very prices is no more.
    lam, mu, value = models.prices_from(problem, grid_of(problem), np.asarray(result.values))
    begun = bound.Prices(grid_of(problem), lam, mu, value, np.zeros(problem.jobs), np.inf)
    assert bound.descend(problem, begun, 1, 1.0, 1.0).bound <= least + 1e-6


def test_every_formulation_encloses_and_a_start_is_never_lost() -> None:
    """On an instance of thirty jobs; more effort, no wider."""
    instance = busy(4)
    reports = {name: solve(instance, name) for name in ("dual", "lp", "mip")}
    assert max(each.lower for each in reports.values()) <= min(each.upper for each in reports.values())
    for report in reports.values():
        assert check(instance, report.solution).value == report.lower
        assert verify(instance, certificates.document(report.certificate)).valid  # type: ignore[arg-type]
        assert not report.time_limited
    again = solve(instance, "dual", start=reports["mip"].solution)
    assert again.lower >= reports["mip"].lower
    assert solve(instance, "dual").solution == reports["dual"].solution
    wider = reports["dual"]
    more = solve(instance, "dual", effort=2)
    assert wider.lower <= more.lower <= more.upper <= wider.upper


def test_a_start_that_breaks_a_rule_is_dropped_and_told() -> None:
    """And one with late work or useless shares is taken for what it meets."""
    instance = made((0, 30, 100), (0, 30, 100))
    late = ((Piece(0, 29, 0, 4),), (Piece(29, 60, 0, 1),))
    assert solve(instance, "dual", start=late).status is Status.OPTIMAL
    report = solve(instance, "dual", start=((Piece(0, 29, 0, 3),), ()))
    assert "start: dropped, it breaks (2) job 0" in report.message


def test_limits_and_names() -> None:
    """Seconds are recorded; what does not exist or fit is refused or told."""
    instance = busy(5)
    assert solve(instance, seconds=0.2).time_limited
    assert solve(instance, gap=0.5).work.get("rounds", 0) == 0
    with pytest.raises(InputError):
        solve(instance, "simplex")
    with pytest.raises(InputError):
        solve(instance, "lp", "cpsat")
    assert "only up to" in solve(instance, "slots", seconds=0.5).message
    assert {name for name, _ in formulations()} == {"dual", "lp", "mip", "slots", "enumerate", "auto"}
    assert solve(made((0, 12, 100)), "enumerate").proof in (Proof.ENUMERATION, Proof.TRIVIAL)
    warm()


@pytest.mark.parametrize("formulation", ["lp", "mip"])
def test_exported_models_have_the_fluid_optimum(formulation: str, tmp_path: Any) -> None:
    """Read by HiGHS from both texts."""
    instance = busy(6, jobs=10)
    optimum = fluid(instance)
    for kind in ("mps", "lp"):
        file = tmp_path / f"model.{kind}"
        file.write_text(export(instance, kind, formulation))
        reply = backends.call("highs", "ratiobench.formulations.backends.highs:optimum_of_file", str(file))
        value, maximise = reply.value
        found = value if maximise else -value
        assert found <= optimum + 1e-6
        if formulation == "lp":
            assert found == pytest.approx(optimum, abs=1e-6)
    with pytest.raises(InputError):
        export(instance, "mps", "dual")


def test_the_bound_in_integers_is_the_bound_in_doubles() -> None:
    problem = problem_of(busy(7))
    prices = bound.descend(problem, bound.begin(problem, grid_of(problem)), 200, 2.0, 0.001)
    assert float(Fraction(prove(problem, prices).total, SCALE)) == pytest.approx(prices.bound, abs=1e-6)
    assert isinstance(prices.grid, Grid)
