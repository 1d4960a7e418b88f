"""The algorithms by name, and one run of one of them; names with options are read as `online.registry` says."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import cache

from instances.errors import InputError, about
from instances.lora.format import content_hash, loads, read
from instances.lora.model import Instance
from online.outcome import OnlineRun
from online.registry import Constants, Registry, require_prior
from online.spec import Entry, Option, Spec, fraction

__all__ = [
    "REGISTRY", "Entry", "Option", "Spec", "algorithms", "buildable", "canonical", "entries", "fraction", "parse",
    "register", "run", "settle_constants", "warm",
]  # fmt: skip

CELL_LIMIT = 20_000_000
"""Most cells (node, slot) of a cluster that an online run keeps books of; five tables of 8 bytes each."""


def _constants() -> Constants[Instance]:
    from online.lora.constants import CONSTANTS

    return CONSTANTS


REGISTRY: Registry[Instance] = Registry("online.lora", _constants, read, loads, content_hash)

register = REGISTRY.register
entries = REGISTRY.entries
parse = REGISTRY.parse
algorithms = REGISTRY.algorithms
canonical = REGISTRY.canonical
buildable = REGISTRY.buildable
settle_constants = REGISTRY.settle_constants


def run(
    instance: Instance, text: str, seed: str | None = None, prior: Instance | None = None, *, migration: bool = True
) -> OnlineRun:
    """One run of the algorithm on the instance under the referee.

    Parameters
    ----------
    text : the algorithm's name with options, or an import path.
    seed : name of the random stream of algorithms that draw; the instance's hash by default.
    prior : the other day, from which an algorithm that is named with `prior=yesterday` takes its constants.
    migration : False: the algorithm's form `migrate=no`, or anyone's own as it is; two nodes for a task are a
        violation. What is named with `migrate=no` is always judged so.

    Raises
    ------
    InputError : for a name, option, prior file or import path that does not exist, for `prior=yesterday` without a
        prior, for a cluster too large, for a task too large for the algorithm's search, and without migration for an
        algorithm that has no such form.
    """
    from online.lora.one_node import MIGRATE, NO
    from online.lora.table import play_isolated

    spec = parse(text)
    if spec.entry is not None and not migration:
        if MIGRATE not in spec.entry.options:
            able = ", ".join(name for name, entry in entries().items() if MIGRATE in entry.options)
            raise InputError("--no-migration", spec.head, f"no form that keeps tasks on one node; {able} have one")
        spec = replace(spec, options={**spec.options, MIGRATE: NO})
    migration = migration and not (spec.entry is not None and spec.options.get(MIGRATE) == NO)
    cells = instance.nodes * instance.slots
    if cells > CELL_LIMIT:
        problem = f"{instance.nodes} nodes x {instance.slots} slots; an online run takes at most {CELL_LIMIT} cells"
        raise InputError(instance.name, "node_types", problem)
    require_prior(spec, prior)
    seed = content_hash(instance) if seed is None else seed
    if spec.entry is None:
        return play_isolated(instance, spec, seed, prior, migration=migration)
    _warm_once(REGISTRY.choice(spec, instance.tasks))
    with about(instance.name):
        return _run(instance, spec, seed, prior, migration=migration)


@cache
def _warm_once(choice: str) -> None:
    """Compile and load what an algorithm of ours needs, and start its solver, before any clock runs."""
    from formulations.lora import batch
    from online.lora.warming import small

    with contextlib.suppress(Exception):  # what is wrong the run itself says
        spec = parse(choice)
        _run(small(), spec, "warm")
        if spec.entry is not None and spec.entry.name == "titan":  # on the small instance it needs hardly anything
            batch.warm(small())


def _run(
    instance: Instance, spec: Spec, seed: str, prior: Instance | None = None, *, migration: bool = True
) -> OnlineRun:
    from online.lora.table import play

    entry, algorithm, constants = REGISTRY.prepare(spec, instance, instance.tasks, prior)
    margin = getattr(algorithm, "margin", 1)
    if margin != 1:
        told = f"used {margin} times as large"
        constants = tuple(
            replace(c, detail=", ".join(filter(None, (c.detail, told)))) if c.name in algorithm.widened else c
            for c in constants
        )
    return play(instance, algorithm, spec.name, entry.version, constants, seed, migration=migration)


def warm() -> None:
    """Compile and cache every kernel by running every algorithm, with each of its options, on a small instance."""
    from online.lora.warming import warm_up

    warm_up()
