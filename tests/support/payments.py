"""What tests of payments share: verdicts by name, reports, and what a task gets in a run of its own."""

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.bench.family.checks import Check
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora import Instance, content_hash, document, parse
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.run import run
from ratiobench.online.outcome import OnlineRun
from tests.support.laboratory import truthfulness

NAMES = ("truthful_bid", "truthful_type", "rational", "no_deficit")
Report = Mapping[str, int]


def _declared(name: str) -> tuple[str, ...]:
    entry = REGISTRY.entries()[name]
    return tuple(entry.make({key: option.default for key, option in entry.options.items()}).constants)


def checks_of_payments(instance: Instance, result: OnlineRun) -> dict[str, Check]:
    """What an audit says of the payments of a run, by the name of the claim."""
    return {check.name: check for check in truthfulness(instance, result)}


def with_its_constants(instance: Instance, name: str) -> str:
    """The mechanism with the constants of the instance written out, so that no bid moves them."""
    if name == "greedy":
        return name
    try:
        constants = run(instance, name).constants
    except InputError:  # no bid, no constants
        constants = ()
    values = {constant.name: constant.value for constant in constants}
    if not values or any(max(value.numerator, value.denominator) >= 10**18 for value in values.values()):
        # What no instance needs.
        values = dict.fromkeys(_declared(name), Fraction(1, 2))
    return f"{name}:{','.join(f'{key}={value}' for key, value in values.items())}"


def report_as(instance: Instance, i: int, lie: Report) -> tuple[Instance, int]:
    """The instance in which task i reports something else, and its place: behind the others of a later slot."""
    data = document(instance)
    task = data["tasks"].pop(i)
    task.pop("valuation", None)
    later = lie.get("arrival", task["arrival"]) > task["arrival"]
    task |= lie
    place = sum(each["arrival"] <= task["arrival"] for each in data["tasks"]) if later else i
    data["tasks"].insert(place, task)
    return parse(data), place


def utility_of(instance: Instance, i: int, lie: Report, algorithm: str) -> int | None:
    """What task i gets in a run of its own; None where the run is not valid."""
    told, place = report_as(instance, i, lie)
    result = run(told, algorithm, seed=content_hash(instance))
    if not result.valid:
        return None
    decision = result.decisions[place]
    return 0 if decision is None else int(instance.valuation[i]) - (decision.payment or 0)


def best_gain(instance: Instance, algorithm: str, lies: dict[int, list[Report]]) -> int:
    """The largest gain of the reports over the truth, bids truthful unless the report says otherwise."""
    best = 0
    for i, listed in lies.items():
        truth = {"bid": int(instance.valuation[i])}
        honest = utility_of(instance, i, truth, algorithm)
        for lie in listed if honest is not None else ():
            assert honest is not None
            gained = utility_of(instance, i, truth | lie, algorithm)
            best = max(best, 0 if gained is None else gained - honest)
    return best


def every_bid(instance: Instance, top: int) -> dict[int, list[Report]]:
    """For every task, every bid below `top` and the largest that the format allows."""
    return {i: [{"bid": bid} for bid in (*range(top), LIMIT)] for i in range(instance.tasks)}
