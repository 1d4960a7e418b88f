"""The policies of family `edgeflow`: valid everywhere, never above a bound, and each as its rule says."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.edgeflow.check import check
from ratiobench.formulations.edgeflow.solve import solve
from ratiobench.instances.edgeflow.format import FORMAT, parse
from ratiobench.instances.edgeflow.generate import generate, named, names
from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Instance, Piece
from ratiobench.instances.io.errors import InputError
from ratiobench.online.edgeflow.registry import algorithms, canonical, entries
from ratiobench.online.edgeflow.run import ENVIRONMENT, run
from ratiobench.online.run import list_choices
from tests.online.edgeflow.test_table import make
from tests.support.samples import samples
from tests.support.strategies.edgeflow import tiny_instances

POLICIES = (
    "edf", "edf:share=elastic", "edf:levels=measured,share=elastic", "gandiva", "tiresias", "afs", "elasticflow",
    "elasticflow:edge=any", "elasticflow:edge=ending", "elasticflow:margin=all",
    "elasticflow:admit=batch,block=artifact,slot=3,spare=large,margin=none", "edgeflow", "edgeflow:block=artifact",
    "edgeflow:stay=no", "edgeflow:offload=no", "edgeflow:rescue=no", "hold", "hold:edge=none",
)  # fmt: skip


@settings(max_examples=samples(25), deadline=None)
@given(tiny_instances(), st.sampled_from(["", "late=keep", "windows=hidden"]))
def test_every_run_is_valid_and_not_above_the_bound(instance: Instance, terms: str) -> None:
    """Upper bound >= every policy, late jobs dropped or kept, windows known or hidden."""
    upper = solve(instance, "dual").upper
    assert upper is not None
    for name in POLICIES:
        found = run(instance, f"{name}{',' if ':' in name else ':'}{terms}" if terms else name)
        assert found.valid, (name, found.violations)
        assert found.welfare <= upper, name
        assert sum(check(instance, found.decisions).met) == found.welfare


@pytest.mark.parametrize("name", names())
def test_named_instances_are_played_and_never_above_what_can_be_met(name: str) -> None:
    instance = named(name)
    best = solve(instance).upper
    for choice in (*POLICIES, *list_choices(ENVIRONMENT)[names().index(name) :: 7]):
        found = run(instance, choice)
        assert found.valid, (choice, found.violations)
        assert best is not None
        assert found.welfare <= best, choice


def test_every_policy_warms_up_and_is_listed() -> None:
    for name in list_choices(ENVIRONMENT):
        run(ENVIRONMENT.small(), name)
    assert {name.partition(":")[0] for name in POLICIES} == set(entries()) == {name for name, _ in algorithms()}
    for name in POLICIES:
        assert canonical(canonical(name).split()[0]) == canonical(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hold:late=never", "late"), ("elasticflow:slot=x", "slot"), ("elasticflow:slot=-1", "slot"),
        ("elasticflow:margin=stalls", "margin"), ("elasticflow:block=all", "block"),
        ("edgeflow:slot=x", "edgeflow:slot"), ("edgeflow:edge=any", "no such option"),
        ("tests.support.edgeflow_contestants:Random:late=never", "late"),
    ],
)  # fmt: skip
def test_options_that_do_not_exist_are_refused(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        run(make([(0, 9, 10)]), name)
    assert "\n" not in str(caught.value)


def test_edf_passes_over_what_does_not_fit() -> None:
    """By deadline: four GPUs for the first, none for the second, which is too wide for the rest, one for the third."""
    instance = _shares([(0, 20, 60, 4), (0, 25, 60, 4), (0, 30, 60, 1)], gpus=5)
    decisions = run(instance, "edf").decisions
    assert [pieces[0] for pieces in decisions] == [Piece(0, 2, CLOUD, 4), Piece(2, 4, CLOUD, 4), Piece(0, 6, CLOUD, 1)]


def test_tiresias_prefers_who_has_attained_less() -> None:
    """One GPU: at 3250 GPU seconds the first falls behind the second."""
    decisions = run(_shares([(0, 9000, 40_000, 1), (5, 9000, 40_000, 1)], gpus=1), "tiresias").decisions
    assert decisions[0][0] == Piece(0, 3250, CLOUD, 1)
    assert decisions[1][0] == Piece(3250, 6500, CLOUD, 1)
    assert decisions[0][1].start == 6500


def test_gandiva_takes_turns() -> None:
    """Two jobs of four GPUs on four: each runs for a minute."""
    decisions = run(_shares([(0, 9000, 9000, 4), (0, 9000, 9000, 4)], gpus=4), "gandiva").decisions
    assert decisions[0][:2] == (Piece(0, 60, CLOUD, 4), Piece(120, 180, CLOUD, 4))
    assert decisions[1][:2] == (Piece(60, 120, CLOUD, 4), Piece(180, 240, CLOUD, 4))


def test_gandiva_gets_on_where_a_stall_takes_a_turn() -> None:
    """One GPU, stalls of a minute: a turn lasts until there was progress, so late jobs end, and with them the run."""
    jobs = _shares([(0, 500, 100, 1), (0, 500, 100, 1)], gpus=1)
    stalling = replace(jobs, models=tuple(replace(model, overhead_s=60) for model in jobs.models), cache={})
    decisions = run(stalling, "gandiva:late=keep").decisions
    assert [(piece.start, piece.end) for piece in decisions[0]] == [(0, 70)]
    assert [(piece.start, piece.end) for piece in decisions[1]] == [(70, 140)]
    longer = replace(stalling, work=stalling.work * 10, cache={})
    assert [(p.start, p.end) for p in run(longer, "gandiva:late=keep").decisions[0]] == [(0, 120), (240, 340)]


@pytest.mark.parametrize(("gpus", "first"), [(1, Piece(0, 90, CLOUD, 1)), (3, Piece(0, 50, CLOUD, 2))])
def test_afs_breaks_ties_by_deadline(gpus: int, first: Piece) -> None:
    """Two jobs alike but for their deadlines; the step goes to the second, which is due first."""
    decisions = run(_shares([(0, 900, 900, 1), (0, 800, 900, 1)], gpus=gpus), "afs").decisions
    assert decisions[1][0] == first


def test_edgeflow_rescues_by_the_earlier_deadline_where_all_else_is_equal() -> None:
    """Two jobs have 20 s to spare, the third needs all GPUs at once; the second, due first, moves for it."""
    model = {"name": "m", "speed": [[1, 10], [2, 20]], "edge_speed": 10, "overhead_s": 0, "edge_overhead_s": 0}
    rows = [(400, 3800), (300, 2800), (100, 2000)]
    jobs = [{"submit": 0, "deadline": d, "model": "m", "work": w, "gpus": 1} for d, w in rows]
    top = {"format": FORMAT, "name": "t", "cloud": {"gpus": 2, "node_gpus": 8}}
    edge = [{"from": 0, "to": 400, "servers": 1}]
    found = run(parse({**top, "edge": edge, "models": [model], "jobs": jobs}), "edgeflow:margin=none,offload=no")
    assert found.decisions[1] == (Piece(0, 280, EDGE, 1),)
    assert found.welfare == 3


def test_afs_serves_everybody_before_it_serves_anybody_twice() -> None:
    """Three jobs, four GPUs: one each, and the step goes to the shortest."""
    decisions = run(_shares([(0, 900, 900, 1), (0, 900, 800, 1), (0, 900, 1000, 1)], gpus=4), "afs").decisions
    assert [pieces[0].gpus for pieces in decisions] == [1, 2, 1]


def test_afs_decides_alike_on_numbers_too_large_for_its_kernel() -> None:
    """All speeds and all work 2^40 times as large; jobs that need equally long go by position."""
    rows = [(0, 900, 90 + 7 * (k % 5), 1) for k in range(12)]
    small = _shares(rows, gpus=16)
    (model,) = small.models
    large = replace(small, models=(replace(model, speed=tuple(s << 40 for s in model.speed)),), work=small.work << 40)
    assert run(large, "afs").decisions == run(small, "afs").decisions


def test_elasticflow_declines_for_good_and_hold_does_not() -> None:
    """One big job shuts out three small ones."""
    instance = named("admission_regret")
    lazy, ours = run(instance, "elasticflow"), run(instance, "hold")
    assert lazy.welfare < ours.welfare
    served = [bool(pieces) for pieces in lazy.decisions]
    assert not all(served)


PLANNED = ("elasticflow", "edgeflow")  # The policies that admit by a plan


@pytest.mark.parametrize("name", PLANNED)
@pytest.mark.parametrize(
    ("options", "met"),
    [
        ("", 2),
        ("block=artifact", 2),
        ("block=artifact,margin=none", 2),
        ("margin=all", 1),
        ("block=artifact,margin=all", 1),
    ],
)
def test_an_admitted_job_that_spent_its_margin_blocks_no_newcomer(name: str, options: str, met: int) -> None:
    """Job 0 needs all GPUs and ends exactly at its deadline, 2 s after its plan's end: its start took that margin.

    With the margin kept, no plan has job 0 any more: it blocks the newcomer, or loses GPUs to it.
    """
    instance = make([(0, 100, 2940), (50, 400, 100)])
    found = run(instance, f"{name}:{options}")
    assert found.welfare == met
    assert bool(found.decisions[1]) == (options != "block=artifact,margin=all")


@pytest.mark.parametrize("name", PLANNED)
def test_an_admitted_job_that_will_be_late_blocks_newcomers_in_the_artifact_alone(name: str) -> None:
    """Without a margin the stall of its start makes job 0 late: by then no plan has it."""
    instance = make([(0, 100, 3000), (50, 90, 100)])
    assert run(instance, f"{name}:margin=none").welfare == 1
    assert run(instance, f"{name}:block=artifact,margin=none").decisions[1] == ()


@pytest.mark.parametrize("name", PLANNED)
@pytest.mark.parametrize("block", ["none", "artifact"])
def test_a_newcomer_takes_no_gpu_that_an_admitted_job_needs(name: str, block: str) -> None:
    """Job 0 needs all GPUs to its deadline; job 1, due before, is declined and job 0 met."""
    found = run(make([(0, 100, 2940), (50, 90, 300)]), f"{name}:block={block}")
    assert found.decisions[1] == ()
    assert check(make([(0, 100, 2940), (50, 90, 300)]), found.decisions).met == (True, False)


def test_elasticflow_gives_the_least_share_that_suffices_and_spreads_the_rest() -> None:
    """Two jobs that need one GPU each have both spare ones split between them."""
    decisions = run(_shares([(0, 60, 300, 1), (0, 60, 300, 1)], gpus=4), "elasticflow").decisions
    assert [pieces[0].gpus for pieces in decisions] == [2, 2]


def test_hold_finds_a_small_share_that_suffices_where_a_larger_one_does_not() -> None:
    """Stalls of 2 s are charged at the speed tried: 9 in 18 s do 143 and a stall; 10 do not where it is not free."""
    model = {"name": "m", "speed": [[2, 9], [16, 10]], "edge_speed": 0, "overhead_s": 2, "edge_overhead_s": 3}
    rows = [(0, 42, 60), (0, 30, 254), (12, 55, 290), (12, 70, 35), (12, 30, 143)]
    jobs = [{"submit": a, "deadline": b, "model": "m", "work": w, "gpus": 2} for a, b, w in rows]
    top = {"format": FORMAT, "name": "t", "cloud": {"gpus": 16, "node_gpus": 8}, "edge": []}
    found = run(parse({**top, "models": [model], "jobs": jobs}), "hold")
    assert found.decisions[4] == (Piece(12, 30, CLOUD, 2),)
    assert found.welfare == 4


def test_slots_put_arrivals_off() -> None:
    """A job that comes at 5 starts at 60."""
    (pieces,) = run(_shares([(5, 600, 300, 1)], gpus=1), "elasticflow:slot=60").decisions
    assert pieces[0].start == 60


def test_edge_servers_are_used_by_those_that_end_there() -> None:
    """EdgeFlow off-loads one of two while GPUs are free; none, if that rule is off."""
    jobs = [(0, 400, 300), (0, 400, 600)]
    instance = make(jobs, edge=[(0, 300, 1)], gpus=8)
    assert any(piece.place == EDGE for pieces in run(instance, "edgeflow").decisions for piece in pieces)
    for name in ("edgeflow:offload=no", "elasticflow", "hold:edge=none"):
        assert all(piece.place == CLOUD for pieces in run(instance, name).decisions for piece in pieces)


def test_edgeflow_says_that_it_is_reconstructed() -> None:
    instance = make([(0, 50, 100)])
    assert run(instance, "edgeflow").label == "edgeflow (reconstructed)"
    assert run(instance, "edgeflow:stay=no,late=keep").label == "edgeflow:late=keep,stay=no (reconstructed)"


DAY = {"kind": "gpu-day", "cluster": "pai", "jobs": 60, "gpus": 16, "servers": 2, "seed": ["tests", "online"]}


def test_one_process_or_another_plays_the_same() -> None:
    """A day of jobs: runs here and in a fresh process, in another order, have the same pieces."""
    code = (
        "from ratiobench.instances.edgeflow.generate import generate; from ratiobench.online.edgeflow.run import run; "
        "import hashlib; "
        f"day = generate({DAY!r}); "
        "print(*(hashlib.sha256(repr(run(day, name).decisions).encode()).hexdigest() for name in ('hold', 'edgeflow')))"
    )
    root = Path(__file__).resolve().parents[3]
    there = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    day = generate(DAY)
    here = [hashlib.sha256(repr(run(day, name).decisions).encode()).hexdigest() for name in ("edgeflow", "hold")]
    assert there.split() == here[::-1]


def test_no_policy_uses_a_piece_that_goes_on_as_two() -> None:
    """A change costs a stall: pieces of a job differ from their neighbours, or there is a gap or a window between."""
    day = generate(DAY)
    for name in ("elasticflow", "hold"):
        for pieces in run(day, name).decisions:
            for one, other in pairwise(pieces):
                assert (one.end, *one[2:]) != (other.start, *other[2:]) or one.place == EDGE


def _shares(jobs: list[tuple[int, ...]], gpus: int) -> Instance:
    """Jobs (submit, deadline, work, requested GPUs) without stalls."""
    return make(jobs, gpus, edge_speed=0, overhead_s=0, edge_overhead_s=0)
