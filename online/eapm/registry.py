"""The algorithms by name, and one run of one of them; names with options are read as `online.registry` says."""

from __future__ import annotations

import contextlib
from functools import cache

from instances.eapm.format import content_hash, loads, read
from instances.eapm.model import Instance
from online.outcome import OnlineRun
from online.registry import Constants, Registry, require_prior
from online.spec import Entry, Option, Spec, fraction

__all__ = [
    "REGISTRY", "Entry", "Option", "Spec", "algorithms", "buildable", "canonical", "entries", "fraction", "parse",
    "register", "run", "settle_constants", "warm",
]  # fmt: skip


def _constants() -> Constants[Instance]:
    from online.eapm.constants import CONSTANTS

    return CONSTANTS


REGISTRY: Registry[Instance] = Registry("online.eapm", _constants, read, loads, content_hash)

register = REGISTRY.register
entries = REGISTRY.entries
parse = REGISTRY.parse
algorithms = REGISTRY.algorithms
canonical = REGISTRY.canonical
buildable = REGISTRY.buildable
settle_constants = REGISTRY.settle_constants


def run(instance: Instance, text: str, prior: Instance | None = None) -> OnlineRun:
    """One run of the algorithm on the instance under the referee.

    Parameters
    ----------
    text : the algorithm's name with options, or an import path.
    prior : the other day, from which an algorithm that is named with `prior=yesterday` takes its constants.

    Raises
    ------
    InputError : for a name, option, prior file or import path that does not exist, and for `prior=yesterday` without a
        prior.
    """
    from online.eapm.table import play_isolated

    spec = parse(text)
    require_prior(spec, prior)
    if spec.entry is None:
        return play_isolated(instance, spec, prior)
    _warm_once(REGISTRY.choice(spec, instance.users))
    return _run(instance, spec, prior)


@cache
def _warm_once(choice: str) -> None:
    """Compile and load what an algorithm of ours needs, and start its solver, before any clock runs."""
    from online.eapm.warming import small

    with contextlib.suppress(Exception):  # what is wrong the run itself says
        _run(small(), parse(choice))


def _run(instance: Instance, spec: Spec, prior: Instance | None = None) -> OnlineRun:
    from online.eapm.table import play

    entry, algorithm, constants = REGISTRY.prepare(spec, instance, instance.users, prior)
    return play(instance, algorithm, spec.name, entry.version, constants)


def warm() -> None:
    """Compile and cache every kernel by running every algorithm, with each of its options, on a small instance."""
    from online.eapm.warming import warm_up

    warm_up()
