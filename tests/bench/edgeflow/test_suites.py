"""Family edgeflow through the harness: suites, claims, measures, time lines and explanations."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.edgeflow.claims import CLAIMS, audit, find_met_in_cloud
from ratiobench.bench.edgeflow.evaluation import MEASURES, REASONS, STEPS, explain_loss, measures, timeline
from ratiobench.bench.edgeflow.explanation import explain, gantt
from ratiobench.bench.edgeflow.suites import ALGORITHMS, OPTIONS, PUBLISHED_RATIOS, published_group, suites
from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.theory.claim import Case
from ratiobench.formulations.edgeflow.check import check
from ratiobench.formulations.edgeflow.solve import solve
from ratiobench.instances.arrays import freeze
from ratiobench.instances.edgeflow.format import parse
from ratiobench.instances.edgeflow.generate import expected, generate, named, names, recipes
from ratiobench.instances.edgeflow.model import CLOUD, Instance, Piece
from ratiobench.instances.edgeflow.tables import PUBLISHED
from ratiobench.online.edgeflow.run import ENVIRONMENT, run
from ratiobench.online.outcome import OnlineRun


def _checks(instance: Instance, algorithm: str) -> dict[str, Check]:
    reference = solve(instance, "auto", "auto", 1, 0.0, None)
    return {each.name: each for each in audit(instance, run(instance, algorithm), reference)}


@pytest.mark.parametrize("suite", suites(), ids=lambda suite: suite.name)
def test_every_suite_can_be_run(suite: Any) -> None:
    """Recipes and policies exist, names differ, every group of a figure has cases, and so has what is printed."""
    forms = {form.fixed["kind"]: form for form in recipes()}
    groups = {case.group for case in suite.cases}
    assert len({case.name for case in suite.cases}) == len(suite.cases)
    for case in suite.cases:
        forms[case.recipe["kind"]].read(case.recipe)
        for name in case.algorithms:
            assert ENVIRONMENT.registry.parse(name).entry is not None
    for plot in suite.plots:
        assert set(plot.groups) <= groups
        for printed in plot.printed_means:
            assert printed.group in plot.groups
            assert any(printed.algorithm in case.algorithms for case in suite.cases if case.group == printed.group)


def test_a_day_has_the_same_jobs_on_every_cloud() -> None:
    """Groups of a suite differ in GPUs, servers, deadlines or the speed of the edge alone."""
    for name in ("edgeflow-trace1", "edgeflow-edge"):
        by_day: dict[int, set[tuple[int, ...]]] = {}
        for case in find_suite(name)[1].cases:
            by_day.setdefault(case.recipe["day"], set()).add(tuple(generate(case.recipe).work.tolist()))
        assert all(len(works) == 1 for works in by_day.values())


def test_what_is_printed_stands_beside_every_reading() -> None:
    """Each printed ratio beside all options of its policy, on the paper's jobs and GPUs."""
    suite = find_suite("elasticflow-published")[1]
    [plot] = [plot for plot in suite.plots if plot.name == "published"]
    rows = {(each.group, each.algorithm): each.value for each in plot.printed_means}
    assert len(rows) == sum(len(OPTIONS[name]) for row in PUBLISHED_RATIOS.values() for name in row)
    assert rows[published_group("testbed"), "elasticflow"] == "0.667"
    assert rows[published_group("cluster06"), "tiresias"] == "0.466"  # 0.425 is printed for Themis
    assert rows[published_group("cluster06"), "gandiva"] == "0.381"
    for case in suite.cases:
        assert case.recipe["trace"] in PUBLISHED
        assert "gpus" not in case.recipe


@pytest.mark.parametrize("name", names())
def test_named_instances_are_what_they_say(name: str) -> None:
    """OPT is known exactly, and nobody meets more."""
    instance = named(name)
    report = solve(instance, "auto", "auto", 1, 0.0, None)
    assert report.lower == report.upper == expected(name)["opt"]
    for policy, met in expected(name).items():
        if policy != "opt":
            assert run(instance, policy).admitted == met <= expected(name)["opt"]


def test_edge_servers_can_hurt() -> None:
    found = _checks(named("edge_closes"), "elasticflow:edge=any")["edge_helps"]
    assert found.status is Verdict.VIOLATED
    assert found.left == 2
    assert found.right == 1
    assert found.witness == {"met_only_without": [0], "ran_on_the_edge": [0]}
    found = _checks(named("edge_counts"), "elasticflow:edge=any")["edge_worth"]
    assert found.figures["without"] == 1


def test_admission_for_good_can_cost_most() -> None:
    """One big job shuts out three; who is not aware of deadlines does better."""
    found = _checks(named("admission_regret"), "elasticflow")
    assert found["for_good"].status is Verdict.VIOLATED
    assert found["for_good"].right == 1
    assert found["for_good"].witness == {"never_ran_and_can_be_met": [1, 2, 3]}
    assert found["aware"].status is Verdict.VIOLATED
    assert found["aware"].left == 3
    assert found["guarantee"].status is Verdict.HOLDS
    assert found["edge_helps"].status is Verdict.NOT_APPLICABLE
    assert found["room"].status is Verdict.HOLDS
    assert _checks(named("edge_counts"), "elasticflow")["for_good"].status is Verdict.UNDECIDED  # it takes a server


def test_admission_for_good_is_compared_with_a_schedule_that_needs_no_edge_server() -> None:
    """Where the best schedule known has jobs on the edge, a run without edge servers may meet more in the cloud."""
    instance = generate({"kind": "gpu-day", "jobs": 40, "gpus": 8, "servers": 8, "seed": ["tests", "for good", 9]})
    played, reference = run(instance, "elasticflow"), solve(instance, "auto", "auto", 1, 0.0, None)
    (found,) = (each for each in audit(instance, played, reference) if each.name == "for_good")
    rival = run(instance, "hold:edge=none")
    assert sum(find_met_in_cloud(instance, reference)) <= played.admitted < rival.admitted
    assert (found.status, found.left) == (Verdict.VIOLATED, rival.admitted)


@pytest.mark.parametrize(
    ("algorithm", "applies"),
    [("elasticflow:margin=all", True), ("elasticflow:block=artifact,margin=none", True), ("elasticflow:slot=60", False),
     ("elasticflow:edge=ending", False), ("edgeflow", False)],
)  # fmt: skip
def test_the_claim_about_afs_is_about_every_reading_of_the_admission(algorithm: str, applies: bool) -> None:
    """And about no other option: AFS has no slots and no edge servers."""
    found = _checks(named("admission_regret"), algorithm)["aware"]
    assert (found.status is Verdict.VIOLATED) == applies
    assert (found.status is Verdict.NOT_APPLICABLE) != applies


def test_another_policy_is_played_beside_at_any_size() -> None:
    """A thousand jobs, as the largest printed traces have: `aware` has a verdict."""
    small = named("edf_domino")
    fields = ("submit", "deadline", "model", "work", "share")
    columns = {name: freeze(getattr(small, name)[:1].repeat(1000)) for name in fields}
    instance = replace(small, **columns, cache={})
    (claim,) = (claim for claim in CLAIMS if claim.name == "aware")
    played = run(instance, "elasticflow")
    case = Case(instance, played, solve(small))
    assert claim.applies(case) == ""
    found = claim.check_run(case)
    assert found.status in (Verdict.HOLDS, Verdict.VIOLATED)
    assert found.right == played.welfare


def test_nobody_can_be_a_tenth_better_than_the_best() -> None:
    """Where a baseline meets all that can be met, the claim of 1.1 times is refuted."""
    found = _checks(named("edf_domino"), "tiresias")["room"]
    assert found.left is not None
    assert found.right == 4
    assert (found.status is Verdict.VIOLATED) == (found.left > 4)
    assert _checks(named("hopeless"), "edf")["room"].status is Verdict.HOLDS


def test_claims_say_whose_runs_they_are_about() -> None:
    """Every claim is checked or says why not, on every policy; and applies to some run."""
    instance = named("edge_counts")
    applied = set()
    for name in ("elasticflow", "elasticflow:edge=any", "afs"):
        found = _checks(instance, name)
        assert list(found) == [each.name for each in CLAIMS]
        applied |= {key for key, each in found.items() if each.status is not Verdict.NOT_APPLICABLE}
        assert all(each.reason for each in found.values())
    assert applied == {claim.name for claim in CLAIMS}


def _by_hand() -> tuple[Instance, OnlineRun]:
    """Two jobs: one moves to the edge and back, the other changes its share and is late."""
    model = {"name": "m", "speed": [[1, 100], [2, 150]], "edge_speed": 50, "overhead_s": 1, "edge_overhead_s": 2}
    instance = parse(
        {
            "format": "ratiobench/edgeflow/1", "name": "hand", "cloud": {"gpus": 2, "node_gpus": 8},
            "edge": [{"from": 4, "to": 10, "servers": 2}], "models": [model],
            "jobs": [
                {"submit": 0, "deadline": 20, "model": "m", "work": 1000, "gpus": 1},
                {"submit": 2, "deadline": 12, "model": "m", "work": 1500, "gpus": 2},
            ],
        }
    )  # fmt: skip
    plan = (
        (Piece(0, 4, 0, 1), Piece(4, 10, 1, 1), Piece(10, 20, 0, 1)),
        (Piece(4, 8, 0, 2), Piece(8, 10, 0, 1), Piece(10, 12, 0, 1)),
    )
    made = run(instance, "edf")
    fields = {name: getattr(made, name) for name in made.__slots__}
    return instance, OnlineRun(**{**fields, "decisions": plan, "welfare": 1, "admitted": 1})


def test_measures_by_hand() -> None:
    """Counted on paper: 300 in 4 s, 150 on the server (3 s of 6 still), 700 in the 7 s that are left of 10."""
    instance, made = _by_hand()
    assert check(instance, made.decisions).met == (True, False)
    assert measures(instance, made) == {
        "satisfied": Fraction(1, 2),
        "moves": Fraction(3, 2),
        "crossings": 1,
        "stalled_s": Fraction(1 + 3 + 3 + 1 + 1, 2),
        "gpu_use": Fraction(4 + 10 + 8 + 4, 40),
        "well_used": Fraction(14, 26),
    }
    assert tuple(measures(named("no_jobs"), run(named("no_jobs"), "edf"))) == MEASURES


def test_gpus_in_use_after_the_last_deadline_do_not_count() -> None:
    """A late job goes on when there is nothing to measure against any more."""
    instance, _ = _by_hand()
    late = replace(instance, work=instance.work * 9, cache={})
    made = run(late, "edf:late=keep")
    assert check(late, made.decisions).gpu_seconds > 40
    found = measures(late, made)
    assert found["gpu_use"] is not None
    assert found["gpu_use"] <= 1


def test_the_time_line_by_hand() -> None:
    """Seconds, GPUs in use, servers in use and there, and who missed."""
    instance, made = _by_hand()
    found = timeline(instance, made)
    assert (found.unit, list(found.times)) == ("second", list(range(1, 21)))
    cloud, edge, there = found.loads
    assert cloud.mean[:12] == [*[Fraction(1, 2)] * 4, *[1] * 4, *[Fraction(1, 2)] * 2, 1, 1]
    assert edge.mean[3:11] == [0, *[Fraction(1, 2)] * 6, 0]
    assert sum(there.mean) == 6
    assert [(each.number, each.time, each.reason) for each in found.refused] == [(1, 3, "cannot be met")]
    assert sum(found.admitted) == 1
    assert {each.reason for each in found.refused} <= set(REASONS)


def test_the_time_line_of_a_day() -> None:
    """At most 240 places; the load is the checker's GPU seconds."""
    instance = generate({"kind": "gpu-day", "jobs": 30, "gpus": 8, "servers": 2})
    made = run(instance, "elasticflow")
    found = timeline(instance, made)
    assert len(found.times) <= 240
    assert found.unit.endswith("slot") or found.unit == "hour"
    assert sum(found.admitted) + len(found.refused) == 30
    used = sum(found.loads[0].mean) * instance.gpus
    assert Fraction(check(instance, made.decisions).gpu_seconds) / used in STEPS


def test_an_explanation_is_a_gantt_chart() -> None:
    """Squares say on how many GPUs, or on the edge, or that a job waits; what happened is told in order."""
    instance, made = _by_hand()
    grid = gantt(instance, made.decisions, "ALG")
    assert grid.head[:3] == ["0 to 2", "2 to 4", "4 to 8"]
    assert [square.figure for square in grid.rows[0][1]] == [1, 1, "e", "e", 1, 1]
    assert [square.figure for square in grid.rows[1][1]] == [None, "-", 2, 1, 1, None]
    reference = solve(instance, "auto", "auto", 1, 0.0, None)
    closes = named("edge_closes")
    told = explain(
        closes, run(closes, "elasticflow:edge=any"), reference, audit(closes, run(closes, "edf"), reference)[0]
    )
    assert told.moments[0].heading == "Second 0"
    assert "job 0 comes" in str(told.moments[0].said)
    assert "goes to an edge server" in str(told.moments[0].decision)


def test_two_workers_make_the_table_of_one(tmp_path: Path) -> None:
    """Every figure, of OPT (a solver's among them), the policies and the claims."""
    one, two = (
        ratiobench.run("edgeflow-named", out=tmp_path / str(k), only="edge_closes", workers=k).exact for k in (1, 2)
    )
    assert len(one) == len(ALGORITHMS)
    assert one.equals(two)


def test_a_piece_that_continues_another_has_no_stall_in_a_report_of_losses() -> None:
    """As the checker has it: a job in two pieces without a gap is done by its deadline, as in one piece."""
    instance = named("edge_closes")
    one, two = (Piece(0, 15, CLOUD, 1),), (Piece(0, 8, CLOUD, 1), Piece(8, 15, CLOUD, 1))
    for best in (one, two):
        report = explain_loss(instance, ((), ()), (best, ()))
        assert [loss.arrival for loss in report.losses] == [0]
    [loss] = explain_loss(instance, (two[:1], ()), (one, ())).losses
    assert loss.figures["done"] == 0.5
    assert explain_loss(instance, (two, ()), (one, ())).losses == []
