"""Certificates of edgeflow: they cannot be forged, and what is claimed is recomputed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiobench.formulations.checksums import CertificateError
from ratiobench.formulations.edgeflow import verify as certificates
from ratiobench.formulations.edgeflow.solve import solve
from ratiobench.formulations.edgeflow.verify import Certificate, met, most, parse, seal, verify
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import load_json
from tests.formulations.edgeflow.test_opt import busy
from tests.support.documents import Document, spoil


def _first(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The first schedule that is not empty, changed."""

    def changed(rows: Any) -> Any:
        i = next(i for i, row in enumerate(rows) if row)
        rows[i] = change(rows[i])
        return rows

    return changed


FORGERIES: dict[str, Callable[[Document], Document]] = {
    "another instance": spoil("instance", lambda _: "0" * 64),
    "a lower upper end": spoil("upper", lambda upper: upper - 1),
    "a higher upper end": spoil("upper", lambda upper: upper + 1),
    "a higher lower end": spoil("lower", lambda lower: lower + 1),
    "a lower lower end": spoil("lower", lambda lower: lower - 1),
    "prices for nothing": spoil("gpu_prices", lambda prices: [0] * len(prices)),
    "dear prices": spoil("gpu_prices", lambda prices: [2 * price for price in prices]),
    "a negative price": spoil("gpu_prices", lambda prices: [-1, *prices[1:]]),
    "a price less": spoil("edge_prices", lambda prices: prices[1:]),
    "a point less": spoil("points", lambda points: points[1:]),
    "points that stand still": spoil("points", lambda points: [points[1], *points[1:]]),
    "a change of the edge inside a cell": spoil("points", lambda points: [p + (p == 300) for p in points]),
    "no worths": spoil("worths", lambda worths: [0] * len(worths)),
    "a worth too few": spoil("worths", lambda worths: worths[1:]),
    "scale 0": spoil("scale", lambda _: 0),
    "half the scale": spoil("scale", lambda scale: scale // 2),
    "a job twice": spoil("decisions", _first(lambda row: [*row, row[0]])),
    "a piece that begins earlier": spoil("decisions", _first(lambda row: [[0, *row[0][1:]], *row[1:]])),
    "a job that ends early": spoil("decisions", _first(lambda row: [[row[0][0], row[0][0] + 1, *row[0][2:]]])),
    "a share of three": spoil("decisions", _first(lambda row: [[*row[0][:3], 3], *row[1:]])),
    "a job without decision": spoil("decisions", lambda rows: rows[1:]),
    "a field more": lambda document: document | {"note": "trust me"},
    "a field less": lambda document: {key: value for key, value in document.items() if key != "worths"},
    "another format": spoil("format", lambda text: text + "0"),
}


@pytest.fixture(scope="module")
def solved() -> tuple[Any, Certificate]:
    """An instance of 30 jobs and its certificate."""
    instance = busy(11)
    report = solve(instance, "dual")
    assert isinstance(report.certificate, Certificate)
    assert 0 < report.lower < instance.jobs
    return instance, report.certificate


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_certificate_that_was_changed_is_refused(solved: tuple[Any, Certificate], forgery: str) -> None:
    """With the old seal, and where its form allows it, with the seal that fits."""
    instance, certificate = solved
    document = certificates.document(certificate)
    forged = FORGERIES[forgery](document)
    assert forged != document
    try:
        assert not verify(instance, forged).valid
        assert not verify(instance, forged | {"sha256": seal(parse(forged)[0])}).valid
    except InputError:
        pass


def test_the_servers_of_the_edge_are_counted(solved: tuple[Any, Certificate]) -> None:
    """As many as run there at a time are enough, one fewer is not."""
    instance, certificate = solved
    runs = [piece for pieces in certificate.decisions for piece in pieces if piece.place == 1]
    peak = max(sum(each.start <= run.start < each.end for each in runs) for run in runs)

    def with_servers(number: int) -> Any:
        return replace(instance, edge=tuple(replace(window, servers=number) for window in instance.edge))

    assert met(with_servers(peak), certificate.decisions) == certificate.lower
    with pytest.raises(CertificateError, match=f"{peak} edge servers in use"):
        met(with_servers(peak - 1), certificate.decisions)


def test_any_prices_prove_something(solved: tuple[Any, Certificate]) -> None:
    """Worse prices, a worse bound, never one below the schedule."""
    instance, certificate = solved
    for factor in (0, 1, 3):
        prices = tuple(price * factor // 2 for price in certificate.gpu_prices)
        other = replace(certificate, gpu_prices=prices)
        assert most(instance, other) >= certificate.upper >= certificate.lower
        assert verify(instance, certificates.document(replace(other, upper=most(instance, other)))).valid


def test_files_are_read_as_they_were_written(solved: tuple[Any, Certificate], tmp_path: Path) -> None:
    instance, certificate = solved
    for name in ("c.json", "c.json.gz"):
        certificates.write(certificate, tmp_path / name)
        assert verify(instance, load_json((tmp_path / name).read_bytes(), name), name).valid
