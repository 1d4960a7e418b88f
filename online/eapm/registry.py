"""The algorithms by name, and one run of one of them; names with options are read as `online.naming` says."""

from __future__ import annotations

from instances.eapm.format import content_hash, read
from instances.eapm.model import Instance
from instances.errors import InputError
from online.naming import Constants, Entry, Option, Registry, Spec, fraction, require_prior
from online.outcome import OnlineRun

__all__ = [
    "REGISTRY", "Entry", "Option", "Spec", "algorithms", "buildable", "canonical", "entries", "fraction", "parse",
    "register", "run", "settle_constants", "warm",
]  # fmt: skip


def _constants() -> Constants[Instance]:
    from online.eapm.constants import CONSTANTS

    return CONSTANTS


def _try_to_build(spec: Spec) -> None:
    raise InputError("algorithm", spec.path, "import paths are not taken yet")


REGISTRY: Registry[Instance] = Registry("online.eapm", _constants, read, content_hash, _try_to_build)

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
    from online.eapm.referee import play

    spec = parse(text)
    require_prior(spec, prior)
    if spec.entry is None:
        raise InputError("algorithm", text, "import paths are not taken yet")
    entry, algorithm, constants = REGISTRY.prepare(spec, instance, instance.users, prior)
    return play(instance, algorithm, spec.name, entry.version, constants)


def warm() -> None:
    """Compile and cache every kernel by running every algorithm, with each of its options, on a small instance."""
    from online.eapm.warming import warm_up

    warm_up()
