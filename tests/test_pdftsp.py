"""pdFTSP against its literal twin: same F, same schedule, same admissions and charges, in fractions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from instances.lora.model import Instance
from online.lora.pdftsp import PriceTrace
from online.lora.registry import run
from tests.literal import run_pdftsp
from tests.strategies import tiny_instances


def _offers(instance: Instance, algorithm: str) -> list[tuple[object, bool, object, object]]:
    result = run(instance, algorithm)
    assert result.valid, result.violations
    assert isinstance(result.trace, PriceTrace)
    payments = [None if d is None else d.payment for d in result.decisions]
    return [
        (offer.value, offer.admitted, offer.cells, payment)
        for offer, payment in zip(result.trace.offers, payments, strict=True)
    ]


@pytest.mark.parametrize("search", ["exact", "printed"])
@settings(max_examples=150)
@given(instance=tiny_instances())
def test_each_search_makes_the_decisions_of_its_literal_twin(search: str, instance: Instance) -> None:
    """Enumeration for (9), the table in one-sample units for (13); ties included."""
    assert _offers(instance, f"pdftsp:search={search}") == run_pdftsp(instance, search)


@settings(max_examples=60)
@given(instance=tiny_instances())
def test_the_critical_payment_is_the_bid_minus_f(instance: Instance) -> None:
    """payment=critical charges ceil(b - F) and changes nothing else."""
    assert _offers(instance, "pdftsp:payment=critical") == run_pdftsp(instance, "exact", critical=True)


@settings(max_examples=100)
@given(instance=tiny_instances())
def test_float_prices_decide_as_fractions_where_no_f_is_near_zero(instance: Instance) -> None:
    """Doubles may break ties otherwise; the values of F agree to rounding as long as the decisions do."""
    exact = run(instance, "pdftsp:arith=exact").trace.offers
    rounded = run(instance, "pdftsp:arith=float").trace.offers
    for a, b in zip(exact, rounded, strict=True):
        if a.value is None:
            assert b.value is None
            continue
        assert b.value == pytest.approx(float(a.value), rel=1e-9, abs=1e-9)
        if a.cells != b.cells or (a.value > 0) != (b.value > 0):
            break
