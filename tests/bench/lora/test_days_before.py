"""The days before a day, in suites: what an algorithm named with `prior=history` may have learned from."""

from __future__ import annotations

from ratiobench.bench.family.suite import Case
from ratiobench.bench.lora.suites import suites
from ratiobench.bench.running.work import make
from ratiobench.instances.lora import loads
from ratiobench.instances.lora.arrivals import days, list_earlier_days


def _with_history() -> list[Case]:
    return [case for suite in suites() if suite.name in ("quick", "mechanisms") for case in suite.cases if case.history]


def test_history_is_of_the_days_right_before_the_day() -> None:
    """In order, none of the day itself or later; each with a stream of its own."""
    cases = _with_history()
    assert len(cases) > 10
    for case in cases:
        trace = case.recipe["arrivals"]["trace"]
        known = (*list_earlier_days(trace), *days(trace))
        at = known.index(case.recipe["arrivals"].get("day", days(trace)[0]))
        parts = case.history["recipes"] if case.history else []
        assert tuple(part["arrivals"]["day"] for part in parts) == known[at - len(parts) : at]
        seeds = [str(part["seed"]) for part in (case.recipe, *parts)]
        assert len(set(seeds)) == len(seeds)
        assert case.is_served("learned:prior=history")
        assert case.is_served("posted:prior=yesterday") == (case.prior is not None)


def test_the_instance_of_a_history_joins_its_days() -> None:
    """As many days of as many slots, made from the recipes of the case but smaller."""
    case = _with_history()[0]
    assert case.history is not None
    parts = [part | {"tasks": 30, "nodes": 2} for part in case.history["recipes"]]
    made = make("lora", case.recipe | {"tasks": 30, "nodes": 2}, None, None, case.history | {"recipes": parts})
    assert made.history is not None
    whole = loads(made.history.data, "history")
    assert (whole.tasks, whole.slots) == (30 * len(parts), 144 * len(parts))
