"""What audits say of the payments of `learned` and `guarded`: the bid is settled, arrival and memory are not."""

import pytest

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.bench.lora.theory.payments.repeatable_run import RepeatableRun
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.history import join
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import run
from tests.support.laboratory import truthfulness

NAMES = ("learned", "learned:guard=3", "guarded:inner=greedy,beta=2", "guarded:inner=posted,beta=3")


def _asked(given: Instance, name: str, claim: str, history: Instance | None = None) -> Check:
    if history is not None:
        name += f"{',' if ':' in name else ':'}history=history"
    (found,) = truthfulness(given, run(given, name, prior=history), (claim,))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_bid_is_settled_where_no_constant_follows_it(name: str) -> None:
    """With history: every offer was made before the bid was shown, and other bids meet the same."""
    given = named("tiny_two_types")
    found = _asked(given, name, "truthful_bid", join([given, given]))
    assert found.status is Verdict.HOLDS
    assert "before the bid was shown" in found.reason
    assert int(str(found.figures["bids_asked_again"])) > 0


def test_without_history_caps_follow_the_bids_and_a_lie_is_found() -> None:
    """The classes and caps of the guard are the tested instance's own: who bids less makes them smaller."""
    given = instance(TinyInstance(1, (Kind(1, 2, 2),), (Job(1, 1, 1, 1, 1000, (1,)), Job(1, 1, 2, 2, 300, (2,)))))
    found = _asked(given, "guarded:beta=2", "truthful_bid")
    assert found.status is Verdict.VIOLATED
    assert found.witness is not None
    assert int(found.witness["gain"]) > 0
    assert _asked(given, "guarded:beta=2", "truthful_bid", join([given, given])).status is Verdict.HOLDS


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", ["thm5_T5_3tasks", "tiny_vendors"])
def test_an_oracle_s_constants_are_never_called_truthful(name: str, given: str) -> None:
    """Violated or undecided; `learned` without a guard has none, and its bid is settled."""
    status = _asked(named(given), name, "truthful_bid").status
    assert status is Verdict.HOLDS if name == "learned" else status in (Verdict.VIOLATED, Verdict.UNDECIDED)


def _job(deadline: int, memory: int, work: int, bid: int, rate: int) -> Job:
    return Job(1, deadline, memory, work, bid, (rate,))


def test_learned_is_not_truthful_in_arrival() -> None:
    day = TinyInstance(3, (Kind(1, 8, 3),), (_job(3, 1, 1, 50_000, 1),))
    before = (_job(3, 1, 12, 160_000, 6), _job(3, 2, 8, 120_000, 6), _job(3, 2, 8, 80_000, 6))
    given = instance(day)
    found = _asked(given, "learned:every=1,waste=0", "truthful_type", instance(day._replace(jobs=before)))
    assert found.status is Verdict.VIOLATED
    assert found.witness is not None
    task = found.witness["task"]
    assert found.witness["arrival"] != given.arrival[task]
    assert all(found.witness[field] == getattr(given, field)[task] for field in ("deadline", "work", "memory_mb"))


def test_more_memory_gains_nothing_without_waste() -> None:
    """A day on which it did while a task had the share of the class nearest to it, whatever its memory."""
    day = TinyInstance(2, (Kind(1, 29, 6),), (_job(2, 1, 20, 30_000, 10), _job(2, 1, 20, 100_000, 10)))
    before = (
        _job(1, 6, 1, 60_000, 1), *[_job(2, 1, 20, 200_000, 10)] * 2, _job(2, 1, 13, 720_000, 13),
        _job(2, 1, 13, 240_000, 13),
    )  # fmt: skip
    found = _asked(instance(day), "learned:every=1,waste=0", "truthful_type", instance(day._replace(jobs=before)))
    assert found.status is not Verdict.VIOLATED
    assert int(str(found.figures["misreports_tried"])) > 0


def test_more_memory_can_fill_a_gap() -> None:
    """With waste > 0 what fits the rest of a node better is cheaper."""
    given = instance(TinyInstance(3, (Kind(1, 2, 12),), (_job(1, 1, 1, 50_000, 1),)))
    jobs = (
        _job(3, 1, 2, 20_000, 2), _job(1, 1, 1, 150_000, 1), _job(3, 3, 1, 60_000, 1),
        Job(2, 3, 5, 1, 500_000, (1,)), Job(2, 3, 3, 3, 40_000, (2,)),
    )  # fmt: skip
    before = instance(TinyInstance(3, (Kind(1, 2, 12),), jobs))
    found = _asked(given, "learned:waste=1", "truthful_type", before)
    assert found.status is Verdict.VIOLATED
    assert found.witness is not None
    assert found.witness["memory_mb"] > 1


@pytest.mark.parametrize(
    "name",
    [
        "learned:every=2,history=history",
        "learned:arith=float,every=2,guard=30,history=history",
        "guarded:arith=float,inner=capped,beta=30,history=history",
    ],
)
def test_a_report_meets_the_same_in_a_run_that_goes_on_as_in_one_from_the_start(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = {"kind": "paper", "arrivals": {"trace": "pai"}, "start": 60, "slots": 12, "quiet": 2, "nodes": 2}
    today, before = (generate(recipe | {"name": each, "seed": [each], "tasks": 30}) for each in ("today", "before"))
    played = run(today, name, prior=before)
    went_on, anew = RepeatableRun(today, played, 100_000), RepeatableRun(today, played, 100_000)
    monkeypatch.setattr(anew, "_goes_on", lambda constants: None)
    assert went_on.is_reproducible()
    # In turns, as audits ask: a task again after a later one.
    for i in (3, 20, 28, 3, 20):
        truth = went_on.truth(i)
        for report in (truth._replace(bid=1), truth._replace(bid=10**9), truth._replace(arrival=truth.deadline)):
            assert went_on.decision(i, report) == anew.decision(i, report)
    assert went_on.left + today.tasks == anew.left
