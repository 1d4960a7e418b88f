"""Instances of family `cluster` by recipes: generated months, and jobs of public traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.format import FORMAT, parse
from ratiobench.instances.cluster.model import COSTS, DAY, Instance
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Seed, Text
from ratiobench.instances.io.recipe import SOURCE, make_forms, make_instance, read_values
from ratiobench.instances.io.seeds import Stream

DATA = Path(__file__).resolve().parent / "data"
TRACES = ("philly", "helios")
NODE = 8  # GPUs of a node under the jobs of a trace
_COST = Key("cost", Choice(COSTS), "by which schedules are judged", "wait")
_NAME = Key("name", Text(), "label of the instance", default_text="made of the rest")
# The keys of a recipe, by its kind
KEYS: Mapping[str, tuple[Key, ...]] = {
    "month": (
        _NAME,
        Key("seed", Seed(), "names the random streams", 0),
        Key("days", Integer(1, 366), "days of submits, from a Monday", 30, "days"),
        Key("load", Integer(1, 1000), "GPU-seconds asked for over capacity", 85, "percent"),
        Key("nodes", Integer(1, 10_000), "nodes of each of the two pools (8 GPUs, 4 GPUs a node)", 40, "nodes"),
        Key("jobs", Integer(1, 10**6), "jobs at most", 50_000, "jobs"),
        _COST,
    ),
    "trace": (
        _NAME,
        Key("trace", Choice(TRACES), "whose jobs", TRACES[0]),
        Key("first", Integer(1, 10**6), "number of the first job", 1),
        Key("jobs", Integer(1, 10**6), "jobs from the first one on that fit on the nodes", 1_000, "jobs"),
        Key("nodes", Integer(1, 10_000), "nodes of 8 GPUs", 64, "nodes"),
        _COST,
    ),
}
_SUMMARIES = {
    "month": "a generated log: users and accounts, days and weeks, arrays, gangs, limits far above run times",
    "trace": "jobs of a public trace on a cluster that is empty at first; everybody knows their lengths",
}
VERSION = 1  # Version of the law; another one gives other months
POOLS = (("a100", 40, 8), ("v100", 40, 4))
# (nodes, GPUs per node) of a job and how many of 100 jobs have it; on v100 at most 4 GPUs of a node are taken
SHAPES = (((1, 1), 46), ((1, 2), 14), ((1, 4), 14), ((1, 8), 12), ((2, 8), 6), ((4, 8), 5), ((8, 8), 2), ((16, 8), 1))
OCTAVES = (2, 3, 4, 6, 8, 10, 12, 13, 12, 10, 8, 6, 4, 2)  # weight of run times of [2^o, 2^(o+1)) seconds, o = 4, ...
LIMITS = (1, 2, 4, 8, 12, 24, 48, 72, 120)  # hours that users ask for
ARRAYS = ((1, 78), (4, 10), (8, 7), (20, 4), (60, 1))  # jobs submitted at once, and how many of 100 submissions
# Submissions of the 24 hours from midnight, and of the 7 days from Monday
HOURS = (3, 2, 2, 1, 1, 1, 2, 4, 7, 10, 12, 12, 9, 11, 12, 12, 11, 10, 8, 7, 6, 5, 5, 4)
WEEK = (10, 11, 11, 11, 9, 4, 3)
USERS, ACCOUNTS = 60, 8


def make(recipe: Mapping[str, Any]) -> Instance:
    return make_instance(recipe, {"month": _month, "trace": _trace})


def forms() -> tuple[Form, ...]:
    return make_forms(KEYS, _SUMMARIES, lambda recipe: read_values(recipe, KEYS))


def _month(recipe: Mapping[str, Any]) -> Instance:
    values = read_values(recipe, KEYS)
    seed = "-".join(map(str, values["seed"]))
    pools = (("a100", values["nodes"], 8), ("v100", values["nodes"], 4))
    month = generate(seed, values["days"], values["load"], pools, values["jobs"])
    name = values["name"] or f"month-{seed}-d{values['days']}-load{values['load']}-n{values['nodes']}"
    return replace(month, name=name, cost=values["cost"], cache={})


def _trace(recipe: Mapping[str, Any]) -> Instance:
    """Jobs of a trace: more GPUs than a node has are spread evenly, rounded up; limits are the lengths."""
    values = read_values(recipe, KEYS)
    trace, first, nodes = values["trace"], values["first"], values["nodes"]
    table = np.loadtxt(DATA / f"{trace}.csv.gz", dtype=np.int64, delimiter=",", skiprows=1)[first - 1 :]
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


def generate(
    seed: str, days: int = 30, load: int = 85, pools: Sequence[tuple[str, int, int]] = POOLS, most: int = 50_000
) -> Instance:
    """Draw a log of whole days from a Monday, of at most so many jobs: arrays, gangs, limits far above run times."""
    # One stream of integers per column (`instances/io/seeds.py`), so a seed gives the same month on any machine
    capacity = sum(nodes * gpus for _, nodes, gpus in pools)
    work = load * capacity * days * DAY // 100

    def stream(column: str) -> Stream:
        return Stream("ratiobench/cluster/generate", VERSION, seed, column)

    def pick(column: str, weights: Sequence[int]) -> IntArray:
        ends = np.cumsum(weights)
        return np.searchsorted(ends, stream(column).integers(0, int(ends[-1]) - 1, most), side="right")

    user = pick("user", [1000 // (u + 4) for u in range(USERS)])[np.arange(most) // 4 * 4]  # four in a row are of one
    shape, octave = pick("shape", [weight for _, weight in SHAPES]), pick("octave", OCTAVES)
    array, pool = pick("array", [weight for _, weight in ARRAYS]), pick("pool", [n * g for _, n, g in pools] + [20])
    hour = pick("hour", [day * h for d in range(days) for day in (WEEK[d % 7],) for h in HOURS])
    within = stream("second").integers(0, 3599, most)
    low, spread = 2 ** (octave + 4), stream("run").integers(0, 2**20 - 1, most)
    surplus = pick("limit", (3, 4, 2, 1))
    rows: list[tuple[int, ...]] = []
    used = job = 0
    for i in range(most):  # submission i: an array of equal jobs
        nodes, gpus = SHAPES[shape[i]][0]
        fit = [q for q, (_, most_nodes, most_gpus) in enumerate(pools) if nodes <= most_nodes and gpus <= most_gpus]
        mine = [int(pool[i])] if pool[i] in fit else fit
        for _ in range(ARRAYS[array[i]][0] if nodes == 1 else 1):
            if job == most or used >= work or not mine:
                break
            run = int(low[i] + (low[i] * spread[job] >> 20))
            hours = min(np.searchsorted(LIMITS, -(-run // 3600)) + surplus[i], len(LIMITS) - 1)
            limit = max(run, 3600 * LIMITS[hours])
            submit = int(3600 * hour[i] + within[i])
            rows.append((submit, job, run, limit, nodes, gpus, sum(1 << q for q in mine), int(user[i])))
            used += nodes * gpus * run
            job += 1
        if used >= work:
            break
    table = np.array(sorted(rows), dtype=np.int64).reshape(-1, 8).T.tolist()
    names = ("submit", "id", "run", "limit", "nodes", "gpus", "pools", "user")
    columns: dict[str, Any] = dict(zip(names, table, strict=True))
    sets = sorted(set(columns["pools"]))
    columns["id"] = [str(k + 1) for k in columns["id"]]
    columns["pools"] = [sets.index(mask) for mask in columns["pools"]]
    columns["account"] = [u % ACCOUNTS for u in columns["user"]]
    document = {
        "format": FORMAT,
        "name": f"month-{seed}",
        "origin": {"generator": "ratiobench/cluster/generate", "version": VERSION, "seed": seed, "load": load},
        "begin": 0,
        "pools": [{"name": pool, "nodes": nodes, "gpus": gpus} for pool, nodes, gpus in pools],
        "accounts": [f"a{a}" for a in range(ACCOUNTS)],
        "users": [f"u{u}" for u in range(USERS)],
        "pool_sets": [[q for q in range(len(pools)) if mask >> q & 1] for mask in sets],
        "jobs": columns,
    }
    return parse(document, f"month-{seed}")
