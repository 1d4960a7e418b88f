"""Certificates of EAPM: they cannot be forged, and the checker is right by brute force."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.checksums import CertificateError
from ratiobench.formulations.eapm import verify as certificates
from ratiobench.formulations.eapm.aggregate import aggregate_users, totals_of
from ratiobench.formulations.eapm.check import check
from ratiobench.formulations.eapm.solve import solve
from ratiobench.formulations.eapm.verify import Certificate, parse, require_upper, seal, verify
from ratiobench.instances.eapm import Instance
from ratiobench.instances.eapm.format import content_hash
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import load_json
from tests.support.documents import refused_by, spoil
from tests.support.eapm_optimum import Document, literal_optimum, literal_rate, literal_solutions, made, small
from tests.support.samples import samples
from tests.support.strategies.eapm import tiny_instances


def resealed(document: Document) -> Document:
    """The document with the seal that its content asks for: what a forger would write."""
    return document | {"sha256": seal(parse(document)[0])}


refused = partial(refused_by, verify)


def _shifted(decisions: list[list[int]]) -> list[list[int]]:
    decisions[0][0], decisions[0][1] = decisions[0][0] - 1, decisions[0][1] + 1
    return decisions


FORGERIES: dict[str, Callable[[Document], Document]] = {
    "another instance": spoil("instance", lambda _: "0" * 64),
    "a lower upper end": spoil("upper", lambda _: "1/1000"),
    "a higher lower end": spoil("lower", lambda _: "1000000/1"),
    "a lower end that is too low": spoil("lower", lambda _: "0/1"),
    "a rate not in lowest terms": spoil("lower", lambda text: "/".join(str(2 * int(part)) for part in text.split("/"))),
    "a decimal rate": spoil("upper", lambda _: "1.5"),
    "a rate over 0": spoil("upper", lambda _: "1/0"),
    "a price less": spoil("prices", lambda prices: [prices[0] - 1, *prices[1:]]),
    "a price more": spoil("prices", lambda prices: [prices[0] + 1, *prices[1:]]),
    "a negative price": spoil("prices", lambda prices: [-1, *prices[1:]]),
    "no prices": spoil("prices", lambda _: []),
    "a larger scale": spoil("scale", lambda scale: scale + 1),
    "scale 0": spoil("scale", lambda _: 0),
    "a task that moved": spoil("decisions", _shifted),
    "a task too many": spoil("decisions", lambda rows: [[rows[0][0] + 1, *rows[0][1:]], *rows[1:]]),
    "a user without decision": spoil("decisions", lambda rows: [None, *rows[1:]]),
    "a user too many": spoil("decisions", lambda rows: [*rows, rows[0]]),
    "a share for no machine": spoil("decisions", lambda rows: [[*rows[0], 0], *rows[1:]]),
    "a field more": lambda document: document | {"note": "trust me"},
    "a field less": lambda document: {key: value for key, value in document.items() if key != "prices"},
    "another format": spoil("format", lambda text: text + "0"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_certificate_that_was_changed_is_refused(forgery: str) -> None:
    """With the old seal, and where its form allows it, with the seal that fits."""
    instance = made(10, 3, types=3, machines=3)
    report = solve(instance, "charnes-cooper")
    assert isinstance(report.certificate, Certificate)
    document = certificates.document(report.certificate)
    assert verify(instance, document).valid
    forged = FORGERIES[forgery](document)
    assert forged != document
    assert refused(instance, forged)
    try:
        parse(forged)
    except InputError:
        return
    assert refused(instance, resealed(forged))


def test_a_negative_upper_end_needs_no_prices_and_cannot_be_lowered() -> None:
    """Where everything loses: the closed form is OPT, any rate below it is refused, any above it is proved."""
    instance = made(11, 3, types=3, machines=3, gamma=70)
    report = solve(instance)
    assert isinstance(report.certificate, Certificate)
    assert report.lower == report.upper < 0
    assert verify(instance, certificates.document(report.certificate)).valid
    for factor, true in ((Fraction(10**9 + 1, 10**9), False), (Fraction(10**9 - 1, 10**9), True)):
        other = replace(report.certificate, upper=report.certificate.upper * factor)
        assert verify(instance, certificates.document(other)).valid == true
    for wrong in ({"prices": (0, 0, 0)}, {"scale": 2}):
        assert not verify(instance, certificates.document(replace(report.certificate, **wrong))).valid


@settings(max_examples=samples(250))
@given(st.data(), tiny_instances(max_users=2))
def test_the_checker_accepts_an_upper_end_if_and_only_if_no_solution_speaks_against_it(
    data: st.DataObject, instance: Instance
) -> None:
    """Its sums are minima over all solutions, looked at one by one: with prices, and without for a negative rate."""
    machines = len(instance.machines)
    seen = [(check(instance, each), totals_of(aggregate_users(instance), each)) for each in literal_solutions(instance)]
    etc, paid = aggregate_users(instance).etc, sum(instance.price.tolist())
    optimum = max(report.value for report, _ in seen if report.value is not None)
    prices: tuple[int, ...] = ()
    if optimum < 0 or data.draw(st.integers(0, 9)) == 0:
        scale = 1
        near = optimum if optimum < 0 else Fraction(-1)
        upper = near * data.draw(st.sampled_from([Fraction(k, 8) for k in range(1, 17)]))
        u = -1000 * upper
        true = all(report.energy_cost - u * report.makespan_ms >= paid for report, _ in seen)
        assert true == (optimum <= upper)
    else:
        scale = data.draw(st.sampled_from([1, 7]))
        most = int(2000 * optimum * scale / machines) + 2
        prices = tuple(data.draw(st.lists(st.integers(0, most), min_size=machines, max_size=machines)))
        upper = Fraction(sum(prices), 1000 * scale)
        least = min(
            scale * report.energy_cost
            + sum(w * int(load) for w, load in zip(prices, (x * etc).sum(axis=0), strict=True))
            for report, x in seen
        )
        true = least >= scale * paid
        assert optimum <= upper or not true
    claim = Certificate(content_hash(instance), scale, prices, upper, Fraction(0), ())
    assert accepted(instance, claim) == true


def accepted(instance: Instance, claim: Certificate) -> bool:
    """Whether the checker takes the claim's upper end."""
    try:
        require_upper(instance, claim)
    except CertificateError:
        return False
    return True


def test_a_negative_price_proves_nothing() -> None:
    """It would lower the sum of the prices on a machine that nobody uses."""
    instance = small(
        [{"name": "t", "etc_ms": [1, 1], "apc_mw": [0, 9]}], [{"type": 0, "tasks": 2, "price": 6}], ["x", "y"]
    )
    assert literal_optimum(instance) == Fraction(3, 1000)
    for prices, true in (((3, 0), True), ((3, -1), False), ((4, -1), False), ((2, 0), False)):
        claim = Certificate("", 1, prices, Fraction(sum(prices), 1000), Fraction(0), ())
        assert accepted(instance, claim) == true


def test_certificates_survive_the_file(tmp_path: Path) -> None:
    instance = made(12, 3, types=3, machines=3)
    report = solve(instance, "charnes-cooper")
    assert isinstance(report.certificate, Certificate)
    for name in ("proof.json", "proof.json.gz"):
        certificates.write(report.certificate, tmp_path / name)
        read, written_seal = certificates.read(tmp_path / name)
        assert (read, written_seal) == (report.certificate, seal(report.certificate))
    text = json.dumps(certificates.document(report.certificate)).encode()
    assert verify(instance, load_json(text, "proof")).valid
    assert verify(made(13, 3, types=3, machines=3), load_json(text, "proof")).problem.endswith("another instance")


def test_the_largest_numbers_of_the_format_are_exact() -> None:
    """Sums near 2^62: the check, the bound and the loss agree to the last unit."""
    kinds = [{"name": "t", "etc_ms": [2**20, 2**20 - 1], "apc_mw": [2**20 - 3, 2**20]}]
    for price in (0, 2**60, 2**60 + 1, 2**62):
        instance = small(kinds, [{"type": 0, "tasks": 2**20, "price": price}], ["x", "y"])
        report = solve(instance, "charnes-cooper")
        assert check(instance, report.solution).value == report.lower == literal_rate(instance, report.solution)
        assert isinstance(report.certificate, Certificate)
        assert verify(instance, certificates.document(report.certificate)).valid
