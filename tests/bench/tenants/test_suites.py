"""Family tenants through the harness: suites, claims, measures and explanations."""

from fractions import Fraction
from typing import Any

import pytest

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.tenants.claims import CLAIMS, audit
from ratiobench.bench.tenants.evaluation import MEASURES, measures
from ratiobench.bench.tenants.explanation import explain, gantt
from ratiobench.bench.tenants.suites import READINGS, suites
from ratiobench.formulations.tenants.check import check
from ratiobench.formulations.tenants.solve import solve
from ratiobench.instances.tenants.format import parse
from ratiobench.instances.tenants.generate import expected, generate, named, names, recipes
from ratiobench.instances.tenants.model import Instance
from ratiobench.online.tenants.run import ENVIRONMENT, run


def _checks(instance: Instance, algorithm: str) -> dict[str, Check]:
    return {each.name: each for each in audit(instance, run(instance, algorithm), solve(instance))}


@pytest.mark.parametrize("suite", suites(), ids=lambda suite: suite.name)
def test_every_suite_can_be_run(suite: Any) -> None:
    """Recipes and policies exist, names differ, every group of a figure has cases and algorithms."""
    forms = {form.fixed["kind"]: form for form in recipes()}
    groups = {case.group for case in suite.cases}
    assert len({case.name for case in suite.cases}) == len(suite.cases)
    for case in suite.cases:
        forms[case.recipe["kind"]].read(case.recipe)
        for name in case.algorithms:
            assert ENVIRONMENT.registry.parse(name).entry is not None
    for plot in suite.plots:
        assert set(plot.groups) <= groups
        assert set(plot.algorithms) <= {name for case in suite.cases for name in case.algorithms}
        assert plot.kind in ("ratio", "deciding", *MEASURES)


def test_groups_differ_in_what_they_say_alone() -> None:
    """With other prices or wishes the jobs are the same; seeds are those of the statement."""
    for name in ("tenants-params", "tenants-wishes"):
        runs: dict[str, set[bytes]] = {}
        for case in find_suite(name)[1].cases[::2]:
            runs.setdefault(str(case.recipe["seed"]), set()).add(generate(case.recipe).run.tobytes())
        assert all(len(each) == 1 for each in runs.values())
    seeds = {case.recipe["seed"][1] for suite in suites() for case in suite.cases if "seed" in case.recipe}
    assert seeds <= set(range(1, 31))
    assert len(READINGS) == 12


@pytest.mark.parametrize("name", names())
def test_named_instances_are_what_they_say(name: str) -> None:
    """OPT is known exactly; the exhaustive search in its admissible reading attains it where nothing comes later."""
    instance = named(name)
    report = solve(instance)
    assert report.lower == report.upper == expected(name)["opt"]
    if not instance.release.any():
        assert run(instance, "patent:search=best-first,h=least,load=no").welfare == report.upper


def test_the_search_is_not_optimal() -> None:
    found = _checks(named("load_blinds"), "patent:search=best-first")
    assert found["optimal"].status is Verdict.VIOLATED
    assert (found["optimal"].left, found["optimal"].right) == (800, 550)
    assert found["optimal"].witness == {"cheaper_deployment": [[0, 0, 0], [1, 0, 1]]}
    assert found["load_pays"].status is Verdict.VIOLATED
    assert found["load_pays"].right == 550
    found = _checks(named("load_blinds"), "patent:search=best-first,h=least,load=no")
    assert found["optimal"].status is found["admissible"].status is found["search_pays"].status is Verdict.HOLDS
    assert found["load_pays"].status is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(("name", "h"), [("ratio_not_admissible", "ratio"), ("slack_not_admissible", "slack-late")])
def test_an_estimate_is_not_admissible(name: str, h: str) -> None:
    """h of some jobs is above what they cost in a verified deployment; least never is, zero neither."""
    found = _checks(named(name), f"patent:search=best-first,h={h},load=no")
    assert found["admissible"].status is found["optimal"].status is found["h_pays"].status is Verdict.VIOLATED
    assert found["admissible"].left > found["admissible"].right  # type: ignore[operator]
    assert found["admissible"].witness
    for other in ("least", "zero"):
        found = _checks(named(name), f"patent:search=best-first,h={other},load=no")
        assert found["admissible"].status is Verdict.HOLDS
    assert found["h_pays"].status is Verdict.NOT_APPLICABLE


def test_orders_depend_on_the_prices() -> None:
    """On some instance the search and edf change places with theta; where they are equal, nothing is said to change."""
    found = [_checks(named(name), "patent")["order"].status for name in ("load_blinds", "ties", "one_gpu")]
    assert Verdict.VIOLATED in found
    assert Verdict.HOLDS in found


def test_claims_say_whose_runs_they_are_about() -> None:
    """Every claim is checked or says why not, and applies to some run."""
    applied = set()
    for instance in (named("load_blinds"), named("waits"), generate({"kind": "batch", "jobs": 0})):
        for name in ("patent", "patent:h=zero,load=no", "edf"):
            found = _checks(instance, name)
            assert list(found) == [each.name for each in CLAIMS]
            applied |= {key for key, each in found.items() if each.status is not Verdict.NOT_APPLICABLE}
            assert all(each.reason for each in found.values())
    assert applied == {claim.name for claim in CLAIMS}


def test_measures_by_hand() -> None:
    """Two jobs on two GPUs, one of them three ticks late."""
    head = {"format": "ratiobench/tenants/1", "name": "hand", "tick_seconds": 60, "theta": 1, "late_penalty": 1}
    types = [{"name": "a", "count": 1, "price": 1_000_000}, {"name": "b", "count": 1, "price": 0}]
    jobs = [{"release": 0, "deadline": due, "cost_sensitivity": 0, "run": [4, 4]} for due in (1, 4)]
    instance = parse({**head, "gpu_types": types, "jobs": jobs})
    made = run(instance, "greedy")
    assert [start.gpu for start in made.decisions] == [0, 1]
    assert check(instance, made.decisions).per_gpu == (700, 400)
    found = measures(instance, made)
    assert found == {
        "met": Fraction(1, 2), "lateness": Fraction(3, 2), "flow": 4, "money": 2,
        "spread": Fraction(round(150 / 550 * 10**6), 10**6),
        "balanced": 1 + Fraction(round(150 / 550 * 10**6), 10**6) / 2,
    }  # fmt: skip
    nothing = generate({"kind": "batch", "jobs": 0})
    assert set(measures(nothing, run(nothing, "greedy")).values()) == {None}


def test_an_explanation_has_gantt_charts() -> None:
    """The patent's beside OPT, by GPU; what happened is told in order."""
    instance = named("load_blinds")
    made, reference = run(instance, "patent:search=best-first"), solve(instance)
    told = explain(instance, made, reference, audit(instance, made, reference)[0])
    ours, best = told.outcome
    assert ours.title.startswith("ALG")
    assert best.title.startswith("OPT")
    assert best.head == ["0 to 1", "1 to 3"]
    assert [[square.figure for square in row] for _, row in best.rows] == [[0, 1], [None, None]]
    assert gantt(instance, made.decisions, "x").rows == ours.rows
    assert told.moments[0].heading == "Tick 0"
    assert "job 1 starts on GPU 0" in str(told.moments[0].decision)
    assert told.ending.verdict is Verdict.VIOLATED
