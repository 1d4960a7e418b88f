"""The first prices of a day, kept between runs; `tools.first_prices` writes those that are shipped, before `quick`."""

from __future__ import annotations

import json
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ratiobench.online.lora.learned.filling import Shares
from ratiobench.online.lora.learned.past import Floats


class FirstPrices(NamedTuple):
    """What a day begins with."""

    shares: list[Shares]  # of a node, by node type
    unit: Floats  # (G,) what a step of size 1 is
    nu: Floats  # (G, T) prices of a node


def write_prices(first: FirstPrices) -> bytes:
    arrays = {"unit": first.unit, "nu": first.nu}
    for g, shares in enumerate(first.shares):
        arrays |= {f"{name}_{g}": np.asarray(value) for name, value in shares._asdict().items()}
    file = BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def read_prices(content: bytes | None) -> FirstPrices | None:
    if content is None:
        return None
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    unit, nu = found.pop("unit"), found.pop("nu")
    shares = []
    for g in range(len(unit)):
        rate, memory, share, (compute, other) = (found[f"{name}_{g}"] for name in Shares._fields)
        shares.append(Shares(rate, memory, share, (float(compute), float(other))))
    return FirstPrices(shares, unit, nu)


SHIPPED = Path(__file__).with_name("first_prices.json")


def find_shipped(mark: str) -> FirstPrices | None:
    """The prices shipped under the SHA-256 of what they follow from."""
    stored = _shipped().get(mark)
    if stored is None:
        return None
    shares = [
        Shares(np.array(rate, np.int64), np.array(memory, np.int64), np.array(share, float), (compute, other))
        for rate, memory, share, (compute, other) in stored["shares"]
    ]
    return FirstPrices(shares, np.array(stored["unit"]), np.array(stored["nu"]))


def document(first: FirstPrices) -> dict[str, Any]:
    shares = [[*(np.asarray(value).tolist() for value in kind)] for kind in first.shares]
    return {"shares": shares, "unit": first.unit.tolist(), "nu": first.nu.tolist()}


@cache
def _shipped() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SHIPPED.read_text())
    return found
