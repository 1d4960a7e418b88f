"""Tiny instances of problem P, small enough to try every schedule, and odd documents for its file format."""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.format import FORMAT, parse
from ratiobench.instances.lora.model import Instance

Document = dict[str, Any]


# Hypothesis validates a strategy when it is first drawn from, which takes longer than to draw: each is made once.


@cache
def one_in(n: int) -> st.SearchStrategy[bool]:
    """True about once in n draws; shrinks to False."""
    return st.integers(1, n).map(lambda value: value == n)


@cache
def _lists(low: int, high: int, size: int) -> st.SearchStrategy[list[int]]:
    """Lists of so many integers between two bounds."""
    return st.lists(st.integers(low, high), min_size=size, max_size=size)


@st.composite
def tiny_instances(draw: st.DrawFn, max_tasks: int = 4, max_nodes: int = 3, max_slots: int = 5) -> Instance:
    """A validated instance small enough to enumerate every schedule of every task.

    It covers 1 to 3 node types with counts, vendors or none (with delays that may empty the window), rate 0, a rate
    above compute, memory that does not fit, negative tariffs, explicit `cost` tables, tight windows, zero bids and
    valuations that differ from the bid. With K nodes and T slots (K+1)^T is at most 256.
    """
    return parse(draw(tiny_documents(max_tasks, max_nodes, max_slots)), "<hypothesis>")


@st.composite
def tiny_documents(draw: st.DrawFn, max_tasks: int = 4, max_nodes: int = 3, max_slots: int = 5) -> Document:
    nodes = draw(st.integers(1, max_nodes))
    slots = draw(st.integers(1, max(t for t in range(1, max_slots + 1) if t == 1 or (nodes + 1) ** t <= 256)))
    counts = draw(compositions(nodes))
    base = draw(st.integers(0, 2))
    node_types = [draw(_tiny_node_type(f"g{g}", count, slots, base)) for g, count in enumerate(counts)]
    size = draw(st.integers(0, max_tasks)) if draw(one_in(20)) else draw(st.integers(1, max_tasks))
    arrivals = sorted(draw(_lists(1, slots, size)))
    return {
        "format": FORMAT,
        "name": "tiny",
        "slots": slots,
        "slot_seconds": 600,
        "base_memory_mb": base,
        "node_types": node_types,
        "tasks": [draw(_tiny_task(arrival, slots, len(counts))) for arrival in arrivals],
    }


@cache
def compositions(total: int) -> st.SearchStrategy[list[int]]:
    """Ordered ways to write `total` as a sum of 1 to 3 positive counts (the node types)."""
    ways = [[total]]
    ways += [[a, total - a] for a in range(1, total)]
    ways += [[a, b, total - a - b] for a in range(1, total) for b in range(1, total - a)]
    return st.sampled_from(ways)


@cache
@st.composite
def _tiny_node_type(draw: st.DrawFn, name: str, count: int, slots: int, base: int) -> Document:
    low = -3 if draw(one_in(4)) else 0
    return {
        "name": name,
        "count": count,
        "compute": draw(st.integers(1, 8)),
        "memory_mb": base + draw(st.integers(1, 6)),
        "tariff": draw(_lists(low, 3, slots)),
    }


@cache
@st.composite
def _tiny_task(draw: st.DrawFn, arrival: int, slots: int, types: int) -> Document:
    tight = draw(one_in(4))
    deadline = arrival if tight else draw(st.integers(arrival, slots))
    task: Document = {
        "arrival": arrival,
        "deadline": deadline,
        "memory_mb": draw(st.integers(1, 7) if draw(one_in(5)) else st.integers(1, 3)),
        "work": draw(st.integers(1, 5 if tight else 8)),
        "bid": 0 if draw(one_in(12)) else draw(st.integers(0, 40)),
        "rate": [0 if draw(one_in(8)) else draw(st.integers(1, 5)) for _ in range(types)],
    }
    if draw(one_in(8)):
        task["valuation"] = draw(st.integers(0, 40))
    if draw(one_in(3)):
        low = -5 if draw(st.booleans()) else 0
        task["cost"] = [draw(_lists(low, 8, slots)) for _ in range(types)]
    else:
        task["energy_wh"] = draw(_lists(0, 3, types))
    offers = draw(st.integers(0, 2))
    task["vendors"] = [
        {
            "price": draw(st.integers(0, 8)),
            "delay": draw(st.integers(0, slots) if draw(one_in(4)) else st.integers(0, 1)),
        }
        for _ in range(offers)
    ]
    return task


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
    data: Document = {
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
                "tariff": draw(_lists(-most, most, slots)),
            }
            for _ in range(types)
        ],
        "tasks": [],
    }
    if draw(st.booleans()):
        data["origin"] = draw(_origin())
    arrivals = sorted(draw(st.lists(st.integers(1, slots), max_size=12)))
    for arrival in arrivals:
        task: Document = {
            "arrival": arrival,
            "deadline": draw(st.integers(arrival, slots)),
            "memory_mb": draw(st.integers(1, LIMIT)),
            "work": draw(st.integers(1, LIMIT)),
            "bid": draw(st.integers(0, LIMIT)),
            "rate": draw(_lists(0, LIMIT, types)),
            "vendors": draw(_vendors()),
        }
        if draw(one_in(3)):
            task["valuation"] = draw(st.integers(0, LIMIT))
        if draw(st.booleans()):
            task["cost"] = [draw(_lists(-LIMIT, LIMIT, slots)) for _ in range(types)]
        else:
            # |energy * tariff| may not pass 2^40.
            top = 1 if huge_price else 2**30
            task["energy_wh"] = draw(_lists(0, top, types))
        data["tasks"].append(task)
    return data
