"""The dual value at given prices: the enumerated one, exact whatever the prices, never below OPT."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.lora.theory.basis.dual import TAUS, Dual, best_schedule, dual_of
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.named import expected, named, names
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import PriceTrace
from tests.support.laboratory import dual_value, near_dual_value
from tests.support.lora_documents import make_instance, make_node
from tests.support.mechanisms import Prices, cheapest_by_enumeration, priced_instances
from tests.support.samples import samples


@settings(max_examples=samples(150))
@given(priced=priced_instances())
def test_the_dual_is_the_enumerated_one_and_never_below_opt(priced: tuple[Instance, Prices, Prices]) -> None:
    """Term by term over all schedules; in 64 bits, in large integers and from doubles the same; OPT by brute force."""
    instance, lam, phi = priced
    public = instance.public("")
    kind = public.type_of_node
    value = sum((price * int(public.compute[kind[k]]) for (k, _), price in lam.items()), Fraction(0))
    value += sum((price * int(public.memory_mb[kind[k]]) for (k, _), price in phi.items()), Fraction(0))
    surplus = []
    for i in range(instance.tasks):
        task = instance.task(i)
        best = cheapest_by_enumeration(task, public, lam, phi)
        surplus.append(Fraction(0) if best is None else max(Fraction(0), task.bid - best[0]))
        found = best_schedule(task, public, lam, phi)
        assert (None if found is None else (found.cost, found.option, found.cells)) == best
    value += sum(surplus)
    priced_tasks = Dual(instance).exact(lam, phi)
    assert priced_tasks.value == value == dual_value(instance, lam, phi) == near_dual_value(instance, lam, phi)
    assert [Fraction(each, priced_tasks.unit) for each in priced_tasks.surplus] == surplus
    doubles = [{cell: float(price) for cell, price in table.items()} for table in (lam, phi)]
    assert near_dual_value(instance, *doubles) == dual_value(instance, *doubles) == value
    # A denominator that 64 bits do not hold.
    odd = Fraction(10**30 + 1, 10**30)
    assert dual_value(instance, *({c: odd * v for c, v in table.items()} for table in (lam, phi))) >= 0
    optimum, _ = enumerate_optimum(instance)
    assert value >= optimum
    dual = Dual(instance)
    assert dual.exact(dual.pool_prices(lam), dual.pool_prices(phi)).value <= value
    tau, rescaled = dual_of(instance).rescale(lam, phi)
    tried = {t: dual_value(instance, *({c: t * v for c, v in table.items()} for table in (lam, phi))) for t in TAUS}
    assert rescaled == tried[tau] == min(tried.values()) >= optimum


@pytest.mark.parametrize(("price", "tau"), [(5, "3/2"), (10, "1"), (20, "1/2"), (40, "1/4"), (1280, "1/128"), (0, "0")])
def test_the_best_multiple_of_the_prices_is_found(price: int, tau: str) -> None:
    """Three tasks worth 10 on a cell for one of them: D = 30 - 2 tau price down to 10, where tau price = 10."""
    instance = make_instance(1, [make_node(1, 3)], [{"bid": 10}] * 3)
    best = Fraction(tau)
    prices = {(0, 1): Fraction(price)} if price else {}
    assert dual_of(instance).rescale(prices, {}) == (best, 30 - 2 * best * price)
    assert dual_of(instance).rescale({}, prices)[1] == min(
        30, *(3 * t * price + 3 * max(0, 10 - t * price) for t in TAUS)
    )


@settings(max_examples=samples(60))
@given(priced=priced_instances(), odd=st.integers(10**25, 10**26))
def test_prices_of_any_length_are_priced_exactly(priced: tuple[Instance, Prices, Prices], odd: int) -> None:
    """Over denominators of 26 digits: the exact value by enumeration; the near one within its rounding."""
    instance, lam, phi = priced
    lam, phi = ({c: v * Fraction(odd, odd + 7) for c, v in table.items()} for table in (lam, phi))
    public = instance.public("")
    kind = public.type_of_node
    value = sum((price * int(public.compute[kind[k]]) for (k, _), price in lam.items()), Fraction(0))
    value += sum((price * int(public.memory_mb[kind[k]]) for (k, _), price in phi.items()), Fraction(0))
    for i in range(instance.tasks):
        best = cheapest_by_enumeration(instance.task(i), public, lam, phi)
        value += 0 if best is None else max(Fraction(0), int(instance.bid[i]) - best[0])
    assert dual_value(instance, lam, phi) == value
    assert abs(near_dual_value(instance, lam, phi) - value) < Fraction(1, 10**6)


@pytest.mark.parametrize("name", [name for name in names() if "d_certificate" in expected(name)])
def test_the_shipped_certificates_come_out(name: str) -> None:
    """D at pdFTSP's final prices, as two other implementations have it."""
    trace = run(named(name), "pdftsp").trace
    assert isinstance(trace, PriceTrace)
    assert str(dual_value(named(name), trace.lam, trace.phi)) == expected(name)["d_certificate"]
    with pytest.raises(ValueError, match="a price of -1"):
        dual_value(named(name), {(0, 1): -1}, {})
