"""Algorithms that decide later: what the referee asks, what it refuses, runs that end early or too late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ratiobench.formulations.lora.check import check
from ratiobench.instances.lora import Decision, Instance, document, parse
from ratiobench.instances.lora.format import FORMAT_2
from ratiobench.instances.lora.solution import parse_solution, solution_document
from ratiobench.online.lora.protocol import WAIT, Ended, Public, Running, Settlement, Task, View
from ratiobench.online.lora.run import ENVIRONMENT, LoraEnvironment, run
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run import run_built
from tests.support.contest import assert_sound, first_violation
from tests.support.contestants import Waits

Task_ = dict[str, Any]


def cluster(*tasks: Task_, nodes: tuple[int, ...] = (2,), slots: int = 8) -> Instance:
    """Tasks that take a whole node each, one sample per slot; what is not said is bid 10, no energy, rigid."""
    common = {"arrival": 1, "deadline": slots, "memory_mb": 1, "work": 1, "bid": 10, "vendors": [], "run": "rigid"}
    return parse(
        {
            "format": FORMAT_2,
            "name": "cluster",
            "slots": slots,
            "slot_seconds": 600,
            "base_memory_mb": 0,
            "node_types": [
                {"name": f"g{g}", "count": count, "compute": 1, "memory_mb": 1, "tariff": [1] * slots}
                for g, count in enumerate(nodes)
            ],
            "tasks": [common | {"rate": [1] * len(nodes), "energy_wh": [0] * len(nodes)} | task for task in tasks],
        }
    )


class Says:
    """Waits, and answers in each slot what it was made with."""

    def __init__(self, answers: Mapping[int, Any]) -> None:
        self._answers = answers
        self.views: list[View] = []

    def start(self, public: Public, constants: object) -> None:
        """Nothing to do."""

    def decide(self, task: Task, view: View) -> Any:
        return WAIT

    def at_slot(self, view: View) -> Any:
        """What was given for the slot."""
        self.views.append(view)
        return self._answers.get(view.slot)


def play(instance: Instance, answers: Mapping[int, Any] | Any, late: bool = False) -> OnlineRun:
    """A run in this process."""
    algorithm = Says(answers) if isinstance(answers, Mapping) else answers
    return run_built(LoraEnvironment(late=late), instance, algorithm, "says", "1", (), "")


def rigid(slots: range, *nodes: int) -> Decision:
    return Decision(None, tuple((k, t) for t in slots for k in nodes))


def test_it_is_asked_where_something_changes() -> None:
    """At arrivals, when a run ends, when a task leaves, when it wanted to be; not once nothing waits."""
    instance = cluster(
        {"work": 2}, {"work": 3, "deadline": 4}, {"deadline": 8, "user": "a", "group": "b"}, {"arrival": 7}
    )
    says = Says({1: ({0: rigid(range(1, 3), 0)}, 2), 3: ({}, 6), 6: {2: rigid(range(6, 7), 1)}, 7: {3: None}})
    result = play(instance, says)
    assert result.valid, result.violations
    assert [view.slot for view in says.views] == [1, 2, 3, 6, 7]
    assert [[task.index for task in view.waiting] for view in says.views] == [[0, 1, 2], [1, 2], [2], [2], [3]]
    assert [view.ended for view in says.views] == [
        (), (), (Ended(0, 3, "done"), Ended(1, 3, "left")), (), (Ended(2, 7, "done"),)
    ]  # fmt: skip
    assert [view.running for view in says.views] == [(), (Running(0, 1, 2),), (), (), ()]
    assert says.views[-1].usage == ({"a": 1}, {"b": 1})
    assert (result.welfare, result.admitted) == (20, 2)
    assert result.counts == {"waited": 4, "left": 1}
    assert check(instance, result.decisions).welfare == 20


def test_what_waits_when_the_last_slot_is_over_is_rejected() -> None:
    instance = cluster({}, {})
    says = Says({})
    result = play(instance, says)
    assert (result.valid, result.admitted, result.counts) == (True, 0, {"waited": 2, "left": 2})


FOULS: dict[str, tuple[Mapping[int, Any], str, int | None]] = {
    "a start in the past": ({3: {0: rigid(range(2, 4), 0)}}, "past", 0),
    "two starts": ({1: ({0: rigid(range(1, 3), 0)}, 2), 2: {0: rigid(range(2, 4), 1)}}, "waiting", 0),
    "a task that has not come": ({1: {4: rigid(range(4, 6), 0)}}, "waiting", 4),
    "a task that never comes": ({1: {99: None}}, "waiting", None),
    "no room": ({1: {0: rigid(range(1, 3), 0), 1: rigid(range(2, 4), 0)}}, "4f", 1),
    "fewer parts": ({1: {3: rigid(range(1, 3), 0)}}, "R1", 3),
    "fewer parts in a slot": ({1: {3: Decision(None, ((0, 1), (1, 1), (0, 2)))}}, "R1", 3),
    "other nodes in a slot": ({1: {3: Decision(None, ((0, 1), (1, 1), (0, 2), (2, 2)))}}, "R2", 3),
    "another type": ({1: {3: rigid(range(1, 3), 1, 2)}}, "R3", 3),
    "a pause": ({1: {0: Decision(None, ((0, 1), (0, 3)))}}, "R4", 0),
    "longer than needed": ({1: {0: rigid(range(1, 4), 0)}}, "R4", 0),
    "after the deadline": ({1: {2: rigid(range(2, 4), 0)}}, "R5", 2),
    "a wake that has passed": ({1: ({}, 1)}, "wake", None),
    "no mapping": ({1: [rigid(range(1, 3), 0)]}, "protocol", None),
    "WAIT once more": ({1: {0: WAIT}}, "protocol", None),
    "a void run": ({1: {0: Decision(None, ((0, 1), (0, 2)), None, True)}}, "protocol", None),
}


@pytest.mark.parametrize("foul", FOULS)
def test_a_foul_ends_the_run(foul: str) -> None:
    gang = {"run": "gang", "nodes": 2, "work": 4}
    instance = cluster({"work": 2}, {"work": 2}, {"work": 2, "deadline": 2}, gang, {"arrival": 3}, nodes=(2, 1))
    answers, rule, task = FOULS[foul]
    result = play(instance, answers)
    assert not result.valid
    assert (result.violations[0].rule, result.violations[0].task) == (rule, task), result.violations


def test_an_answer_of_at_slot_is_none_to_an_arrival() -> None:
    class Maps(Says):
        def decide(self, task: Task, view: View) -> Any:
            return {0: None}

    assert play(cluster({}), Maps({})).violations[0].rule == "protocol"

    class Alters(Says):
        def __init__(self) -> None:
            super().__init__({})
            self.kept: dict[int, Any] = {}

        def at_slot(self, view: View) -> Any:
            self.kept = self.kept or {0: None}
            if view.slot > 1:
                self.kept.pop(0)
            return self.kept if view.slot == 1 else None

    assert play(cluster({}, {}, {"arrival": 2}), Alters()).violations[0].rule == "changed decision"


@pytest.mark.parametrize("limit", [2, 3, 5])
def test_a_run_ends_when_its_work_is_done(limit: int) -> None:
    """A limit shows as the work; what was booked beyond the work is free again, and that is told then."""
    shown: list[int] = []

    class Plans(Says):
        def decide(self, task: Task, view: View) -> Any:
            shown.append(task.work)
            return WAIT

    instance = cluster({"work": 2, "limit": limit}, {"work": 6}, nodes=(1,))
    says = Plans({1: {0: rigid(range(1, 1 + limit), 0)}, 3: {1: rigid(range(3, 9), 0)}})
    result = play(instance, says)
    assert result.valid, result.violations
    assert shown == [limit, 6]
    assert [view.slot for view in says.views] == [1, 3]
    assert says.views[1].ended == (Ended(0, 3, "done"),)
    assert result.decisions[0] == rigid(range(1, 3), 0)
    assert (result.welfare, result.admitted) == (20, 2)


def test_a_run_that_reaches_its_limit_earns_nothing() -> None:
    """It takes its slots, and pays for them; a negative bill is no income."""
    killed = {"work": 4, "limit": 2, "energy_wh": [3]}
    instance = cluster(killed, {"arrival": 2}, nodes=(1,))
    says = Says({1: {0: rigid(range(1, 3), 0)}, 3: {1: rigid(range(3, 4), 0)}})
    result = play(instance, says)
    assert result.valid, result.violations
    assert says.views[-1].ended == (Ended(0, 3, "killed"),)
    assert result.decisions[0] == rigid(range(1, 3), 0)._replace(void=True)
    assert (result.welfare, result.admitted) == (10 - 6, 1)
    assert result.counts == {"waited": 2, "killed": 1}
    assert parse_solution(solution_document(result.decisions), "") == result.decisions


def test_void_runs_are_checked() -> None:
    """They must fit, and begin no earlier than others; they need not end in time, nor do their work."""
    instance = cluster({"work": 4, "deadline": 3, "energy_wh": [2]}, {"work": 2, "arrival": 2}, nodes=(1,))

    def void(slots: range) -> Decision:
        return rigid(slots, 0)._replace(void=True)

    assert check(instance, (void(range(3, 5)), None)).valid
    fouls = check(instance, (void(range(1, 3)), void(range(1, 3)))).violations
    assert [v.rule for v in fouls] == ["R5", "4f", "4f", "4g", "4g"]
    assert [v.rule for v in check(instance, (void(range(1, 6)), None)).violations] == ["R4"]
    assert check(instance, (void(range(1, 3)), None)).welfare == -4
    data = document(instance)
    data["node_types"][0]["tariff"] = [-5] * 8
    assert check(parse(data), (void(range(1, 3)), None)).welfare == 0


def test_nobody_leaves_with_late_runs() -> None:
    """A run that ends after the deadline is void; tasks wait to the end."""
    instance = cluster(
        {"work": 3, "deadline": 3, "energy_wh": [1]}, {"work": 3, "deadline": 3, "energy_wh": [1]}, nodes=(1,)
    )
    answers = {1: {0: rigid(range(1, 4), 0)}, 4: {1: rigid(range(4, 7), 0)}}
    assert play(instance, answers).counts == {"waited": 2, "left": 1}
    result = play(instance, answers, late=True)
    assert result.valid, result.violations
    assert [each is not None and each.void for each in result.decisions] == [False, True]
    assert (result.welfare, result.admitted, result.counts) == (10 - 3 - 3, 1, {"waited": 2, "late": 1})


def test_algorithms_in_their_own_process_may_wait() -> None:
    instance = cluster(
        {"work": 2}, {"work": 3}, {"work": 2, "arrival": 2, "vendors": [{"price": 1, "delay": 1}]},
        {"run": "gang", "nodes": 2, "work": 4, "arrival": 3}, {"run": "any", "arrival": 4}, {"arrival": 5, "work": 2},
    )  # fmt: skip
    inside = play(instance, Waits())
    result = run(instance, "tests.support.contestants:Waits")
    assert_sound(instance, result)
    assert result.decisions == inside.decisions
    assert result.counts == inside.counts
    assert result.admitted == 6
    for odd, rule in {"wake": "wake", "nothing": "protocol", "twice": "waiting", "late": "protocol"}.items():
        assert first_violation(instance, f"Waits:odd={odd}")[0] == rule


def test_plain_instances_ask_nothing_more() -> None:
    instance = cluster({"run": "any"}, {"run": "any", "arrival": 2})

    class Now(Says):
        def decide(self, task: Task, view: View) -> Any:
            self.views.append(view)
            return Decision(None, ((task.index, task.arrival),))

    says = Now({})
    assert run_built(ENVIRONMENT, instance, says, "now", "1", (), "").welfare == 20
    assert [(view.waiting, view.ended) for view in says.views] == [((), ()), ((), (Ended(0, 2, "done"),))]


class Charges:
    """Admits each task at once on the first free node at 10 micro-dollars a cell, and settles by the cells used."""

    def __init__(self, answer: Any = None) -> None:
        self._answer = answer
        self.settled: list[tuple[int, tuple[tuple[int, int], ...], int, tuple[int, ...]]] = []

    def start(self, public: Public, constants: object) -> None:
        """Nothing to do."""

    def decide(self, task: Task, view: View) -> Decision | None:
        """The earliest run on one node."""
        for first in range(view.slot, task.deadline - task.work + 2):
            for node in range(len(view.compute)):
                if (view.compute[node, first - 1 : first - 1 + task.work] > 0).all():
                    return rigid(range(first, first + task.work), node)._replace(payment=10 * task.work)
        return None

    def at_settle(self, settlement: Settlement, view: View) -> Any:
        """What was used, by the same price; or the answer that it was made with."""
        done = tuple(each.task for each in view.ended)
        self.settled.append((settlement.task.index, settlement.used, view.slot, done))
        assert settlement.booked.payment == 10 * settlement.task.work
        return 10 * len(settlement.used) if self._answer is None else self._answer


def test_a_run_that_ends_early_is_settled_in_the_slot_after_it() -> None:
    """One that ends as planned and one that is ended at its limit are not asked about; the last one is."""
    instance = cluster(
        {"work": 2, "limit": 5, "bid": 100}, {"work": 3, "limit": 3, "bid": 100}, {"arrival": 2, "work": 2, "bid": 100},
        {"arrival": 4, "work": 3, "limit": 2, "bid": 100}, {"arrival": 5, "work": 1, "limit": 3, "bid": 100},
        nodes=(3,),
    )  # fmt: skip
    charges = Charges()
    result = play(instance, charges)
    assert result.valid, result.violations
    assert charges.settled == [(0, ((0, 1), (0, 2)), 3, (0,)), (4, ((1, 5),), 6, (3, 4))]
    assert [each and each.payment for each in result.decisions] == [20, 30, 20, 20, 10]
    assert [each and each.void for each in result.decisions] == [False, False, False, True, False]


def test_without_an_answer_the_payment_is_for_what_was_booked() -> None:
    instance = cluster({"work": 1, "limit": 4, "bid": 100})

    class Keeps(Charges):
        def at_settle(self, settlement: Settlement, view: View) -> None:
            """The payment stays."""

    class HasNone:
        start, decide = Charges.start, Charges.decide

    for algorithm in (Keeps(), HasNone()):
        result = play(instance, algorithm)
        assert result.valid
        assert result.decisions[0] is not None
        assert (result.decisions[0].payment, result.decisions[0].cells) == (40, ((0, 1),))


@pytest.mark.parametrize("answer", ["10", 1.5, True, 2**70, Decision(None, ((0, 1),), 10)])
def test_a_settlement_is_a_payment(answer: Any) -> None:
    result = play(cluster({"work": 1, "limit": 4, "bid": 100}), Charges(answer))
    assert result.violations[0].rule == "protocol"
    assert "payment in micro-dollars" in result.violations[0].detail


def test_a_settlement_in_a_process_of_its_own() -> None:
    instance = cluster({"work": 2, "limit": 5, "bid": 100}, {"work": 1, "limit": 3, "bid": 100})
    result = run(instance, f"{__name__}:Charges")
    assert result.valid, result.violations
    assert [each and each.payment for each in result.decisions] == [20, 10]


def test_a_payment_is_no_answer_to_an_arrival() -> None:
    class Pays(Charges):
        def decide(self, task: Task, view: View) -> Any:
            return 10

    assert play(cluster({}), Pays()).violations[0].rule == "protocol"
