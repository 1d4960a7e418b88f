"""The single entry to all instances of family `cluster`: a recipe (JSON values) in, an instance out."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ratiobench.instances.cluster.format import FORMAT, parse
from ratiobench.instances.cluster.generate import generate
from ratiobench.instances.cluster.model import COSTS, Instance
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Seed, Text, Values
from ratiobench.instances.io.recipe import SOURCE, make_instance

MONTH, TRACE = "month", "trace"
DATA = Path(__file__).resolve().parent / "data"
TRACES = ("philly", "helios")
NODE = 8  # GPUs of a node under the jobs of a trace
_COST = Key("cost", Choice(COSTS), "by which schedules are judged", "wait")
_NAME = Key("name", Text(), "label of the instance", default_text="made of the rest")
KEYS = (
    _NAME,
    Key("seed", Seed(), "names the random streams", 0),
    Key("days", Integer(1, 366), "days of submits, from a Monday", 30, "days"),
    Key("load", Integer(1, 1000), "GPU-seconds asked for over capacity", 85, "percent"),
    Key("nodes", Integer(1, 10_000), "nodes of each of the two pools (8 GPUs, 4 GPUs a node)", 40, "nodes"),
    Key("jobs", Integer(1, 10**6), "jobs at most", 50_000, "jobs"),
    _COST,
)
TRACE_KEYS = (
    _NAME,
    Key("trace", Choice(TRACES), "whose jobs", TRACES[0]),
    Key("first", Integer(1, 10**6), "number of the first job", 1),
    Key("jobs", Integer(1, 10**6), "jobs from the first one on that fit on the nodes", 1_000, "jobs"),
    Key("nodes", Integer(1, 10_000), "nodes of 8 GPUs", 64, "nodes"),
    _COST,
)


def make(recipe: Mapping[str, Any]) -> Instance:
    """Make the instance of a recipe, ``{"kind": "month", ...}``."""
    return make_instance(recipe, {MONTH: _month, TRACE: _trace})


def forms() -> tuple[Form, ...]:
    """The kinds of recipes that have keys of their own."""
    month = "a generated log: users and accounts, days and weeks, arrays, gangs, limits far above run times"
    trace = "jobs of a public trace on a cluster that is empty at first; everybody knows their lengths"
    return (
        Form(MONTH, month, KEYS[1:], {"kind": MONTH}, lambda recipe: Values(SOURCE, KEYS, recipe), "name"),
        Form(TRACE, trace, TRACE_KEYS[1:], {"kind": TRACE}, lambda recipe: Values(SOURCE, TRACE_KEYS, recipe), "name"),
    )


def _month(recipe: Mapping[str, Any]) -> Instance:
    values = Values(SOURCE, KEYS, recipe)
    seed = "-".join(map(str, values["seed"]))
    pools = (("a100", values["nodes"], 8), ("v100", values["nodes"], 4))
    month = generate(seed, values["days"], values["load"], pools, values["jobs"])
    name = values["name"] or f"month-{seed}-d{values['days']}-load{values['load']}-n{values['nodes']}"
    return replace(month, name=name, cost=values["cost"], cache={})


def _trace(recipe: Mapping[str, Any]) -> Instance:
    """Jobs of a trace: more GPUs than a node has are spread evenly, rounded up; limits are the lengths."""
    values = Values(SOURCE, TRACE_KEYS, recipe)
    trace, first, nodes = values["trace"], values["first"], values["nodes"]
    rows = csv.reader(gzip.decompress((DATA / f"{trace}.csv.gz").read_bytes()).decode().splitlines()[first:])
    table = np.array(list(rows), dtype=np.int64).reshape(-1, 3)
    number = first + np.arange(len(table))
    gang = -(-table[:, 2] // NODE)
    kept = np.flatnonzero(gang <= nodes)[: values["jobs"]]
    if len(kept) < values["jobs"]:
        raise InputError(SOURCE, "jobs", f"{values['jobs']}: from {first} on, {trace} has {len(kept)} on {nodes} nodes")
    submit, run, gpus = table[kept].T
    columns = {
        "id": [str(k) for k in number[kept]],
        "submit": submit.tolist(),
        "run": run.tolist(),
        "limit": run.tolist(),
        "nodes": gang[kept].tolist(),
        "gpus": (-(-gpus // gang[kept])).tolist(),
        "pools": [0] * len(kept),
    }
    name = values["name"] or f"{trace}-{first}-j{len(kept)}-n{nodes}"
    document = {"format": FORMAT, "name": name, "cost": values["cost"], "begin": int(submit[0]), "pool_sets": [[0]]}
    document |= {"origin": {"trace": trace, "first": first}, "pools": [{"name": "gpu", "nodes": nodes, "gpus": NODE}]}
    return parse(document | {"jobs": columns}, name)
