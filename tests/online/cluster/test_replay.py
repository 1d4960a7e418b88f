"""The replay against the second simulator, on random logs and by hand; own policies."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ratiobench.formulations.cluster.check import check
from ratiobench.instances.cluster.format import FORMAT, document, parse
from ratiobench.instances.cluster.model import Instance, Schedule
from ratiobench.online.cluster.algorithms import DEFAULTS, knows_lengths
from ratiobench.online.cluster.protocol import Cluster, Job, adapt
from ratiobench.online.cluster.registry import REGISTRY
from ratiobench.online.cluster.replay import Replay, Rule, replay
from ratiobench.online.cluster.run import ENVIRONMENT, Simulator
from ratiobench.online.cluster.state import BELIEFS, CONSERVATIVE, EASY, FIRST_FIT, NO_BACKFILL, ORDERS
from ratiobench.online.referee.simulator import run_in_process
from tests.online.cluster.random_logs import draw_log
from tests.oracles.cluster import Simulation
from tests.support.cluster_rules import make_rule, run_policy
from tests.support.documents import refusal_of


def rules() -> Iterator[Rule]:
    """Every order under EASY, every belief under every kind of backfill, several reservations."""
    yield from (Rule(order) for order in ORDERS)
    yield from (Rule(backfill=b, belief=c) for b, c in product((NO_BACKFILL, FIRST_FIT, EASY, CONSERVATIVE), BELIEFS))
    candidates = ("order", "shortest", "shortest")
    yield from (Rule("area", EASY, b, k, candidates[k - 1]) for b, k in product(BELIEFS, (1, 2, 3)))
    yield from (Rule(order, CONSERVATIVE) for order in ("shortest", "multifactor"))


def differences(instance: Instance, rule: Rule) -> list[str]:
    """Which of starts, pools and nodes differ between the two simulators."""
    ours, other = replay(instance, rule).schedule, Simulation(instance, rule)
    ends = np.cumsum(instance.jobs.nodes)[:-1]
    nodes = [sorted(part.tolist()) for part in np.split(ours.node, ends)]
    pairs = {
        "starts": (ours.start.tolist(), other.starts),
        "pools": (ours.pool.tolist(), other.pools),
        "nodes": (nodes, [sorted(part) for part in other.nodes]),
    }
    return [name for name, (a, b) in pairs.items() if a != b]


@pytest.mark.parametrize("seed", range(20))
def test_both_simulators_start_the_same_jobs(seed: int) -> None:
    """A few random logs, every rule: starts, pools and nodes."""
    instance = draw_log(seed)
    assert {rule: found for rule in rules() if (found := differences(instance, rule))} == {}


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(20))
def test_both_simulators_start_the_same_jobs_of_2000_logs(part: int) -> None:
    """As above, 100 logs a part."""
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        instance = draw_log(seed)
        assert {rule: found for rule in rules() if (found := differences(instance, rule))} == {}, seed


def log(rows: Sequence[tuple[int, int, int, int]], **more: Any) -> Instance:
    """A log of one pool of 4 one-GPU nodes; rows of submit, run, limit, width."""
    submit, run, limit, width = (list(column) for column in zip(*rows, strict=True))
    n = len(rows)
    jobs = {"submit": submit, "run": run, "limit": limit, "nodes": width, "gpus": [1] * n, "pools": [0] * n}
    document = {
        "format": FORMAT,
        "name": "by hand",
        "begin": 0,
        "pools": [{"name": "p", "nodes": 4, "gpus": 1}],
        "pool_sets": [[0]],
        "jobs": {"id": [str(j) for j in range(n)], **jobs},
    }
    return parse(document | more)


def starts(result: Replay) -> list[int]:
    return result.schedule.start.tolist()


HEAD = [(0, 10, 10, 3), (1, 10, 10, 4), (2, 5, 8, 1), (3, 5, 9, 1)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fcfs", [0, 10, 20, 20]),
        ("firstfit", [0, 12, 2, 7]),
        ("easy", [0, 10, 2, 20]),  # job 3's limit ends at 12 or later, after the reservation at 10
        ("easy:belief=true", [0, 10, 2, 20]),
        ("conservative", [0, 10, 2, 20]),
        ("easy:order=shortest", [0, 12, 2, 7]),
    ],
)
def test_jobs_overtake_as_the_rule_says(policy: str, expected: list[int]) -> None:
    """Four jobs on four nodes, worked out by hand."""
    assert starts(replay(log(HEAD), make_rule(policy))) == expected


def two_pools(rows: Sequence[tuple[int, int, int, int]], sets: Sequence[int]) -> Instance:
    """A log of two pools of 4 one-GPU nodes; a job may use the first (0), the second (1) or both (2)."""
    whole = document(log(rows))
    whole |= {"pools": [whole["pools"][0], whole["pools"][0] | {"name": "q"}], "pool_sets": [[0], [1], [0, 1]]}
    return parse(whole | {"jobs": whole["jobs"] | {"pools": list(sets)}})


@pytest.mark.parametrize("policy", ["fcfs", "easy", "easy:reservations=2,candidates=shortest", "conservative"])
def test_pools_that_no_job_connects_have_queues_of_their_own(policy: str) -> None:
    """A job that does not fit in one pool holds up no job of the other: each part starts as it does alone."""
    r = random.Random(7)
    rows = sorted((r.randint(0, 60), r.randint(1, 20), r.randint(1, 30), r.randint(1, 4)) for _ in range(40))
    home, rule = [r.randrange(2) for _ in rows], make_rule(policy)
    together = starts(replay(two_pools(rows, home), rule))
    for part in range(2):
        alone = log([row for row, pool in zip(rows, home, strict=True) if pool == part])
        mine = [start for start, pool in zip(together, home, strict=True) if pool == part]
        assert mine == starts(replay(alone, rule))


@pytest.mark.parametrize("policy", ["fcfs", "firstfit", "easy", "easy:reservations=2", "conservative", "replan"])
def test_no_start_depends_on_jobs_that_come_later(policy: str) -> None:
    """A job that may use two pools connects them from its submit on; random logs without their later half."""
    rule, last = make_rule(policy), (1000, 1, 1, 1)
    for rows, sets in (
        ([(0, 10, 10, 3), (1, 10, 10, 4), (2, 5, 8, 1)], [0, 0, 1]),
        ([(0, 10, 10, 3), (0, 10, 10, 3), (1, 10, 10, 4), (2, 10, 10, 4), (3, 20, 20, 1)], [0, 1, 0, 1, 1]),
    ):
        before, after = two_pools(rows, sets), two_pools([*rows, last], [*sets, 2])
        assert starts(replay(after, rule))[:-1] == starts(replay(before, rule))
    for seed in range(20):
        instance = draw_log(seed)
        half = ENVIRONMENT.first_half(instance)
        n = len(half.jobs)
        if n == len(instance.jobs):
            continue
        early, whole = (replay(each, rule).schedule.start[:n] for each in (half, instance))
        until = instance.jobs.submit[n]
        assert np.minimum(early, until).tolist() == np.minimum(whole, until).tolist(), seed


def test_a_closed_node_sends_its_job_back() -> None:
    """The job starts again when the node is up; its wait counts from its submit; a known closure is left free."""
    closure = {"node": 0, "start": 5, "end": 8}
    pools = [{"name": "p", "nodes": 1, "gpus": 1, "closures": [closure]}]
    late = log([(0, 10, 10, 1)], pools=pools)
    result = replay(late, make_rule("easy"))
    assert (starts(result), result.requeued.tolist()) == ([8], [1])
    known = log([(0, 10, 10, 1)], pools=[{**pools[0], "closures": [{**closure, "announced": 0}]}])
    result = replay(known, make_rule("easy"))
    assert (starts(result), result.requeued.tolist()) == ([8], [0])


@pytest.mark.parametrize("bound", ["user_gpus", "account_gpus", "quota"])
def test_jobs_that_fit_a_bound_alone_do_not_start_together(bound: str) -> None:
    same = {name: [0, 0] for name in ("submit", "pools", "account", "user", "partition")}
    jobs = same | {"id": ["1", "2"], "run": [10, 10], "nodes": [1, 1], "gpus": [1, 1]}
    head = {"format": FORMAT, "name": "b", "begin": 0, "pools": [{"name": "p", "nodes": 1, "gpus": 4}], "jobs": jobs}
    part = {"name": "m", "pools": ["p"]} | ({} if bound == "quota" else {bound: 1})
    quotas = [{"account": "x", "nominal": [1], "strict": True}] if bound == "quota" else []
    names = {"pool_sets": [[0]], "users": ["u"], "accounts": ["x"], "partitions": [part], "quotas": quotas}
    for name in ("fcfs", "firstfit", "easy", "conservative", "replan"):
        assert starts(run_policy(parse(head | names), name)) == [0, 10], name


@pytest.mark.parametrize("seed", range(20))
def test_replan_starts_jobs_within_bounds_and_quotas(seed: int) -> None:
    """Random logs with every part of the model: starts are feasible, also with work for few plans, and repeatable."""
    instance = draw_log(seed)
    for name in ("replan", "replan:work=1,guard=0,belief=true", "replan:gpu_hours=1,belief=last2"):
        result = run_policy(instance, name)
        report = check(instance, result.schedule, "wait")
        assert report.violations == ()
        assert starts(result) == starts(run_policy(instance, name))


def test_replan_finds_the_best_order_and_guards_against_starving() -> None:
    """Short jobs first where that is best for the mean; a wide job among short ones starts sooner with a guard."""
    assert starts(run_policy(log([(0, 4, 4, 4), (1, 9, 9, 3), (1, 2, 2, 4)]), "replan")) == [0, 6, 4]
    rows = [(0, 3600, 3600, 2), (0, 7200, 7200, 4)] + [(1800 * k, 3600, 3600, 2) for k in range(1, 40)]
    early, late = (starts(run_policy(log(rows), f"replan:guard={guard}"))[1] for guard in (1, 0))
    assert early < late


def test_names_are_read_and_bad_ones_refused() -> None:
    """Options reach the rule; what is not allowed is named in one line."""
    rule = make_rule("easy:order=wfp3,belief=last2,reservations=3,candidates=shortest")
    assert rule == Rule("wfp3", EASY, "last2", 3, "shortest")
    for name, field in (
        ("easy:reservations=0", "easy:reservations"),
        ("easy:order=x", "easy:order"),
        ("replan:guard=-1", "replan:guard"),
        ("fcfs:reservations=2", "fcfs:reservations"),
        ("eazy", "eazy"),
    ):
        assert refusal_of(make_rule, name).startswith(f"algorithm: {field}: ")


def test_every_policy_of_the_default_table_runs() -> None:
    """Each name is in its one spelling and starts every job of a log; one is an oracle."""
    assert [REGISTRY.parse(name).name for name in DEFAULTS] == list(DEFAULTS)
    assert [name for name in DEFAULTS if knows_lengths(name)] == ["easy:belief=true,candidates=shortest"]
    for name in DEFAULTS:
        assert min(starts(run_policy(log(HEAD), name))) == 0


class FirstFit:
    """An own policy that does what `firstfit` does; a limit of nodes is tracked by itself."""

    def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> list[Job]:
        free = int(cluster.free.sum())
        chosen = []
        for job in waiting:
            if job.nodes <= free:
                chosen.append(job)
                free -= job.nodes
        return chosen


class Patient:
    """Starts every job alone, on the nodes that it names, ten seconds after its submit."""

    def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> list[Any]:
        cluster.ask_at(now + 1)
        if cluster.running or now < waiting[0].submit + 10:
            return []
        return [(waiting[0], list(range(4 - waiting[0].nodes, 4)))]


def played(policy: Any) -> tuple[Schedule, list[str]]:
    """What an own policy does with the log HEAD under the referee, and the rules that it breaks."""
    table = Simulator(log(HEAD))
    record = run_in_process(table, adapt(policy), {})
    return table.schedule(), [str(violation) for violation in record.violations]


def test_own_policies_are_played() -> None:
    """The same starts as a listed policy; own nodes and own seconds."""
    schedule, violations = played(FirstFit())
    assert (schedule.start.tolist(), violations) == (starts(replay(log(HEAD), make_rule("firstfit"))), [])
    schedule, violations = played(Patient())
    assert (schedule.start.tolist(), violations) == ([10, 20, 30, 35], [])
    assert schedule.node.tolist() == [1, 2, 3, 0, 1, 2, 3, 3, 3]


def test_a_policy_that_starts_nothing_ends_where_a_clock_ticks() -> None:
    table = Simulator(replace(log([(0, 5, 5, 1)]), cycle=60, cache={}))
    policy = SimpleNamespace(schedule=lambda now, waiting, cluster: [])
    record = run_in_process(table, adapt(policy), {})
    assert [str(violation) for violation in record.violations] == ["every job: job 0: never starts"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1], "job 1 does not wait at 0"),
        ([0, 0], "job 0 does not wait at 0"),
        ([(0, [0, 1])], "job 0 needs 3 different nodes, not [0, 1] at 0"),
        ([(0, [0, 1, 1])], "job 0 needs 3 different nodes, not [0, 1, 1] at 0"),
        ([(0, [1, 2, 4])], "job 0 needs 3 different nodes, not [1, 2, 4] at 0"),
        (7, "answered '7', which is no list of jobs"),
        ([0.5], "answered '[0.5]', which is no list of jobs: a job 0.5 is not an integer"),
    ],
)
def test_what_an_own_policy_may_not_do(answer: Any, message: str) -> None:
    """The rule that is broken is named with job and second."""

    class Odd:
        def schedule(self, now: int, waiting: Sequence[Job], cluster: Cluster) -> Any:
            return answer

    [violation] = played(Odd())[1]
    assert message in violation
