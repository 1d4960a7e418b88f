"""The first prices as bytes: what a day's preparation spends its time on, to be kept between runs."""

from __future__ import annotations

from io import BytesIO
from typing import NamedTuple

import numpy as np

from ratiobench.online.lora.learned.filling import Shares
from ratiobench.online.lora.learned.past import Floats


class FirstPrices(NamedTuple):
    """What a day begins with."""

    shares: list[Shares]  # of a node, by node type. unit: (G,) what a step of size 1 is. nu: (G, T) prices of a node
    unit: Floats
    nu: Floats


def write_prices(first: FirstPrices) -> bytes:
    """As bytes."""
    arrays = {"unit": first.unit, "nu": first.nu}
    for g, shares in enumerate(first.shares):
        arrays |= {f"{name}_{g}": np.asarray(value) for name, value in shares._asdict().items()}
    file = BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def read_prices(content: bytes | None) -> FirstPrices | None:
    """From the bytes; None without any."""
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
