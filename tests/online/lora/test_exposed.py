"""Prices that anyone's algorithm shows in the end: the bound on OPT that they prove, and what is no price."""

from fractions import Fraction
from typing import Any

import pytest

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora import FAMILY
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.protocol import Posted, exposed, posted
from ratiobench.online.lora.run import run
from tests.support.laboratory import guarantees, report_of
from tests.support.literal import schedules


def _check(instance: Instance, kind: str) -> Check | None:
    optimum, _ = enumerate_optimum(instance)
    result = run(instance, f"tests.support.contestants:Priced:kind={kind}")
    assert result.valid, result.violations
    return next(iter(guarantees(instance, result, report_of(optimum))), None)


def _dual(instance: Instance) -> Fraction:
    """D at prices t/3 per sample and none per MB, by every schedule."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    total = sum(Fraction(t, 3) * int(public.compute[g]) for g in kind for t in range(1, instance.slots + 1))
    for i in range(instance.tasks):
        task = instance.task(i)
        best = Fraction(0)
        for option, cells in schedules(task, public):
            paid = sum(Fraction(t, 3) * int(task.rate[kind[k]]) + int(task.cost[kind[k], t - 1]) for k, t in cells)
            best = max(best, task.bid - task.options[option].price - paid)
        total += best
    return Fraction(total)


@pytest.mark.parametrize("name", ["tiny_contention", "tiny_two_types", "tiny_vendors", "tiny_negative_tariff"])
def test_prices_of_anyones_algorithm_prove_a_bound(name: str) -> None:
    """D at the prices that it shows, as every schedule gives it; doubles next to thirds give nearly the same."""
    instance = named(name)
    exact, near = _check(instance, "fractions"), _check(instance, "doubles")
    assert exact is not None
    assert near is not None
    assert (exact.name, exact.status) == ("dual_certificate", Verdict.HOLDS)
    assert exact.figures["d_final"] == _dual(instance)
    assert exact.right is not None
    assert enumerate_optimum(instance)[0] <= exact.right <= _dual(instance)
    assert float(near.figures["d_final"]) == pytest.approx(float(_dual(instance)), rel=1e-9)  # type: ignore[arg-type]


def test_the_certificate_is_a_measure_of_the_run() -> None:
    """It stands in the tables like that of our own mechanisms."""
    instance = named("tiny_contention")
    result = FAMILY.run(instance, "tests.support.contestants:Priced")
    checks = FAMILY.audit(instance, result, report_of(0, 10**6))
    certificate = next(check for check in checks if check.name == "dual_certificate")
    measured = FAMILY.measures(instance, result, checks)["certificate"]
    assert measured == certificate.figures["d_tau_over_welfare"]


def test_without_prices_there_is_no_certificate() -> None:
    """An algorithm that shows none, or None."""
    assert _check(named("tiny_contention"), "none") is None
    assert run(named("tiny_contention"), "tests.support.contestants:Honest").trace is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("one", "prices are no two tables of numbers (ValueError"),
        ("short", "memory prices are not 2 rows of"),
        ("few", "compute prices are not 2 rows of"),
        ("negative", "memory price -1/2 of node 0 in slot 1 is not in 0..2^53"),
        ("nan", "prices are no two tables of numbers (ValueError"),
        ("large", "compute price 1000000"),
        ("words", "prices are no two tables of numbers (ValueError"),
        ("error", "prices are no two tables of numbers (OSError: no prices today (tests/support/contestants.py:"),
    ],
)
def test_what_is_no_price_is_told(kind: str, reason: str) -> None:
    """The run stays valid; the check says what is wrong."""
    check = _check(named("tiny_contention"), kind)
    assert check is not None
    assert check.status is Verdict.NOT_APPLICABLE
    assert check.reason.startswith(reason)


@pytest.mark.parametrize(
    "told",
    [7, [], [[]], {"compute": 1}, [None, None], [[["1"]], [["1"]], 3],
     [[[1.5] * 4], [["0"] * 4]], [[["1e99999999"] * 4], [["0"] * 4]],
     [[["1/0"] * 4], [["0"] * 4]], [[["9" * 500] * 4], [["0"] * 4]]],
)  # fmt: skip
def test_answers_that_exposed_does_not_write_are_no_prices(told: Any) -> None:
    found = posted(told, named("thm5_T4_4tasks_strict").public(""))
    assert found is not None
    assert found.problem


def test_tables_come_back_as_they_were_shown() -> None:
    """Zeros are left out; a common denominator above 2^32 makes them doubles."""
    public = named("thm5_T4_4tasks_strict").public("")

    class Shows:
        prices = [[0, 1, Fraction(2, 7), 0.5]], [[0, 0, 0, 3]]

    assert posted(exposed(Shows()), public) == Posted(
        True, {(0, 2): Fraction(1), (0, 3): Fraction(2, 7), (0, 4): Fraction(1, 2)}, {(0, 4): Fraction(3)}
    )
    Shows.prices = [[0.1, 0, 0, 0]], [[0, 0, 0, 3]]
    assert posted(exposed(Shows()), public) == Posted(False, {(0, 1): 0.1}, {(0, 4): 3.0})


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


def test_an_error_in_prices_is_told_with_its_line_and_one_that_says_nothing_is_none_of_ours() -> None:
    """File and line of the algorithm's own code; an error that cannot be printed is named by its type."""

    class Raises:
        error: Exception = ValueError("\n".join(["a", "b" * 400]))

        def prices(self) -> Any:
            raise self.error

    public = named("tiny_contention").public("")
    line = Raises.prices.__code__.co_firstlineno + 1
    found = posted(exposed(Raises()), public)
    assert found is not None
    assert found.problem.startswith("prices are no two tables of numbers (ValueError: a bbb")
    assert found.problem.endswith(f"b (tests/online/lora/test_exposed.py:{line}))")
    Raises.error = _Mute()
    assert exposed(Raises()).endswith(f"(_Mute: it does not say what (tests/online/lora/test_exposed.py:{line}))")
