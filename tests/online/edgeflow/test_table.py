"""The referee of family `edgeflow`: against a literal simulator, second by second, and at every edge of its rules."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratiobench.formulations.edgeflow.check import check
from ratiobench.instances.edgeflow.format import FORMAT, parse
from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Instance, Piece
from ratiobench.online.edgeflow.protocol import View
from ratiobench.online.edgeflow.run import ENVIRONMENT, EdgeflowEnvironment
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run import run_built
from tests.support import literal_edgeflow as literal
from tests.support.edgeflow_contestants import Answers, ChangesItsMind, Honest, Random, WritesToTheView
from tests.support.samples import samples
from tests.support.strategies.edgeflow import tiny_instances


def own(instance: Instance, algorithm: Any, game: EdgeflowEnvironment = ENVIRONMENT) -> OnlineRun:
    return run_built(game, instance, algorithm, "own", "1", (), "seed")


def make(
    jobs: list[tuple[int, ...]], gpus: int = 4, edge: Sequence[tuple[int, int, int]] = (), **model: int
) -> Instance:
    """Jobs (submit, deadline, work[, GPUs]) of one model: 10, 18 and 30 milli-iterations a second on 1, 2, 4 GPUs."""
    kind = {"name": "m", "speed": [[1, 10], [2, 18], [4, 30]], "edge_speed": 5, "overhead_s": 2, "edge_overhead_s": 3}
    rows = [
        dict(zip(("submit", "deadline", "work", "gpus"), (*job, 1)[:4], strict=True)) | {"model": "m"} for job in jobs
    ]
    windows = [{"from": a, "to": b, "servers": n} for a, b, n in edge]
    top = {"format": FORMAT, "name": "t", "cloud": {"gpus": gpus, "node_gpus": 8}, "edge": windows}
    return parse({**top, "models": [kind | model], "jobs": rows})


class Script(Honest):
    """Answers by the second: {second: answer}; what stands at other seconds is left as it is."""

    def __init__(self, answers: dict[int, Any]) -> None:
        self.answers = answers
        self.seen: dict[int, View] = {}

    def share(self, view: View) -> Any:
        self.seen[view.second] = view
        return self.answers.get(view.second)


@settings(max_examples=samples(150), deadline=None)
@given(tiny_instances(), st.integers(0, 10**6), st.booleans())
def test_it_plays_as_the_literal_simulator_does(instance: Instance, stream: int, keep_late: bool) -> None:
    """The same seconds, the same pieces, the same jobs met, whatever is answered."""
    game = EdgeflowEnvironment(keep_late=keep_late)
    policy = Random({"stream": str(stream)})
    seconds: list[int] = []
    share = policy.share
    policy.share = lambda view: (seconds.append(view.second), share(view))[1]  # type: ignore[method-assign]
    found = own(instance, policy, game)
    assert found.valid, found.violations
    assume(all(piece.end < 200 for pieces in found.decisions for piece in pieces))
    slow = literal.play(instance, Random({"stream": str(stream)}), keep_late=keep_late, horizon=200)
    assert found.decisions == slow.solution
    assert seconds == slow.asked
    assert found.welfare == len(slow.met)
    assert [i for i, met in enumerate(check(instance, found.decisions).met) if met] == slow.met


def test_work_done_at_the_deadline_is_met_and_a_second_later_is_not() -> None:
    """Two seconds of stall, ten of work: completions come before deadlines of the same second."""
    for deadline, met in ((12, 1), (11, 0)):
        found = own(make([(0, deadline, 100)]), Honest())
        assert (found.valid, found.welfare) == (True, met)
        assert found.decisions == ((Piece(0, deadline, CLOUD, 1),),)


def test_a_completion_frees_its_gpus_for_who_arrives_in_the_same_second() -> None:
    policy = Script({0: {0: (CLOUD, 4)}, 4: {1: (CLOUD, 4)}})
    found = own(make([(0, 9, 60), (4, 9, 60)]), policy)
    assert found.valid
    assert found.welfare == 2
    assert [(event.kind, event.job) for event in policy.seen[4].events] == [("completion", 0), ("arrival", 1)]


def test_all_events_of_a_second_are_told_in_their_order() -> None:
    """Completion, deadline, window, arrival, wake."""
    edge = [(4, 9, 1)]
    policy = Script({0: ({0: (CLOUD, 4)}, 4)})
    own(make([(0, 9, 60), (0, 4, 60), (4, 9, 10)], edge=edge), policy)
    kinds = [event.kind for event in policy.seen[4].events]
    assert kinds == ["completion", "deadline", "window", "arrival", "wake"]


def test_jobs_of_one_second_are_asked_about_one_by_one_and_the_last_answer_counts() -> None:
    """The first answer of the second leaves no trace, not even a stall."""

    class Twice(Script):
        def decide(self, job: Any, view: View) -> Any:
            return {0: (CLOUD, 1)} if job.index == 0 else {0: (CLOUD, 4)}

    found = own(make([(0, 9, 60), (0, 9, 60)]), Twice({}))
    assert found.decisions == ((Piece(0, 4, CLOUD, 4),), ())


def test_changes_pause_and_sides_cost_their_stalls() -> None:
    """2 s for a start, a change and a restart; 3 s more where the piece before was on the other side, gap or not."""
    answers = {0: ({0: (CLOUD, 1)}, 5), 5: ({}, 7), 7: ({0: (EDGE, 1)}, 20), 20: ({0: (CLOUD, 2)}, 30)}
    policy = Script(answers | {30: {0: (CLOUD, 2)}})
    found = own(make([(0, 99, 1000)], edge=[(0, 50, 1)]), policy)
    assert policy.seen[5].left[0] == 1000 - 3 * 10
    assert policy.seen[20].left[0] == 970 - (13 - 5) * 5
    assert policy.seen[30].left[0] == 930 - (10 - 5) * 18
    assert policy.seen[30].ready[0] == 25
    assert found.decisions[0] == (Piece(0, 5, CLOUD, 1), Piece(7, 20, EDGE, 1), Piece(20, 77, CLOUD, 2))


def test_an_edge_piece_ends_with_its_window() -> None:
    """Unanswered it pauses; back in the cloud it pays both overheads; a window that follows at once goes on free."""
    instance = make([(0, 99, 300)], edge=[(0, 10, 1), (20, 30, 1), (30, 40, 2)])
    policy = Script({0: {0: (EDGE, 1)}, 20: {0: (EDGE, 1)}, 30: {0: (EDGE, 1)}, 40: {0: (CLOUD, 4)}})
    found = own(instance, policy)
    assert found.valid
    starts = [tuple(piece) for piece in found.decisions[0]]
    assert starts == [(0, 10, EDGE, 1), (20, 30, EDGE, 1), (30, 40, EDGE, 1), (40, 51, CLOUD, 4)]
    # 8 s, 8 s and 10 s at 5; what is left, 170, takes 5 s of stall and 6 s at 30.
    assert check(instance, found.decisions).ends == (51,)


def test_the_first_view_of_a_closed_window_shows_who_ran_there() -> None:
    policy = Script({0: {0: (EDGE, 1)}})
    own(make([(0, 99, 300)], edge=[(0, 10, 1)]), policy)
    view = policy.seen[10]
    assert (view.servers, view.until, view.place.tolist()) == (0, None, [EDGE])
    assert (policy.seen[0].servers, policy.seen[0].until) == (1, 10)


def test_submit_at_a_windows_start_and_deadline_at_its_end() -> None:
    found = own(make([(5, 15, 40)], edge=[(5, 15, 1)]), Script({5: {0: (EDGE, 1)}}))
    assert (found.welfare, found.decisions[0]) == (1, (Piece(5, 15, EDGE, 1),))


def test_a_window_shorter_than_the_stall_brings_nothing() -> None:
    policy = Script({0: {0: (EDGE, 1)}})
    found = own(make([(0, 9, 10)], edge=[(0, 2, 1)]), policy)
    assert (found.valid, found.welfare, policy.seen[2].left[0]) == (True, 0, 10)


def test_no_job_and_no_hope() -> None:
    """Nothing is asked; jobs that cannot be met leave at their deadlines."""
    assert own(make([]), Honest()).welfare == 0
    within_the_stall, below_every_level = make([(0, 1, 100)]), _wide([(0, 9, 20)])
    for instance in (within_the_stall, below_every_level):
        found = own(instance, Honest())
        assert (found.valid, found.welfare) == (True, 0)


def _wide(jobs: list[tuple[int, ...]]) -> Instance:
    rows = [{"submit": a, "deadline": b, "model": "m", "work": w, "gpus": 4} for a, b, w in jobs]
    kind = {"name": "m", "speed": [[4, 9], [8, 90]], "edge_speed": 0, "overhead_s": 1, "edge_overhead_s": 0}
    top = {"format": FORMAT, "name": "t", "cloud": {"gpus": 2, "node_gpus": 8}, "edge": []}
    return parse({**top, "models": [kind], "jobs": rows})


def test_late_jobs_are_dropped_or_kept() -> None:
    """Kept, one runs to its end, holds its GPUs, and counts for nothing."""
    instance = make([(0, 5, 100), (1, 16, 80)], gpus=1)
    dropped, kept = own(instance, Honest()), own(instance, Honest(), EdgeflowEnvironment(keep_late=True))
    assert dropped.decisions == ((Piece(0, 5, CLOUD, 1),), (Piece(5, 15, CLOUD, 1),))
    assert kept.decisions == ((Piece(0, 12, CLOUD, 1),), (Piece(12, 22, CLOUD, 1),))
    assert (dropped.welfare, kept.welfare) == (1, 0)


def test_hidden_windows_show_only_the_servers_that_are_there() -> None:
    """Neither the calendar nor the end of the present window."""
    policy = Script({})
    own(make([(5, 9, 10)], edge=[(0, 7, 3)]), policy, EdgeflowEnvironment(hidden=True))
    assert policy.public.edge == ()
    assert (policy.seen[5].servers, policy.seen[5].until, policy.seen[7].servers) == (3, None, 0)


ODD = {
    "text": "protocol", "floats": "protocol", "short": "protocol", "true": "protocol", "object": "protocol",
    "huge": "protocol", "twice": "protocol", "nobody": "active", "negative": "active", "place": "levels",
    "level": "levels", "none_such": "levels", "two_servers": "levels", "servers": "capacity", "crowd": "capacity",
    "past": "wake",
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_answer_ends_the_run(odd: str) -> None:
    """The rule is named, in a short line; what stood before stands."""
    found = own(make([(0, 50, 100), (3, 50, 100)]), Answers({"odd": odd}))
    assert not found.valid
    (violation,) = found.violations
    assert violation.rule == ODD[odd]
    assert violation.noun == "job"
    assert len(str(violation)) < 300
    assert found.decisions[1] == ()


def test_who_alters_what_it_gave_back_is_named() -> None:
    instance = make([(0, 50, 100), (3, 50, 100)])
    found = own(instance, ChangesItsMind())
    assert {violation.rule for violation in found.violations} == {"changed decision"}
    assert found.decisions == own(instance, Honest()).decisions


def test_views_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        own(make([(0, 50, 100)]), WritesToTheView())


def test_two_equal_runs_have_equal_logs() -> None:
    instance = make([(0, 50, 100), (3, 50, 300), (3, 40, 200), (9, 30, 100)], edge=[(5, 20, 1)])
    assert own(instance, Random()).decisions == own(instance, Random()).decisions
