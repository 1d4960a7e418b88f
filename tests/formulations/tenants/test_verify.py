"""Certificates of tenants: they cannot be forged, and plain Python and NumPy say the same."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.checksums import CertificateError
from ratiobench.formulations.tenants import verify as certificates
from ratiobench.formulations.tenants import verify as checker
from ratiobench.formulations.tenants.check import check
from ratiobench.formulations.tenants.dual import Prices
from ratiobench.formulations.tenants.solve import solve
from ratiobench.formulations.tenants.tables import tables
from ratiobench.formulations.tenants.verify import bound, cost, parse, seal, verify
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import load_json
from ratiobench.instances.tenants.generate import generate, named
from ratiobench.instances.tenants.model import Instance
from tests.support.documents import Document, refused_by, spoil
from tests.support.samples import samples
from tests.support.strategies.tenants import tiny_instances


@pytest.fixture(scope="module")
def held() -> tuple[Instance, Document]:
    """An instance, and the certificate of its interval."""
    instance = named("waits")
    report = solve(instance, certified=True)
    assert report.certificate is not None
    return instance, certificates.document(report.certificate)  # type: ignore[arg-type]


FORGERIES: dict[str, Callable[[Document], Document]] = {
    "another instance": spoil("instance", lambda _: "0" * 64),
    "a higher lower end": spoil("lower", lambda low: low + 1),
    "a lower lower end": spoil("lower", lambda low: low - 1),
    "a lower upper end": spoil("upper", lambda high: high - 1),
    "a fraction": spoil("upper", lambda high: high + 0.5),
    "a price more": spoil("prices", lambda prices: [prices[0], prices[1] + 5000, prices[2]]),
    "a price less": spoil("prices", lambda prices: [0, *prices[1:]]),
    "a negative price": spoil("prices", lambda prices: [-1, *prices[1:]]),
    "a price too few": spoil("prices", lambda prices: prices[1:]),
    "an early start": spoil("decisions", lambda rows: [rows[0], [0, 0], rows[2]]),
    "an overlap": spoil("decisions", lambda rows: [[0, 0], [0, 1], [0, 2]]),
    "a job without start": spoil("decisions", lambda rows: [None, *rows[1:]]),
    "a missing job": spoil("decisions", lambda rows: rows[1:]),
    "a GPU there is not": spoil("decisions", lambda rows: [[1, rows[0][1]], *rows[1:]]),
    "a later start": spoil("decisions", lambda rows: [[0, tick + 1] for _, tick in rows]),
    "a field more": lambda data: data | {"more": 1},
    "no prices": lambda data: {key: value for key, value in data.items() if key != "prices"},
    "another format": spoil("format", lambda _: "ratiobench/tenants-certificate/2"),
}


refused = partial(refused_by, verify)


def test_a_certificate_is_accepted_and_reads_back(held: tuple[Instance, Document], tmp_path: Path) -> None:
    instance, data = held
    verdict = verify(instance, data)
    assert verdict.valid
    assert verdict.problem == ""
    certificates.write(verdict.certificate, tmp_path / "c.json")
    assert load_json((tmp_path / "c.json").read_bytes(), "c.json") == json.loads(json.dumps(data))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_is_refused_even_when_it_is_sealed_anew(
    name: str, held: tuple[Instance, Document]
) -> None:
    instance, data = held
    forged = FORGERIES[name](data)
    assert refused(instance, forged)
    try:
        forged = forged | {"sha256": seal(parse(forged)[0])}
    except InputError:
        return
    assert refused(instance, forged)


def test_a_start_before_the_release_is_no_start() -> None:
    instance = generate({"kind": "online", "jobs": 6})
    starts = solve(instance, gap=0.5).solution
    assert cost(instance, starts) > 0
    j = int(np.argmax(instance.release))
    gpu, _ = starts[j]
    early = int(instance.release[j]) - 1
    with pytest.raises(CertificateError, match=f"^job {j}: starts at {early}, before its release$"):
        cost(instance, (*starts[:j], (gpu, early), *starts[j + 1 :]))
    assert any(each.rule == "every job" for each in check(instance, (*starts, starts[0])).violations)


def test_the_seal_alone_gives_a_change_away(held: tuple[Instance, Document]) -> None:
    instance, data = held
    assert "was changed after it was made" in verify(instance, data | {"sha256": "0" * 64}).problem


@settings(max_examples=samples(60))
@given(tiny_instances(max_jobs=5), st.lists(st.integers(0, 4000), min_size=5, max_size=5))
def test_numpy_and_plain_python_and_the_kernel_prove_the_same(instance: Instance, drawn: list[int]) -> None:
    prices = tuple(drawn[: instance.jobs])
    plain = bound(instance, prices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checker, "SMALL", -1)
        assert bound(instance, prices) == plain == Prices(tables(instance)).judge(np.array(prices, dtype=np.int64))


def test_prices_near_2_to_the_62_are_judged_in_plain_python() -> None:
    instance = named("one_gpu")
    assert bound(instance, (2**62 - 1, 0, 0, 2**62 - 1)) < 0
    assert refused(instance, {"format": certificates.FORMAT})


def test_where_64_bits_are_too_few_plain_python_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two prices near 2^62, of which the sum has 63 bits, in an instance that would be large enough for NumPy."""
    instance, prices = named("one_gpu"), (2**62 - 1, 0, 0, 2**62 - 1)
    plain = bound(instance, prices)
    monkeypatch.setattr(checker, "SMALL", -1)
    assert bound(instance, prices) == plain


def test_prices_that_pay_for_too_many_ticks_are_refused() -> None:
    instance = generate({"kind": "online", "jobs": 100, "load": "1/100", "theta": "0", "late": "0"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checker, "LONGEST", 1000)
        with pytest.raises(Exception, match=r"prices: jobs pay for .* at most 1000 are looked at"):
            bound(instance, (10**15,) * 100)


def test_a_large_certificate_is_checked_in_numpy() -> None:
    """The same bound as the kernel's, at prices as they are after some rounds."""
    instance = generate({"kind": "batch", "jobs": 120, "gpus": [2, 2, 4], "seed": 12})
    prices = Prices(tables(instance))
    prices.ascend(2 * prices.bound, 40, 0.3, 0.3)
    assert bound(instance, tuple(prices.pi.tolist())) == prices.bound
    assert cost(instance, solve(instance, gap=0.5).solution) > prices.bound
