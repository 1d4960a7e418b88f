"""`guarded`: history of another cluster, cells without room, and who waits."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.bench.lora.theory.guarded import find_least_factor
from ratiobench.instances.lora.model import Instance, Task
from ratiobench.online.lora.algorithms.guarded import INNER, NoPoster
from ratiobench.online.lora.guard import Guard, announce
from ratiobench.online.lora.posted_prices import GuardSettings, PostedPrices, ProposedPrices
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.run import run_built
from tests.support.documents import refusal_of


def _of_one_slot(kinds: tuple[Kind, ...], bids: list[int], sizes: tuple[int, int] = (6, 6)) -> Instance:
    rate, memory = sizes
    return instance(TinyInstance(1, kinds, tuple(Job(1, 1, memory, rate, bid, (rate,) * len(kinds)) for bid in bids)))


@pytest.mark.parametrize("algorithm", ["guarded:beta=1,rho=0", "learned:guard=1", "learned"])
@pytest.mark.parametrize(
    ("kinds", "field"),
    [
        ((Kind(1, 10, 25),), "node_types[0].compute"),
        ((Kind(1, 25, 10),), "node_types[0].memory_mb"),
        ((Kind(1, 25, 25), Kind(1, 25, 25)), "node_types"),
    ],
)
def test_history_of_other_nodes_is_refused(algorithm: str, kinds: tuple[Kind, ...], field: str) -> None:
    """Its weights are not this cluster's: with them Omega would be too small, and OPT above the bound."""
    today = _of_one_slot((Kind(1, 25, 25),), [3, 3, 2, 6, 2, 5, 4, 3])
    name = f"{algorithm}{',' if ':' in algorithm else ':'}history=history"
    told = refusal_of(run, today, name, prior=_of_one_slot(kinds, [24]))
    assert told.partition(": ")[2].startswith(f"{field}: ")
    assert "the instance under test has" in told


@pytest.mark.parametrize("inner", INNER)
def test_a_cell_without_room_on_its_type_does_not_look_at_another_type(inner: str) -> None:
    """The first type is full; the last node is of another type, on which a class fits a hundred times, not once."""
    kinds = (Kind(1, 100, 3), Kind(1, 100, 3000))
    tasks = (Job(1, 1, 3, 1, 90, (1, 0)), Job(1, 1, 1, 100, 90, (100, 100)))
    result = run(instance(TinyInstance(1, kinds, tasks)), f"guarded:inner={inner},beta=1")
    assert result.valid
    assert result.welfare > 0


def test_history_without_a_task_that_can_be_served_teaches_nothing() -> None:
    kinds = (Kind(1, 4, 4),)
    before, today = _of_one_slot(kinds, [5], (9, 9)), _of_one_slot(kinds, [5, 6], (2, 2))
    for name in ("learned:history=history", "learned:guard=2,history=history", "guarded:history=history"):
        assert run(today, name, prior=before).welfare == 11


def test_who_waits_can_gain() -> None:
    """Not truthful in the arrival: what others earn meanwhile pays for raises, and the cell is cheaper."""
    kinds = (Kind(1, 10, 10),)
    waiting = Job(1, 2, 5, 1, 4000, (1,))
    before, after = Job(1, 2, 2, 3, 4000, (3,)), Job(2, 2, 1, 2, 400_000, (2,))
    truth = instance(TinyInstance(2, kinds, (before, waiting, after)))
    late = instance(TinyInstance(2, kinds, (before, after, waiting._replace(arrival=2))))

    def played(given: Instance) -> list[int | None]:
        mechanism = PostedPrices(NoPoster(), GuardSettings(Fraction(47), Fraction(0), Fraction(1)), exact=True)
        mechanism.learn(None, truth)
        decisions = run_built(ENVIRONMENT, given, mechanism, "guarded", "1", (), "seed").decisions
        return [None if each is None else each.payment for each in decisions]

    assert played(truth)[1] == 1947
    assert played(late)[2] == 0


class _Dear(NoPoster):
    """Wishes 2^41 for slot 1 of what may run longer, else nothing; in doubles."""

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        found = super().wish(task, view)
        if found is None:
            return None
        price = np.zeros(found.price.shape)
        price[:, 0] = 2.0**41 if task.deadline > 1 else 0.0
        return found._replace(price=price)


@pytest.mark.parametrize("exact", [True, False])
def test_slots_that_earn_pay_for_a_dear_cell(exact: bool) -> None:
    """Three slots of cost -2^40 and a bid of 2^40 are worth more than a cell at 2^41."""
    large, slots = 2**40, 3
    costs = ((-large,) * slots,)
    jobs = (Job(1, 1, 10, 10, large, (10,), costs), *(Job(1, slots, 10, 30, large, (10,), costs) for _ in range(2)))
    mechanism = PostedPrices(_Dear(), None, exact=exact)
    given = instance(TinyInstance(slots, (Kind(3, 10, 10),), jobs))
    mechanism.learn(None, given)
    assert run_built(ENVIRONMENT, given, mechanism, "dear", "1", (), "seed").welfare == 2 * large + 2 * 4 * large


def _least(levels: list[int], rest: Fraction) -> Fraction:
    """The least F of Theorem L where the bids of a node's tasks rise through these levels; `rest` is A over the nodes.

    Sold so far is worth (level - rest) / F at least, and a node-slot sold at a level adds no more than that level.
    """
    steps = pairwise(levels)
    return 1 - rest / levels[-1] + sum(max(Fraction(0), a - rest) * (Fraction(1, a) - Fraction(1, b)) for a, b in steps)


@pytest.mark.parametrize(
    "name",
    [
        "greedy",
        *(f"{name}:prior=history" for name in ("posted", "capped", "bbar-rule", "minimal-edit")),
        *(f"{name},history=history" for name in ("learned:total=unknown", "guarded:beta=9", "guarded:beta=2,rho=0")),
    ],
)
@pytest.mark.parametrize("share", [8, 64])
def test_every_algorithm_needs_the_factor_of_theorem_l(name: str, share: int) -> None:
    """Tasks that fill a node, worth more from level to level: it may end with each of them."""
    nodes, levels = 5, [1000 * 2**j for j in range(9)]
    kinds, rest = (Kind(nodes, 6, 6),), Fraction(levels[-1], share)
    before = _of_one_slot(kinds, [levels[-1]] * nodes)
    factors = []
    for last, level in enumerate(levels, 1):
        bids = [bid for bid in levels[:last] for _ in range(nodes)]
        welfare = run(_of_one_slot(kinds, bids), name, prior=before).welfare
        factors.append(nodes * (level - rest) / max(1, welfare))
    assert max(factors) >= _least(levels, rest)


def test_theorem_l_is_reached_by_the_guard_where_tasks_fill_nodes() -> None:
    """Of K nodes a guard's factor is beta, and K ln(1 + beta / K) is needed, which is nearly beta where K is large."""
    for nodes, beta in ((1, 3), (10, 5), (400, 8)):
        before = _of_one_slot((Kind(nodes, 6, 6),), [10**9])
        announced = announce(before, Fraction(beta), Fraction(0), Fraction(1))
        start = Guard(before.public(""), announced, exact=False).start
        needed = nodes * math.log(1 + beta / nodes)
        assert announced.factor == beta
        assert needed - 0.002 <= find_least_factor(before, announced, Fraction(start)) <= needed + 1e-6


@given(bid=st.integers(2, 3000), part=st.fractions(Fraction(1, 10**6), Fraction(99, 100)), nodes=st.integers(1, 5))
def test_what_is_needed_is_what_rising_bids_say(bid: int, part: Fraction, nodes: int) -> None:
    """The closed form beside the sum over the levels 1, 2, ..., bid; never above it."""
    before = _of_one_slot((Kind(nodes, 6, 6),), [bid])
    announced = announce(before, Fraction(9), Fraction(0), Fraction(1))
    most = math.floor(announced.kinds[0].cap[0])
    needed = _least(list(range(1, most + 1)), part * most)
    found = find_least_factor(before, announced, part * nodes * most)
    assert found <= max(Fraction(0), needed)
    assert float(needed - found) < 0.0011 + 0.09 / max(1, math.ceil(part * most)) ** 2


def _two_slots(later: int) -> Instance:
    """Two tasks of one cell in the first slot and one that arrives in the second, on a node that holds two."""
    jobs = (Job(1, 1, 6, 6, 30, (6,)), Job(1, 1, 6, 6, 8, (6,)), Job(2, 2, 6, 6, later, (6,)))
    return instance(TinyInstance(2, (Kind(1, 12, 12),), jobs))


def test_a_slot_that_has_passed_is_settled_where_that_sets_credits_free() -> None:
    """Its credits are 0 then, and its tasks count with all that they are worth; what remains is a bound on OPT."""
    settings = GuardSettings(Fraction(40), Fraction(1), Fraction(1))
    found = {}
    for settles in (False, True):
        mechanism = PostedPrices(NoPoster(), settings._replace(settles=settles), exact=True)
        mechanism.learn(_two_slots(30), _two_slots(30))
        result = run_built(ENVIRONMENT, _two_slots(30), mechanism, "guard", "1", (), "test")
        assert mechanism._guard is not None
        found[settles] = mechanism._guard, mechanism.trace, result.welfare
    kept, settled = found[False][0], found[True][0]
    assert (kept.settled, settled.settled) == (0, 1)
    assert kept.credit[0][0] > 0 == settled.credit[0][0]
    guard, trace, welfare = found[True]
    assert trace.announced is not None
    last = trace.offers[2]
    surplus = Fraction(0) if last is None else max(Fraction(0), 30 - Fraction(last.cost))
    # D = credits of slot 2, worth of both tasks of slot 1, surplus of the third one
    value = trace.credits + 38 + surplus
    assert trace.credits == guard.worth() < found[False][1].credits
    assert 38 + 30 <= value <= trace.announced.factor * welfare + trace.start


def test_a_settlement_that_costs_more_than_it_frees_is_left() -> None:
    """The guard compares what credits cost with what tasks are owed."""
    given = _two_slots(30)
    guard = Guard(given.public(""), announce(given, Fraction(40), Fraction(1), Fraction(1)), exact=True)
    cost = guard.worth()
    assert not guard.settle(1, cost)
    assert guard.settle(1, Fraction(0))
    assert guard.worth() == cost / 2
    assert not guard.settle(1, Fraction(0))
