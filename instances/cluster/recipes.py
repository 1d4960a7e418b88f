"""The single entry to all instances of family `cluster`: a recipe (JSON values) in, an instance out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ratiobench.instances.cluster.generate import generate
from ratiobench.instances.cluster.model import COSTS, Instance
from ratiobench.instances.io.keys import Choice, Form, Integer, Key, Seed, Text, Values
from ratiobench.instances.io.recipe import SOURCE, make_instance

MONTH = "month"
KEYS = (
    Key("name", Text(), "label of the instance", default_text="made of the rest"),
    Key("seed", Seed(), "names the random streams", 0),
    Key("days", Integer(1, 366), "days of submits, from a Monday", 30, "days"),
    Key("load", Integer(1, 1000), "GPU-seconds asked for over capacity", 85, "percent"),
    Key("nodes", Integer(1, 10_000), "nodes of each of the two pools (8 GPUs, 4 GPUs a node)", 40, "nodes"),
    Key("jobs", Integer(1, 10**6), "jobs at most", 50_000, "jobs"),
    Key("cost", Choice(COSTS), "by which schedules are judged", "wait"),
)


def make(recipe: Mapping[str, Any]) -> Instance:
    """Make the instance of a recipe, ``{"kind": "month", ...}``."""
    return make_instance(recipe, {MONTH: _month})


def forms() -> tuple[Form, ...]:
    """The kinds of recipes that have keys of their own."""
    summary = "a generated log: users and accounts, days and weeks, arrays, gangs, limits far above run times"
    return (Form(MONTH, summary, KEYS[1:], {"kind": MONTH}, _read, "name"),)


def _read(recipe: Mapping[str, Any]) -> Values:
    return Values(SOURCE, KEYS, recipe)


def _month(recipe: Mapping[str, Any]) -> Instance:
    values = _read(recipe)
    seed = "-".join(map(str, values["seed"]))
    pools = (("a100", values["nodes"], 8), ("v100", values["nodes"], 4))
    month = generate(seed, values["days"], values["load"], pools, values["jobs"])
    name = values["name"] or f"month-{seed}-d{values['days']}-load{values['load']}-n{values['nodes']}"
    return replace(month, name=name, cost=values["cost"], cache={})
