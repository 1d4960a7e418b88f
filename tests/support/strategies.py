"""Hypothesis strategies for odd documents of problem P, for its file format."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.format import FORMAT
from ratiobench.instances.lora.strategies import Document, one_in

# Hypothesis validates a strategy when it is first drawn from, which takes longer than to draw: each is made once.


@cache
def _text() -> st.SearchStrategy[str]:
    """Any non-empty text that UTF-8 can hold: controls, quotes, right-to-left, emoji; no lone surrogates."""
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@cache
def _json() -> st.SearchStrategy[Any]:
    """JSON values with exact equality after a round trip."""
    leaves = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | _text()
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text(), inner, max_size=3), max_leaves=6
    )


@cache
def _integers(low: int, high: int, size: int) -> st.SearchStrategy[list[int]]:
    """Lists of so many integers between two bounds."""
    return st.lists(st.integers(low, high), min_size=size, max_size=size)


@cache
def _origin() -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(_text(), _json(), max_size=4)


@cache
def _vendors() -> st.SearchStrategy[list[dict[str, int]]]:
    offer = st.fixed_dictionaries({"price": st.integers(0, LIMIT), "delay": st.integers(0, LIMIT)})
    return st.lists(offer, max_size=3)


@st.composite
def instance_documents(draw: st.DrawFn) -> Document:
    """A valid document with odd names and origins, many node types, extreme values and any mixture of the fields."""
    slots = draw(st.integers(1, 12))
    types = draw(st.integers(1, 4))
    base = draw(st.integers(0, 500) | st.just(LIMIT - 1))
    huge_price = draw(one_in(3))
    most = LIMIT if huge_price else 1000
    document: Document = {
        "format": FORMAT,
        "name": draw(_text()),
        "slots": slots,
        "slot_seconds": draw(st.integers(1, LIMIT)),
        "base_memory_mb": base,
        "node_types": [
            {
                "name": draw(_text()),
                "count": draw(st.integers(1, 1000)),
                "compute": draw(st.integers(1, LIMIT)),
                "memory_mb": draw(st.integers(base + 1, LIMIT)),
                "tariff": draw(_integers(-most, most, slots)),
            }
            for _ in range(types)
        ],
        "tasks": [],
    }
    if draw(st.booleans()):
        document["origin"] = draw(_origin())
    arrivals = sorted(draw(st.lists(st.integers(1, slots), max_size=12)))
    for arrival in arrivals:
        task: Document = {
            "arrival": arrival,
            "deadline": draw(st.integers(arrival, slots)),
            "memory_mb": draw(st.integers(1, LIMIT)),
            "work": draw(st.integers(1, LIMIT)),
            "bid": draw(st.integers(0, LIMIT)),
            "rate": draw(_integers(0, LIMIT, types)),
            "vendors": draw(_vendors()),
        }
        if draw(one_in(3)):
            task["valuation"] = draw(st.integers(0, LIMIT))
        if draw(st.booleans()):
            task["cost"] = [draw(_integers(-LIMIT, LIMIT, slots)) for _ in range(types)]
        else:
            # |energy * tariff| may not pass 2^40.
            top = 1 if huge_price else 2**30
            task["energy_wh"] = draw(_integers(0, top, types))
        document["tasks"].append(task)
    return document
