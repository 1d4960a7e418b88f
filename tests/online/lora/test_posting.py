"""Posted prices, learned or guarded: exact and in doubles, and blind to the bid."""

from typing import Any

import pytest
from hypothesis import given, settings

from ratiobench.instances.lora import Instance, content_hash, document, parse
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.history import join
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.algorithms.guarded import INNER
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.run import run_built
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

GUARDED = tuple(f"guarded:inner={inner},beta=3" for inner in INNER)
EVERY = ("learned", "learned:guard=3", *GUARDED)


def _played(instance: Instance, name: str, history: Instance | None, announced: Instance) -> Any:
    spec = REGISTRY.parse(name)
    assert spec.entry is not None
    algorithm = spec.entry.make(spec.entry.settle(dict(spec.options), instance.tasks))
    constants = REGISTRY.settle_constants(spec, tuple(algorithm.constants), announced)
    algorithm.learn(history, announced)
    return run_built(ENVIRONMENT, instance, algorithm, name, "1", constants, content_hash(announced))


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=samples(12), deadline=None)
@given(instance=tiny_instances(max_tasks=5))
def test_doubles_decide_as_fractions_do(name: str, instance: Instance) -> None:
    """The same tasks at costs that are equal up to rounding, unless a bid lies within rounding of a cost."""
    exact, double = (run(instance, f"{name}{',' if ':' in name else ':'}arith={each}") for each in ("exact", "float"))
    assert exact.valid
    assert double.valid
    for i, (one, two) in enumerate(zip(exact.trace.offers, double.trace.offers, strict=True)):
        assert (one is None) == (two is None)
        if one is None or two is None:
            continue
        assert float(one.cost) == pytest.approx(two.cost, rel=1e-5, abs=1e-5)
        if one.admitted != two.admitted or one.cells != two.cells:
            break  # a tie, in fractions: what follows is another run
        assert one.admitted == (int(instance.bid[i]) > one.cost)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("instance", ["thm5_T5_3tasks", "tiny_vendors", "tiny_two_types"])
def test_a_bid_never_changes_its_own_offer(name: str, instance: str) -> None:
    """Each task in turn with other bids, what was announced and learned the same: cost and cells stay, exactly."""
    given = named(instance)
    history = join([given, given])
    told = _played(given, name, history, given).trace.offers
    for i in range(given.tasks):
        for bid in (0, int(given.bid[i]) // 2, 3 * int(given.bid[i]) + 1):
            data = document(given)
            data["tasks"][i] |= {"bid": bid, "valuation": bid}
            other = _played(parse(data, "other"), name, history, given).trace.offers
            assert told[:i] == other[:i]
            if told[i] is None:
                assert other[i] is None
            else:
                assert told[i][:3] == other[i][:3]


def test_without_history_it_runs_and_says_so() -> None:
    """Of prices that nothing was learned for; constants of the tested instance are called an oracle's."""
    given = named("tiny_two_types")
    assert run(given, "learned").label == "learned (no history)"
    assert run(given, "learned:guard=2").label.endswith("(oracle constants)")
    assert run(given, "guarded").label.endswith("(oracle constants)")
    assert "(" not in run(given, "learned:history=history", prior=join([given, given])).label


def test_a_part_of_a_day_with_history() -> None:
    """Two earlier days of the generator: a valid run that earns more than one without them."""
    recipe = {"kind": "paper", "arrivals": {"trace": "pai"}, "start": 60, "slots": 24, "quiet": 8, "tasks": 60}
    days = [generate(recipe | {"name": f"day{d}", "seed": [d], "nodes": {"a100": 1, "a40": 1}}) for d in range(3)]
    history = join(days[:2])
    for name in ("learned:history=history", "learned:guard=100,history=history"):
        result = run(days[2], name, prior=history)
        assert result.valid
        assert result.admitted > 0
