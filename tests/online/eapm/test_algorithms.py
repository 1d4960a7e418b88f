"""The online algorithms of EAPM against literal twins, and what the better one promises."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from ratiobench.formulations.eapm.search import enumerate_optimum
from ratiobench.instances.eapm.format import FORMAT, parse
from ratiobench.instances.eapm.generate import generate
from ratiobench.instances.eapm.model import Instance, freeze, profit_rate
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import Stream
from ratiobench.online.eapm.algorithms import balance, exact_step, printed
from ratiobench.online.eapm.registry import parse as parse_name
from ratiobench.online.eapm.run import run
from tests.support import literal_eapm as literal
from tests.support.samples import of_sample, samples
from tests.support.strategies.eapm import tiny_instances

READINGS = [printed.Reading(shares, ms) for shares in ("kept", "clipped", "excluded") for ms in ("system", "true")]
PRINTED = tuple(f"online:makespan={reading.makespan},shares={reading.shares}" for reading in READINGS)
ALGORITHMS = (*PRINTED, "online:rule=exact-step", "greedy", "average", "balance")


def _instance(
    etc: list[list[int]], apc: list[list[int]], users: list[tuple[int, int, int]], energy_price: int = 1
) -> Instance:
    machines = len(etc[0])
    return parse(
        {
            "format": FORMAT,
            "name": "small",
            "energy_price": energy_price,
            "machines": [f"m{j}" for j in range(machines)],
            "task_types": [
                {"name": f"t{k}", "etc_ms": e, "apc_mw": a} for k, (e, a) in enumerate(zip(etc, apc, strict=True))
            ],
            "users": [{"type": kind, "tasks": tasks, "price": price} for kind, tasks, price in users],
        }
    )


def _small(index: int) -> Instance:
    """A small instance: few values, so that costs, shares and rates often tie; prices around the costs."""
    stream = Stream("eapm online", index)
    machines, kinds, users = stream.integer(1, 5), stream.integer(1, 3), stream.integer(1, 6)
    spread = (2, 4, 20)[index % 3]
    etc = [stream.integers(1, spread, machines).tolist() for _ in range(kinds)]
    apc = [stream.integers(0, spread, machines).tolist() for _ in range(kinds)]
    bags = []
    for _ in range(users):
        kind, tasks = stream.integer(0, kinds - 1), stream.integer(1, 12)
        cheapest = min(t * w for t, w in zip(etc[kind], apc[kind], strict=True))
        bags.append((kind, tasks, stream.integer(0, 2 * tasks * cheapest + 3)))
    # Energy that costs nothing still orders the machines.
    return _instance(etc, apc, bags, (1, 1, 3, 0)[index % 4])


def _step(index: int, largest: int) -> tuple[list[int], list[int], list[int], int, int]:
    """(load, etc, cost, tasks, worth) in the midst of a run."""
    stream = Stream("eapm step", index)
    machines = stream.integer(1, 4)
    spread = (3, 9, 40)[index % 3]
    load = stream.integers(0, 6 * spread, machines).tolist() if index % 4 else [0] * machines
    etc, cost = stream.integers(1, spread, machines).tolist(), stream.integers(0, spread, machines).tolist()
    tasks = stream.integer(1, largest)
    return load, etc, cost, tasks, stream.integer(-3, 2 * tasks * (min(cost) + 1) + max(load))


def _exact(load: list[int], etc: list[int], cost: list[int], tasks: int, worth: int) -> tuple[int, ...]:
    shares = np.zeros(len(etc), np.int64)
    assert exact_step.best_step(freeze(load), freeze(etc), freeze(cost), tasks, worth, exact_step.LIMIT, shares)
    return tuple(shares.tolist())


@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_the_printed_rule_equals_linear_systems_in_fractions(reading: printed.Reading) -> None:
    """In every reading decisions and counts are those of the literal twin; the equations' faults occur."""
    seen = dict.fromkeys(literal.State([]).counts, 0)
    for index in range(samples(150)):
        instance = _small(index)
        state = literal.State([0] * len(instance.machines))
        result = run(instance, f"online:shares={reading.shares},makespan={reading.makespan}")
        assert result.valid, result.violations
        for i in range(instance.users):
            user = instance.user(i)
            etc, cost, energy = user.etc_ms.tolist(), user.cost.tolist(), user.energy_uj.tolist()
            shares = literal.printed(state, etc, cost, energy, user.tasks, user.price, *reading)
            assert result.decisions[i] == shares, (index, i)
            state.load = [have + x * t for have, x, t in zip(state.load, shares, etc, strict=True)]
            state.profit += user.price - sum(x * c for x, c in zip(shares, cost, strict=True))
        assert result.counts == state.counts, index
        seen = {name: count + state.counts[name] for name, count in seen.items()}
    assert {name for name, count in seen.items() if not count} <= {"chosen_negative"}, seen
    assert (seen["chosen_negative"] == 0) == (reading.shares == "excluded")


def test_no_two_readings_are_the_same_rule() -> None:
    """Of any two some small instance tells one from the other; the default is `clipped` with the true makespan."""
    values = {name: [run(_small(index), name).decisions for index in range(200)] for name in PRINTED}
    for a, b in combinations(PRINTED, 2):
        assert values[a] != values[b], (a, b)
    default = parse_name("online")
    assert default.name == parse_name("online:shares=clipped,makespan=true").name == "online"
    assert run(_small(0), "online:shares=excluded").label == "online (shares=excluded, makespan=true)"


@pytest.mark.parametrize("option", ["shares=kept", "makespan=system"])
def test_the_exact_step_has_no_readings(option: str) -> None:
    """An option without an effect is refused, not passed over."""
    with pytest.raises(InputError, match="is a reading of the printed rule; rule=exact-step has none"):
        parse_name(f"online:rule=exact-step,{option}")


@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_doubles_decide_only_what_fractions_decide_alike(reading: printed.Reading) -> None:
    """Where the fast path of the printed rule answers, it answers as the exact one; both are needed."""
    answered = 0
    for index in range(samples(600)):
        load, etc, cost, tasks, worth = _step(index, 30)
        shares, found = np.zeros(len(etc), np.int64), np.zeros(4, np.int64)
        energy = cost if index % 5 else [0] * len(cost)
        arrays = (freeze(load), freeze(etc), freeze(cost), freeze(energy))
        if printed._in_doubles(*arrays, tasks, worth, *reading.flags, shares, found):
            answered += 1
            exact = printed.decide_exactly(load, etc, cost, energy, tasks, worth, reading)
            assert (shares.tolist(), found.tolist()) == exact, index
    assert of_sample(100, 600) < answered < samples(600)


@pytest.mark.parametrize("largest", [6, 150])
def test_the_exact_step_is_the_best_step(largest: int) -> None:
    """No placement leaves a larger rate, and none with that rate a shorter makespan (bags enumerated while small)."""
    best = literal.best_step if largest <= 6 else literal.best_step_by_candidates
    losses = 0
    for index in range(samples(400 if largest <= 6 else 150)):
        load, etc, cost, tasks, worth = _step(index, largest)
        shares = _exact(load, etc, cost, tasks, worth)
        if worth - tasks * min(cost) <= 0:
            losses += 1
            assert shares == literal.greedy(cost, tasks), index
            continue
        profit, makespan = literal.outcome(load, etc, cost, shares, worth)
        assert (Fraction(profit, makespan), makespan) == best(load, etc, cost, tasks, worth), index
    assert 0 < losses < samples(300)


def test_both_searches_of_the_best_step_agree() -> None:
    """The candidates of the literal twin are all that matter: enumeration finds nothing better."""
    for index in range(samples(150)):
        step = _step(index, 6)
        if step[4] - step[3] * min(step[2]) > 0:
            assert literal.best_step(*step) == literal.best_step_by_candidates(*step), index


def test_the_bound_of_the_exact_step_passes_over_most_candidates() -> None:
    """A bag of 10^9 tasks has 3 10^9 candidates; few are visited, and a limit of none still gives the best end."""
    load, etc, cost = freeze([10**9, 0, 7]), freeze([997, 1009, 2003]), freeze([5_000, 6_001, 7_003])
    tasks = 10**9
    worth = 6_500 * tasks
    shares = np.zeros(3, np.int64)
    assert exact_step.best_step(load, etc, cost, tasks, worth, 1_000, shares)
    ends = np.zeros(3, np.int64)
    assert not exact_step.best_step(load, etc, cost, tasks, worth, 0, ends)
    rates = [
        Fraction(*literal.outcome(load.tolist(), etc.tolist(), cost.tolist(), tuple(x.tolist()), worth))
        for x in (ends, shares)
    ]
    assert sum(shares) == sum(ends) == tasks
    assert rates[0] <= rates[1]
    assert rates[1] > Fraction(worth - tasks * 5_000, 10**9 + tasks * 997)


def _visits(load: list[int], etc: list[int], cost: list[int], tasks: int, worth: int) -> int:
    """The least limit with which the exact step is not cut short."""
    low, high = -1, exact_step.LIMIT
    while high - low > 1:
        limit, shares = (low + high) // 2, np.zeros(len(etc), np.int64)
        if exact_step.best_step(freeze(load), freeze(etc), freeze(cost), tasks, worth, limit, shares):
            high = limit
        else:
            low = limit
    return high


def test_a_single_task_has_one_candidate_per_machine_however_unlike_the_machines_are() -> None:
    """A fast machine has no room for a second task that does not exist: the best step is found, and not cut short."""
    instance = _instance([[1, 109_116_658, 4_588_039]], [[1, 0, 0]], [(0, 1, 1)])
    result = run(instance, "online:rule=exact-step")
    assert result.decisions == ((0, 0, 1),)
    assert result.counts["cut_short"] == 0
    stream = Stream("eapm one task")
    for index in range(samples(300)):
        machines = stream.integer(2, 5)
        etc = [10 ** stream.integer(0, 9) * stream.integer(1, 9) for _ in range(machines)]
        cost = [stream.integer(0, 3) for _ in range(machines)]
        load = [stream.integer(0, 10**9) * (index % 3) for _ in range(machines)]
        worth = min(cost) + stream.integer(1, 3)
        profit, makespan = literal.outcome(load, etc, cost, _exact(load, etc, cost, 1, worth), worth)
        assert (Fraction(profit, makespan), makespan) == literal.best_step(load, etc, cost, 1, worth), index


def test_no_more_candidates_are_visited_than_the_bag_has_places() -> None:
    """a_i m at most, and again those on the border of two pieces; the best of them is still found."""
    stream = Stream("eapm visits")
    most = 0.0
    for index in range(samples(120)):
        machines, tasks = stream.integer(2, 4), stream.integer(1, 12)
        etc = [10 ** stream.integer(0, 6) * stream.integer(1, 9) for _ in range(machines)]
        cost = [stream.integer(0, 3) for _ in range(machines)]
        load = [stream.integer(0, 10**6) * (index % 2) for _ in range(machines)]
        worth = tasks * min(cost) + stream.integer(1, 2 * tasks)
        profit, makespan = literal.outcome(load, etc, cost, _exact(load, etc, cost, tasks, worth), worth)
        assert (Fraction(profit, makespan), makespan) == literal.best_step_by_candidates(load, etc, cost, tasks, worth)
        visits = _visits(load, etc, cost, tasks, worth)
        assert visits <= (tasks + machines) * machines, index
        most = max(most, visits / (tasks * machines))
    assert most > 0.2


def test_rates_are_compared_without_rounding() -> None:
    """The sign of a/b - c/d is right up to 2^62, where doubles see no difference."""
    top = 2**62
    pairs = [(top - 1, top, top - 2, top - 1), (0, 5, 0, 7), (3, 7, 6, 14), (top, 1, top - 1, 1), (0, 1, 1, top)]
    stream = Stream("eapm compare")
    for _ in range(300):
        a, c = stream.integers(0, 50, 2).tolist()
        b, d = stream.integers(1, 50, 2).tolist()
        pairs.append((a, b, c, d))
    for a, b, c, d in pairs:
        left, right = Fraction(a, b), Fraction(c, d)
        assert exact_step._larger(a, b, c, d) == (left > right) - (left < right), (a, b, c, d)
        assert exact_step._larger(c, d, a, b) == (right > left) - (right < left), (a, b, c, d)


def test_greedy_and_average_are_what_they_say() -> None:
    """Whole bags on the first cheapest machine; bags dealt out like cards."""
    for index in range(samples(100)):
        instance = _small(index)
        users = [instance.user(i) for i in range(instance.users)]
        expected = tuple(literal.greedy(user.energy_uj.tolist(), user.tasks) for user in users)
        assert run(instance, "greedy").decisions == expected
        expected = tuple(literal.average(len(instance.machines), user.tasks) for user in users)
        assert run(instance, "average").decisions == expected


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_bag_is_placed_and_the_value_is_recomputed(name: str) -> None:
    """On small instances with ties, losses and free machines no rule is broken, and the rate is that of the books."""
    for index in range(samples(150)):
        instance = _small(index)
        result = run(instance, name)
        assert result.valid, (index, result.violations)
        load, profit = [0] * len(instance.machines), 0
        for i, shares in enumerate(result.decisions):
            user = instance.user(i)
            profit += user.price - sum(x * c for x, c in zip(shares, user.cost.tolist(), strict=True))
            load = [have + x * t for have, x, t in zip(load, shares, user.etc_ms.tolist(), strict=True)]
        assert result.welfare == profit_rate(profit, max(load))


def _bigger(instance: Instance, time: int, power: int) -> Instance:
    """The same with all times and all powers multiplied, and the prices with the costs."""
    etc, apc = instance.etc_ms * time, instance.apc_mw * power
    users = zip(instance.kind.tolist(), instance.tasks.tolist(), (instance.price * time * power).tolist(), strict=True)
    return _instance(etc.tolist(), apc.tolist(), list(users), instance.energy_price)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_units_do_not_matter(name: str) -> None:
    """Seconds or milliseconds, cents or dollars: multiplied by powers of two, the decisions are the same."""
    for index in range(samples(60)):
        instance = _small(index)
        assert run(instance, name).decisions == run(_bigger(instance, 8, 4), name).decisions, index


@pytest.mark.parametrize("name", ALGORITHMS)
def test_decisions_do_not_look_ahead(name: str) -> None:
    """Without its last users an instance gets the same decisions for the others."""
    recipe = {"kind": "users", "name": "ahead", "seed": 8, "gamma": "1.2"}
    long, short = (generate({**recipe, "users": users}) for users in (40, 15))
    assert run(long, name).decisions[:15] == run(short, name).decisions


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_largest_numbers_of_the_format_do_not_overflow(name: str) -> None:
    """Sums of times and of costs close to 2^62: bags are placed and the verifier agrees."""
    tasks = 2**40
    instance = _instance([[2**20, 2**20 - 1, 3]], [[1, 2, 2**19]], [(0, tasks, 2**60)] * 2)
    result = run(instance, name)
    assert result.valid, result.violations
    assert [sum(shares) for shares in result.decisions] == [tasks, tasks]


@settings(max_examples=samples(60), deadline=None)
@given(instance=tiny_instances())
def test_no_algorithm_beats_the_optimum(instance: Instance) -> None:
    """OPT by trying every placement is no less than what any of them attains."""
    optimum, _ = enumerate_optimum(instance)
    for name in ALGORITHMS:
        result = run(instance, name)
        assert result.valid, (name, result.violations)
        assert result.welfare <= optimum, name


@pytest.mark.parametrize(("users", "gamma"), [(30, "1.05"), (60, "1.5")])
def test_machine_prices_are_what_their_statement_says(users: int, gamma: str) -> None:
    """The compiled rule decides as a transcription of its statement does, bag by bag."""
    instance = generate({"kind": "users", "name": "prices", "seed": 3, "users": users, "gamma": gamma})
    twin = literal.Balance(len(instance.machines))
    expected = []
    for i in range(users):
        user = instance.user(i)
        expected.append(twin.decide(user.etc_ms.tolist(), user.cost.tolist(), user.tasks, user.price))
    assert run(instance, "balance").decisions == tuple(expected)


def _rates(name: str, count: int, users: int, gamma: str) -> list[Fraction]:
    recipes = [
        {"kind": "users", "name": "rates", "seed": ["balance", r], "users": users, "gamma": gamma} for r in range(count)
    ]
    return [Fraction(run(generate(recipe), name).welfare) for recipe in recipes]


@pytest.mark.parametrize(("users", "gamma"), [(30, "1.2"), (30, "1.5"), (300, "1.1"), (300, "1.5")])
def test_machine_prices_beat_the_myopic_step_on_average(users: int, gamma: str) -> None:
    """The mean rate of `balance` is above those of the paper's algorithm, both variants, and of Greedy and Average."""
    count = 12 if users == 30 else 4
    best = sum(_rates("balance", count, users, gamma))
    for name in ALGORITHMS[:-1]:
        assert best > sum(_rates(name, count, users, gamma)), name


def test_machine_prices_keep_slow_and_dear_machines_empty() -> None:
    """A machine that is slower and dearer than all others gets nothing while they are even."""
    instance = _instance([[10, 10, 400]], [[5, 5, 50]], [(0, 50, 50 * 60)] * 40)
    for shares in run(instance, "balance").decisions:
        assert shares[2] == 0


def test_the_exponential_is_one() -> None:
    """exp(-x) to eleven digits up to 64, then 0."""
    for x in (0.0, 1e-9, 0.1, 1.0, 2.5, 10.0, 40.0, 63.9):
        assert math.isclose(balance._decay(x), math.exp(-x), rel_tol=1e-11), x
    assert balance._decay(64.1) == balance._decay(1e300) == 0.0
