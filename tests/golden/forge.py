"""Changes certificates in one place each, and makes what `verdicts` reads: `python -m tests.golden.forge`."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.golden.commands import call, document_of

Document = dict[str, Any]
# Changes a copy of a certificate, given the instance; None if there is nothing to change. A text is written as is.
Forgery = Callable[[Any, Any], Any]

INPUTS = Path(__file__).parent / "inputs" / "certificates.json.gz"
# Bases from the set R1
SHIPPED = (
    "tiny_contention", "tiny_two_types", "tiny_vendors", "tiny_three_types", "tiny_tight_windows",
    "tiny_negative_tariff", "thm5_T4_4tasks_strict", "part_40_helios", "part_40_pai", "part_60_philly",
    "part_200_pai", "part_200_own", "eapm_free_energy", "eapm_negative_shares", "eapm_one_machine",
    "eapm_greedy_ties", "eapm-table1_gamma_1.25", "eapm-fig3_gamma_1.5_n100", "edgeflow_admission_regret",
    "edgeflow_edf_domino", "edgeflow_edge_closes", "edgeflow_edge_counts", "edgeflow_equal_seconds",
    "edgeflow_pai_100_16_0", "edgeflow_pai_100_32_4", "tenants_all_late", "tenants_cs_zero", "tenants_free",
    "tenants_batch_12", "tenants_pai_60_0.8",
)  # fmt: skip
# Bases made by `opt --certificate`, of the instances of these recipes
MADE = {
    "lora_cost_table": "named:instance=tiny_cost_table",
    "lora_valuation": "named:instance=tiny_valuation",
    "lora_rate_zero": "named:instance=tiny_rate_zero",
    "lora_4d": "named:instance=formulation_4d",
    "lora_20": "paper:tasks=20,slots=12,nodes=2,seed=0",
    "lora_30_own": "paper:tasks=30,slots=16,nodes=2,seed=1,sizes=own",
    "lora_16_wide": "paper:tasks=16,slots=12,nodes=1,seed=4,sizes=wide",
    "eapm_negative_opt": "named:instance=negative_opt",
    "eapm_lemma1_misses": "named:instance=lemma1_misses",
    "edgeflow_speed_falls": "named:instance=speed_falls",
    "edgeflow_no_jobs": "named:instance=no_jobs",
    "tenants_waits": "named:instance=waits",
    "tenants_ties": "named:instance=ties",
    "cluster_day": "month:days=1,nodes=1,jobs=16,load=400,seed=e",
    "cluster_slowdown": "month:days=1,nodes=1,jobs=12,load=400,seed=a,cost=slowdown",
}


def seal(document: Any) -> Any:
    """The certificate with the checksum of its changed content, so that the checksum is not what refuses it.

    The rule is published with the formats: SHA-256 of the content without `sha256`, keys sorted, no spaces.
    """
    if not isinstance(document, dict) or "sha256" not in document:
        return document
    content = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return content | {"sha256": hashlib.sha256(text.encode()).hexdigest()}


def forged(name: str, base: Document) -> str | None:
    """The text of a forgery of a base, sealed anew; None if the change does not apply."""
    change, ends, _ = name.partition(" + ends")
    family = family_of(base["certificate"])
    forge = (GOOD | ENDS | FORMS | PRICES[family] | DECISIONS[family])[change]
    document = forge(copy.deepcopy(base["certificate"]), base["instance"])
    if document is None or isinstance(document, str):
        return document
    if ends:
        document |= base["ends"][change]
    return json.dumps(document if change in UNSEALED else seal(document))


def names_of(base: Document) -> list[str]:
    """The forgeries of a base; `+ ends` is the same with the ends that it proves, which makes a weaker proof."""
    family = family_of(base["certificate"])
    ends = ENDS if "upper" in base["certificate"] else ()  # of cluster they stand over a scale, among its prices
    chosen = [*GOOD, *ends, *(FORMS if base["forms"] else ()), *PRICES[family], *DECISIONS[family]]
    return [*chosen, *(f"{name} + ends" for name in base["ends"])]


def family_of(certificate: Document) -> str:
    """The family that the format of a certificate names."""
    return str(certificate["format"]).split("/")[1].removesuffix("-certificate")


def _with(key: str, change: Callable[[Any], Any]) -> Forgery:
    def forge(c: Any, _: Any) -> Any:
        value = change(c[key]) if key in c else None
        return None if value is None else c | {key: value}

    return forge


def _moved(key: str, by: int) -> Forgery:
    return _with(key, lambda x: _text(Fraction(x) + by) if isinstance(x, str) else x + by)


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def _twice(c: Any, _: Any) -> str:
    return json.dumps(c).replace("{", '{"upper": 7, ', 1)


def _without(key: str) -> Forgery:
    return lambda c, _: {k: v for k, v in c.items() if k != key}


# What changes no content
GOOD: dict[str, Forgery] = {
    "as it is": lambda c, _: c,
    "keys reordered": lambda c, _: dict(reversed(c.items())),
    "indented": lambda c, _: json.dumps(seal(c), indent=3),
}
ENDS: dict[str, Forgery] = {
    "upper lowered": _moved("upper", -1),
    "upper raised": _moved("upper", 1),
    "lower raised": _moved("lower", 1),
    "lower lowered": _moved("lower", -1),
    "ends exchanged": lambda c, _: c | {"lower": c["upper"], "upper": c["lower"]} if c["lower"] != c["upper"] else None,
    "instance changed": _with("instance", lambda x: ("0" if x[0] != "0" else "1") + x[1:]),
}
FORMS: dict[str, Forgery] = {
    "seal wrong": lambda c, _: c | {"sha256": "0" * 64},
    "seal of before": lambda c, _: c | {"upper": "7/2" if isinstance(c["upper"], str) else c["upper"] + 1},
    "seal no text": lambda c, _: c | {"sha256": 5},
    "format of no family": lambda c, _: c | {"format": "ratiobench/none-certificate/1"},
    "format of later": _with("format", lambda x: x[:-1] + "9"),
    "format missing": _without("format"),
    "format a number": lambda c, _: c | {"format": 3},
    "instance short": _with("instance", lambda x: x[:-1]),
    "instance capitals": _with("instance", str.upper),
    "upper NaN": lambda c, _: c | {"upper": float("nan")},
    "upper infinite": lambda c, _: c | {"upper": float("inf")},
    "upper a float": lambda c, _: c | {"upper": 1e3},
    "upper a text": lambda c, _: c | {"upper": "many"},
    "upper huge": lambda c, _: c | {"upper": 10**40},
    "upper true": lambda c, _: c | {"upper": True},
    "upper null": lambda c, _: c | {"upper": None},
    "upper twice": _twice,
    "upper missing": _without("upper"),
    "lower missing": _without("lower"),
    "decisions missing": _without("decisions"),
    "seal missing": _without("sha256"),
    "a field too many": lambda c, _: c | {"remark": "trust me"},
    "decisions a text": lambda c, _: c | {"decisions": "all"},
    "decisions an object": lambda c, _: c | {"decisions": {}},
    "a list": lambda c, _: [c],
    "null": lambda c, _: "null",
    "cut off": lambda c, _: json.dumps(seal(c))[:-20],
    "empty": lambda c, _: "",
}
UNSEALED = {"seal wrong", "seal of before", "seal no text"}


# Prices and proofs ---------------------------------------------------------------------------------------------------


def _rows(c: Any) -> Iterator[list[Any]]:
    for table in (c, *c.get("more", [])):
        yield from table["lam"]
        yield from table["phi"]
        yield from (each["price"] for key in ("classes", "cells") for each in table.get(key, []))


def _largest(change: Callable[[int], int]) -> Forgery:
    """Change the largest price of each list; None if all are 0."""

    def forge(c: Any, _: Any) -> Any:
        rows = [row for row in _rows(c) if any(row)]
        for row in rows:
            at = row.index(max(row))
            row[at] = change(row[at])
        return c if rows else None

    return forge


def _zero(c: Any, _: Any) -> Any:
    rows = [row for row in _rows(c) if any(row)]
    for row in rows:
        row[:] = [0] * len(row)
    return c if rows else None


def _first(c: Any, value: Any) -> Any:
    c["lam"][0][0] = value
    return c


def _listed(key: str, change: Callable[[list[Any]], Any]) -> Forgery:
    """Change the list of classes or cells of the first table that has some."""

    def forge(c: Any, _: Any) -> Any:
        table = next((table for table in (c, *c.get("more", [])) if table.get(key)), None)
        if table is not None:
            table[key] = change(table[key])
        return c if table is not None else None

    return forge


def _entry(field: str, change: Callable[[Any], Any]) -> Callable[[list[Any]], Any]:
    return lambda rows: [rows[0] | {field: change(rows[0][field])}, *rows[1:]]


def _tree(change: Callable[[list[Any]], Any]) -> Forgery:
    return lambda c, _: c | {"tree": change(c["tree"])} if len(c.get("tree", [])) > 1 else None


def _decided(size: int, at: int, change: Callable[[int], int]) -> Forgery:
    """Change a number of the first decision of so many numbers."""

    def forge(c: Any, _: Any) -> Any:
        node = next((node for node in c.get("tree", []) if isinstance(node, list) and len(node) == size), None)
        if node is not None:
            node[at] = change(node[at])
        return c if node is not None else None

    return forge


def _leaves_mirrored(tree: list[Any]) -> Any:
    leaves = [node for node in tree if isinstance(node, int)]
    return [leaves.pop() if isinstance(node, int) else node for node in tree]


_LORA: dict[str, Forgery] = {
    "prices lowered": _largest(lambda x: x // 2),
    "prices raised": _largest(lambda x: 2 * x),
    "prices 1 lower": _largest(lambda x: x - 1),
    "prices zero": _zero,
    "price negative": lambda c, _: _first(c, -1),
    "price huge": lambda c, _: _first(c, 2**62),
    "price beyond huge": lambda c, _: _first(c, 2**63),
    "price a float": lambda c, _: _first(c, 0.5),
    "price NaN": lambda c, _: _first(c, float("nan")),
    "unit doubled": _with("unit", lambda x: 2 * x),
    "unit 3": _with("unit", lambda x: 3),
    "unit 0": _with("unit", lambda x: 0),
    "lam short": _with("lam", lambda x: [x[0][:-1], *x[1:]]),
    "lam of no type": _with("lam", lambda x: []),
    "phi long": _with("phi", lambda x: [[*x[0], 0], *x[1:]]),
    "phi of a type more": _with("phi", lambda x: [*x, x[0]]),
    "classes dropped": _listed("classes", lambda rows: []),
    "class twice": _listed("classes", lambda rows: [*rows, rows[0]]),
    "class of no type": _listed("classes", _entry("type", lambda x: 99)),
    "class rate 0": _listed("classes", _entry("rate", lambda x: 0)),
    "class of other memory": _listed("classes", _entry("memory_mb", lambda x: x + 1)),
    "class short": _listed("classes", _entry("price", lambda x: x[:-1])),
    "class negative": _listed("classes", _entry("price", lambda x: [-1, *x[1:]])),
    "cells dropped": _listed("cells", lambda rows: rows[1:]),
    "cell twice": _listed("cells", lambda rows: [*rows, rows[0]]),
    "cell of no task": _listed("cells", _entry("task", lambda x: 9999)),
    "cell of other task": _listed("cells", _entry("task", lambda x: x + 1)),
    "cell of no type": _listed("cells", _entry("type", lambda x: 99)),
    "cell before the first slot": _listed("cells", _entry("first", lambda x: 0)),
    "cell after the last slot": _listed("cells", _entry("first", lambda x: 9999)),
    "cell of no slot": _listed("cells", _entry("price", lambda x: [])),
    "cell negative": _listed("cells", _entry("price", lambda x: [-1, *x[1:]])),
    "tables dropped": lambda c, _: c | {"more": []} if c.get("more") else None,
    "tree empty": lambda c, _: c | {"tree": []} if c.get("tree") else None,
    "tree one leaf": _tree(lambda tree: [0]),
    "tree no branch but its side": _tree(lambda tree: tree[1:]),
    "tree a leaf less": _tree(lambda tree: tree[:-1]),
    "tree a leaf more": lambda c, _: c | {"tree": [*c["tree"], 0]} if c.get("tree") else None,
    "tree leaves mirrored": _tree(_leaves_mirrored),
    "tree all leaves the first table": _tree(lambda tree: [0 if isinstance(node, int) else node for node in tree]),
    "tree of no table": lambda c, _: c | {"tree": [*c["tree"][:-1], 999]} if c.get("tree") else None,
    "tree table negative": lambda c, _: c | {"tree": [*c["tree"][:-1], -1]} if c.get("tree") else None,
    "tree decides twice": lambda c, _: c | {"tree": [[0], 0, [0], 0, 0]} if c.get("tree") else None,
    "tree a task on both sides": lambda c, _: c | {"tree": [[0], [1], 0, 0, [1], 0, 0]} if c.get("tree") else None,
    "tree of no task": lambda c, _: c | {"tree": [[9999], 0, 0]} if c.get("tree") else None,
    "tree slot 0": lambda c, _: c | {"tree": [[0, 0], 0, 0]} if c.get("tree") else None,
    "tree cell of no slot": lambda c, _: c | {"tree": [[0, 0, 9999], 0, 0]} if c.get("tree") else None,
    "tree too many cells": lambda c, _: c | {"tree": [[0, 0, 0, 9999], 0, 0]} if c.get("tree") else None,
    "tree of five numbers": lambda c, _: c | {"tree": [[0, 0, 0, 0, 0], 0, 0]} if c.get("tree") else None,
    "tree of no number": lambda c, _: c | {"tree": [[], 0, 0]} if c.get("tree") else None,
    "decision on another task": _decided(1, 0, lambda x: (x + 1) % 4),
    "decision of another begin": _decided(2, 1, lambda x: x + 1),
    "decision on another cell": _decided(3, 0, lambda x: (x + 1) % 4),
    "decision of one cell more": _decided(4, 3, lambda x: x + 1),
    "a tree of one leaf": lambda c, _: (
        None if "tree" in c else c | {"format": c["format"][:-1] + "3", "more": [], "tree": [0]}
    ),
    "format 2 with a tree": lambda c, _: c | {"format": c["format"][:-1] + "2"} if "tree" in c else None,
    "format 4 without a tree": lambda c, _: None if "tree" in c else c | {"format": c["format"][:-1] + "4"},
    "format 3 with cells": lambda c, _: c | {"format": c["format"][:-1] + "3"} if "cells" in c else None,
}


def _priced(change: Callable[[list[int]], list[int]], scale: int = 1) -> Forgery:
    """Other prices of machines, with the upper end that they add up to."""

    def forge(c: Any, _: Any) -> Any:
        if not c["prices"]:
            return None
        c["prices"], c["scale"] = change(c["prices"]), scale * c["scale"]
        return c | {"upper": _text(Fraction(sum(c["prices"]), 1000 * c["scale"]))}

    return forge


_EAPM: dict[str, Forgery] = {
    "price lowered": _with("prices", lambda x: [x[0] - 1, *x[1:]] if x else [1]),
    "prices lowered, upper too": _priced(lambda x: [w * 9 // 10 for w in x]),
    "price 1 lower, upper too": _priced(lambda x: [x[0] - 1, *x[1:]]),
    "price raised, upper too": _priced(lambda x: [x[0] + 1, *x[1:]]),
    "prices doubled, upper too": _priced(lambda x: [2 * w for w in x]),
    "prices and scale doubled": _priced(lambda x: [2 * w for w in x], 2),
    "scale doubled, upper too": _priced(lambda x: x, 2),
    "prices rotated": _priced(lambda x: [*x[1:], x[0]]),
    "prices zero, upper too": _priced(lambda x: [0] * len(x)),
    "price negative": _priced(lambda x: [-1, x[0] + 1 + sum(x[1:2]), *x[2:]] if len(x) > 1 else [-1]),
    "prices short": _priced(lambda x: x[:-1]),
    "prices long": _priced(lambda x: [*x, 0]),
    "prices none": _with("prices", lambda x: []),
    "price huge": _priced(lambda x: [2**63, *x[1:]]),
    "price a float": _with("prices", lambda x: [0.5, *x[1:]]),
    "scale doubled": _with("scale", lambda x: 2 * x),
    "scale 0": _with("scale", lambda x: 0),
    "upper not in lowest terms": _with("upper", lambda x: "/".join(str(2 * int(part)) for part in x.split("/"))),
    "upper over 0": _with("upper", lambda x: x.split("/")[0] + "/0"),
    "upper a decimal": _with("upper", lambda x: "1.5"),
    "upper an integer": _with("upper", lambda x: 7),
    "upper negative": _with("upper", lambda x: "-1/1000000"),
    "upper nearly lower": lambda c, _: c | {"upper": _text(Fraction(c["lower"]) + Fraction(1, 10**9))},
}
_EDGEFLOW: dict[str, Forgery] = {
    "gpu prices lowered": _with("gpu_prices", lambda x: [w // 2 for w in x] if any(x) else None),
    "gpu prices raised": _with("gpu_prices", lambda x: [2 * w + 10**6 for w in x]),
    "edge prices raised": _with("edge_prices", lambda x: [2 * w + 10**6 for w in x]),
    "gpu prices zero": _with("gpu_prices", lambda x: [0] * len(x)),
    "edge prices zero": _with("edge_prices", lambda x: [0] * len(x)),
    "worths zero": _with("worths", lambda x: [0] * len(x)),
    "worths doubled": _with("worths", lambda x: [2 * w for w in x]),
    "worth raised": _with("worths", lambda x: [x[0] + 10**12, *x[1:]] if x else [1]),
    "worths short": _with("worths", lambda x: x[:-1] if x else [0]),
    "worth negative": _with("worths", lambda x: [-1, *x[1:]]),
    "price negative": _with("gpu_prices", lambda x: [-1, *x[1:]]),
    "price huge": _with("gpu_prices", lambda x: [2**63, *x[1:]]),
    "gpu prices short": _with("gpu_prices", lambda x: x[:-1] if x else [0]),
    "edge prices long": _with("edge_prices", lambda x: [*x, 0]),
    "scale doubled": _with("scale", lambda x: 2 * x),
    "scale halved": _with("scale", lambda x: x // 2),
    "scale 0": _with("scale", lambda x: 0),
    "points descend": _with("points", lambda x: x[::-1] if len(x) > 1 else [1, 0]),
    "point twice": _with("points", lambda x: [x[0], x[0], *x[2:]] if len(x) > 1 else [0, 0]),
    "point dropped": lambda c, _: (
        c | {key: c[key][:1] + c[key][2:] for key in ("points", "gpu_prices", "edge_prices")}
        if len(c["points"]) > 2
        else None
    ),
    "points end early": lambda c, _: (
        c | {key: c[key][:-1] for key in ("points", "gpu_prices", "edge_prices")} if len(c["points"]) > 2 else None
    ),
    "points moved": _with("points", lambda x: [second + 1 for second in x]),
    "points none": lambda c, _: c | {"points": [], "gpu_prices": [], "edge_prices": []},
}
_TENANTS: dict[str, Forgery] = {
    "price lowered": _with("prices", lambda x: [max(0, x[0] - 1), *x[1:]]),
    "price raised": _with("prices", lambda x: [x[0] + 1, *x[1:]]),
    "prices lowered": _with("prices", lambda x: [w * 9 // 10 for w in x]),
    "prices raised": _with("prices", lambda x: [w * 11 // 10 + 100 for w in x]),
    "prices doubled": _with("prices", lambda x: [2 * w for w in x]),
    "prices zero": _with("prices", lambda x: [0] * len(x)),
    "prices reversed": _with("prices", lambda x: x[::-1]),
    "price negative": _with("prices", lambda x: [-1, *x[1:]]),
    "prices short": _with("prices", lambda x: x[:-1]),
    "prices long": _with("prices", lambda x: [*x, 0]),
    "price huge": _with("prices", lambda x: [2**63, *x[1:]]),
    "price large": _with("prices", lambda x: [2**50, *x[1:]]),
    "price a text": _with("prices", lambda x: ["1", *x[1:]]),
    "prices none": _with("prices", lambda x: []),
}


def _each_row(change: Callable[[Any], Any]) -> Forgery:
    return _with("rows", lambda rows: [row | change(row) for row in rows] if rows else None)


_CLUSTER_PRICES: dict[str, Forgery] = {
    "lower end raised": _moved("scaled_lower", 1),
    "lower end lowered": _moved("scaled_lower", -1),
    "upper end lowered": _moved("scaled_upper", -1),
    "upper end raised": _moved("scaled_upper", 1),
    "upper end a float": _with("scaled_upper", float),
    "upper end missing": _without("scaled_upper"),
    "a field too many": lambda c, _: c | {"remark": "trust me"},
    "seal wrong": FORMS["seal wrong"],
    "format of later": FORMS["format of later"],
    "instance changed": ENDS["instance changed"],
    "another cost": _with("cost", lambda cost: "wait-gpu-hours"),
    "cost unknown": _with("cost", lambda cost: "waits"),
    "scale halved": _with("scale", lambda scale: max(1, scale // 2)),
    "scale 0": _with("scale", lambda scale: 0),
    "prices doubled": _each_row(lambda row: {"prices": [2 * price for price in row["prices"]]}),
    "prices halved": _each_row(lambda row: {"prices": [price // 2 for price in row["prices"]]}),
    "prices zero": _each_row(lambda row: {"prices": [0 for _ in row["prices"]]}),
    "price -1": _each_row(lambda row: {"prices": [-1, *row["prices"][1:]]}),
    "prices a segment later": _each_row(lambda row: {"first": row["first"] + 1}),
    "prices of a class unknown": _each_row(lambda row: {"job_class": row["job_class"] + 10**6}),
    "prices of a pool unknown": _each_row(lambda row: {"pool": row["pool"] + 9}),
    "no prices": _with("rows", lambda rows: []),
    "rows twice": _with("rows", lambda rows: [*rows, *rows] if rows else None),
    "borders reversed": _with("borders", lambda borders: borders[::-1]),
    "borders a second later": _with("borders", lambda borders: [border + 1 for border in borders]),
    "one border less": _with("borders", lambda borders: borders[:-1]),
    "all of one class": _with("classes", lambda classes: [classes[0]] * len(classes)),
    "classes short": _with("classes", lambda classes: classes[:-1]),
}
PRICES: dict[str, dict[str, Forgery]] = {
    "lora": _LORA,
    "eapm": _EAPM,
    "edgeflow": _EDGEFLOW,
    "tenants": _TENANTS,
    "cluster": _CLUSTER_PRICES,
}


# Decisions -----------------------------------------------------------------------------------------------------------


def _some(change: Callable[[Any, int, Any], Any]) -> Forgery:
    """Change the first decision that can be changed so: given it, its place and the instance; `...` if it cannot."""

    def forge(c: Any, instance: Any) -> Any:
        for at, decision in enumerate(c["decisions"]):
            changed = change(copy.deepcopy(decision), at, instance)
            if changed is not ...:
                c["decisions"][at] = changed
                return c
        return None

    return forge


def _served(change: Callable[[Any, Any], Any]) -> Forgery:
    """Change the decision of the first task that runs, given the task."""
    return _some(lambda d, at, i: change(d, i["tasks"][at]) if d and d["cells"] else ...)


def _cell(change: Callable[[list[int], Any], list[Any]]) -> Forgery:
    """Change the last cell of the first task that runs."""
    return _served(lambda d, task: d | {"cells": [*d["cells"][:-1], change(d["cells"][-1], task)]})


def _as_first(c: Any, i: Any) -> Any:
    """Every task runs in the cells of the first that runs."""
    first = next((d for d in c["decisions"] if d and d["cells"]), None)
    if first is None:
        return None
    return c | {"decisions": [d and d | {"cells": first["cells"]} for d in c["decisions"]]}


def _one_node(c: Any, i: Any) -> Any:
    moved = [d and d | {"cells": [[0, slot] for _, slot in d["cells"]]} for d in c["decisions"]]
    return c | {"decisions": moved} if moved != c["decisions"] else None


def _exchanged(c: Any, _: Any) -> Any:
    rows = c["decisions"]
    at = next((k for k in range(len(rows) - 1) if rows[k] != rows[k + 1]), None)
    if at is None:
        return None
    rows[at], rows[at + 1] = rows[at + 1], rows[at]
    return c


def _crowded(c: Any, instance: Any) -> Any:
    """A rejected task runs, too, on the node where that exceeds the capacity by least."""
    nodes = [kind for kind, node in enumerate(instance["node_types"]) for _ in range(node["count"])]
    used: Counter[tuple[int, int]] = Counter()
    memory: Counter[tuple[int, int]] = Counter()
    for task, d in zip(instance["tasks"], c["decisions"], strict=True):
        for node, slot in d["cells"] if d else []:
            used[node, slot] += task["rate"][nodes[node]]
            memory[node, slot] += task["memory_mb"]
    best: tuple[int, int, Any] | None = None
    for at, (task, d) in enumerate(zip(instance["tasks"], c["decisions"], strict=True)):
        for node, kind in enumerate(nodes if d is None and not task["vendors"] else []):
            rate, about = task["rate"][kind], instance["node_types"][kind]
            window = range(task["arrival"], task["deadline"] + 1)
            free = sorted((used[node, slot], slot) for slot in window)
            slots = [slot for _, slot in free[: -(-task["work"] // rate) if rate else 0]]
            if not slots or rate * len(slots) < task["work"]:
                continue
            most = about["memory_mb"] - instance["base_memory_mb"]
            excess = [max(0, used[node, slot] + rate - about["compute"]) for slot in slots]
            excess += [max(0, memory[node, slot] + task["memory_mb"] - most) for slot in slots]
            if any(excess) and (best is None or max(excess) < best[0]):
                best = max(excess), at, [[node, slot] for slot in sorted(slots)]
    if best is None:
        return None
    c["decisions"][best[1]] = {"vendor": None, "cells": best[2], "payment": None}
    return c


def _hurried(d: Any, at: int, instance: Any) -> Any:
    """A cell in the slot before the one in which the vendor is done."""
    task = instance["tasks"][at]
    if not d or not d["cells"] or d["vendor"] is None:
        return ...
    slot = task["arrival"] + task["vendors"][d["vendor"]]["delay"] - 1
    return d | {"cells": [[d["cells"][0][0], slot], *d["cells"][1:]]} if slot >= 1 else ...


_ROWS: dict[str, Forgery] = {
    "decisions short": _with("decisions", lambda x: x[:-1] if x else [None]),
    "decisions long": _with("decisions", lambda x: [*x, x[-1] if x else None]),
    "decisions none": _with("decisions", lambda x: [] if x else [[]]),
    "decisions exchanged": _exchanged,
    "decision a number": _with("decisions", lambda x: [5, *x[1:]]),
}
_LORA_ROWS: dict[str, Forgery] = {
    "task dropped": _served(lambda d, task: None),
    "all tasks dropped": _with("decisions", lambda x: [None] * len(x)),
    "task runs nowhere": _served(lambda d, task: d | {"cells": []}),
    "work too small": _served(lambda d, task: d | {"cells": d["cells"][1:]}),
    "cell twice in a task": _served(lambda d, task: d | {"cells": [*d["cells"], d["cells"][-1]]}),
    "two nodes in a slot": _served(
        lambda d, task: d | {"cells": [*d["cells"], [d["cells"][-1][0] + 1, d["cells"][-1][1]]]}
    ),
    "cell too early": _cell(lambda cell, task: [cell[0], task["arrival"] - 1]),
    "cell too late": _cell(lambda cell, task: [cell[0], task["deadline"] + 1]),
    "slot 0": _cell(lambda cell, task: [cell[0], 0]),
    "node unknown": _cell(lambda cell, task: [9999, cell[1]]),
    "node -1": _cell(lambda cell, task: [-1, cell[1]]),
    "slot a float": _cell(lambda cell, task: [cell[0], float(cell[1])]),
    "slot huge": _cell(lambda cell, task: [cell[0], 10**30]),
    "cell of three": _cell(lambda cell, task: [*cell, 1]),
    "vendor too many": _served(lambda d, task: ... if task["vendors"] else d | {"vendor": 0}),
    "vendor missing": _served(lambda d, task: d | {"vendor": None} if task["vendors"] else ...),
    "vendor unknown": _served(lambda d, task: d | {"vendor": len(task["vendors"])}),
    "vendor -1": _served(lambda d, task: d | {"vendor": -1}),
    "another vendor": _served(
        lambda d, task: d | {"vendor": (d["vendor"] + 1) % len(task["vendors"])} if len(task["vendors"]) > 1 else ...
    ),
    "vendor not done": _some(_hurried),
    "one task too many": _crowded,
    "all as the first": _as_first,
    "all on node 0": _one_node,
    "payment": _served(lambda d, task: d | {"payment": 1}),
    "payment missing": _served(lambda d, task: {"vendor": d["vendor"], "cells": d["cells"]}),
    "field unknown": _served(lambda d, task: d | {"admitted": True}),
    "cells missing": _served(lambda d, task: {"vendor": d["vendor"]}),
}


def _share(change: Callable[[list[int]], Any]) -> Forgery:
    return _some(lambda d, at, i: change(d) if d else ...)


_EAPM_ROWS: dict[str, Forgery] = {
    "share moved": _share(lambda d: [*d[1:], d[0]] if len(set(d)) > 1 else ...),
    "share more": _share(lambda d: [d[0] + 1, *d[1:]]),
    "share less": _share(lambda d: [max(d) - 1 if x == max(d) else x for x in d]),
    "share negative": _share(lambda d: [-1, d[1] + d[0] + 1, *d[2:]] if len(d) > 1 else [-1]),
    "shares short": _share(lambda d: d[:-1]),
    "shares long": _share(lambda d: [*d, 0]),
    "share a float": _share(lambda d: [float(d[0]), *d[1:]]),
    "share huge": _share(lambda d: [10**30, *d[1:]]),
    "user dropped": _share(lambda d: None),
    "all on machine 0": _with("decisions", lambda x: [[sum(d), *[0] * (len(d) - 1)] for d in x]),
}


def _piece(change: Callable[[list[int], Any], Any]) -> Forgery:
    """Change the first piece of the first job that runs, given the job; a list of pieces may come of it."""

    def pieces(d: Any, at: int, instance: Any) -> Any:
        changed = change(d[0], instance["jobs"][at]) if d else ...
        return ... if changed is ... else [*changed, *d[1:]]

    return _some(pieces)


def _sides(end: int) -> Forgery:
    """In `edge_closes`, the second job begins on the edge, ends in the cloud, and stalls for both overheads."""

    def forge(c: Any, instance: Any) -> Any:
        if instance["name"] != "edge_closes":
            return None
        return c | {"decisions": [[[1, 16, 0, 1]], [[1, end, 1, 1], [16, 22, 0, 1]]]}

    return forge


_EDGEFLOW_ROWS: dict[str, Forgery] = {
    "side changed in time": _sides(4),
    "side changed a second too late": _sides(3),
    "job dropped": _some(lambda d, at, i: [] if d else ...),
    "all jobs dropped": _with("decisions", lambda x: [[] for _ in x]),
    "piece dropped": _some(lambda d, at, i: d[1:] if len(d) > 1 else ...),
    "piece before submission": _piece(lambda p, job: [[job["submit"] - 1, *p[1:]]]),
    "piece of no time": _piece(lambda p, job: [[p[0], p[0], *p[2:]]]),
    "piece backwards": _piece(lambda p, job: [[p[1], p[0], *p[2:]]]),
    "piece twice": _piece(lambda p, job: [p, p]),
    "piece shorter": _some(lambda d, at, i: [*d[:-1], [d[-1][0], d[-1][1] - 1, *d[-1][2:]]] if d else ...),
    "piece cut in two": _piece(
        lambda p, job: [[p[0], p[0] + 1, *p[2:]], [p[0] + 1, *p[1:]]] if p[1] > p[0] + 1 else ...
    ),
    "piece with a pause": _piece(
        lambda p, job: [[p[0], p[0] + 1, *p[2:]], [p[0] + 2, *p[1:]]] if p[1] > p[0] + 2 else ...
    ),
    "piece after the deadline": _piece(lambda p, job: [[job["deadline"], job["deadline"] + p[1] - p[0], *p[2:]]]),
    "piece later": _piece(lambda p, job: [[p[0] + 1, p[1] + 1, *p[2:]]]),
    "no such share": _piece(lambda p, job: [[*p[:3], 9999]]),
    "no GPU": _piece(lambda p, job: [[*p[:3], 0]]),
    "on the edge": _piece(lambda p, job: [[*p[:2], 1, 1]] if p[2] == 0 else ...),
    "in no place": _piece(lambda p, job: [[*p[:2], 2, p[3]]]),
    "piece of three": _piece(lambda p, job: [p[:3]]),
    "second a float": _piece(lambda p, job: [[float(p[0]), *p[1:]]]),
    "all as the first": lambda c, _: (
        c | {"decisions": [next(d for d in c["decisions"] if d)] * len(c["decisions"])} if any(c["decisions"]) else None
    ),
}


def _overlapping(c: Any, instance: Any) -> Any:
    """A job starts a tick before the one before it on its GPU ends."""
    kinds = [kind for kind, gpu in enumerate(instance["gpu_types"]) for _ in range(gpu["count"])]
    jobs = instance["jobs"]
    ends = {(gpu, tick + jobs[at]["run"][kinds[gpu]]) for at, (gpu, tick) in enumerate(c["decisions"])}
    for at, (gpu, tick) in enumerate(c["decisions"]):
        if (gpu, tick) in ends and tick > jobs[at]["release"]:
            c["decisions"][at] = [gpu, tick - 1]
            return c
    return None


_TENANTS_ROWS: dict[str, Forgery] = {
    "a tick of overlap": _overlapping,
    "job dropped": _some(lambda d, at, i: None),
    "start before release": _some(lambda d, at, i: [d[0], i["jobs"][at]["release"] - 1]),
    "start a tick later": _with("decisions", lambda x: [[gpu, tick + 1] for gpu, tick in x]),
    "start late": _with("decisions", lambda x: [[gpu, tick + 10**6] for gpu, tick in x]),
    "start huge": _some(lambda d, at, i: [d[0], 10**30]),
    "start a float": _some(lambda d, at, i: [d[0], float(d[1])]),
    "GPU unknown": _some(lambda d, at, i: [9999, d[1]]),
    "GPU -1": _some(lambda d, at, i: [-1, d[1]]),
    "GPUs mirrored": _with("decisions", lambda x: [[max(g for g, _ in x) - gpu, tick] for gpu, tick in x]),
    "all on GPU 0": _with("decisions", lambda x: [[0, tick] for _, tick in x]),
    "all as the first": _with("decisions", lambda x: [x[0]] * len(x)),
    "start of three": _some(lambda d, at, i: [*d, 1]),
}


def _starts(change: Callable[[int], Any]) -> Forgery:
    return _with("starts", lambda starts: [change(start) for start in starts])


_CLUSTER_ROWS: dict[str, Forgery] = {
    "starts short": _with("starts", lambda starts: starts[:-1]),
    "starts a second earlier": _starts(lambda start: start - 1),
    "starts a second later": _starts(lambda start: start + 1),
    "starts a float": _starts(float),
    "start huge": _starts(lambda start: 10**30),
    "all as the first": _with("starts", lambda starts: [max(starts)] * len(starts)),
    "all in pool 0": _with("pools", lambda pools: [0] * len(pools)),
    "pool unknown": _with("pools", lambda pools: [99, *pools[1:]]),
    "all on node 0": _with("nodes", lambda nodes: [0] * len(nodes)),
    "node unknown": _with("nodes", lambda nodes: [99, *nodes[1:]]),
    "nodes short": _with("nodes", lambda nodes: nodes[:-1]),
    "nodes reversed": _with("nodes", lambda nodes: nodes[::-1]),
}
DECISIONS: dict[str, dict[str, Forgery]] = {
    "cluster": _CLUSTER_ROWS,
    "lora": _ROWS | _LORA_ROWS,
    "eapm": _ROWS | _EAPM_ROWS,
    "edgeflow": _ROWS | _EDGEFLOW_ROWS,
    "tenants": _ROWS | _TENANTS_ROWS,
}


# Inputs --------------------------------------------------------------------------------------------------------------


def _base(instance: Path, certificate: Path, formats: set[str]) -> Document:
    told = call("check", instance, "--certificate", certificate, "--explain").out
    found = json.loads(told[told.index("{") :])
    base = {
        "instance": json.loads(gzip.decompress(instance.read_bytes())),
        "certificate": found,
        "forms": found["format"] not in formats and "upper" in found,
        "ends": {},
    }
    formats.add(found["format"])
    family = family_of(found)
    for name in (*PRICES[family], *DECISIONS[family]):
        text = forged(name, base)
        if text is None:
            continue
        certificate.write_text(text)
        answer = call("check", instance, "--certificate", certificate, "--json")
        problem = (answer.document["problem"] or "") if answer.status < 2 else ""
        if match := re.match(r"(upper|lower): .* claimed; .* (-?[\d/]+)$", problem):
            end, value = match.groups()
            if end not in found:
                continue
            base["ends"][name] = {end: value if isinstance(found[end], str) else int(value)}
    return base


def main() -> int:
    """Make the bases, and write them."""
    bases: dict[str, Document] = {}
    formats: set[str] = set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        call("standard", "fetch", *SHIPPED, "--out", folder)
        for base in SHIPPED:
            bases[base] = _base(folder / f"{base}.json.gz", folder / f"{base}.cert", formats)
        for base, recipe in MADE.items():
            (made,) = document_of("generate", recipe, "--out", folder / base)
            certificate = folder / f"{base}.json"
            document_of("opt", made["file"], "--certificate", certificate)
            bases[base] = _base(Path(made["file"]), certificate, formats)
    INPUTS.write_bytes(gzip.compress(json.dumps(bases, separators=(",", ":")).encode(), mtime=0))
    print(f"{len(bases)} bases, {INPUTS.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
