"""The shipped instances: the counterexamples of the theory with their exact figures, and tiny hand-made ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from instances import shipped
from instances.lora.format import read
from instances.lora.model import Instance

_FOLDER = Path(__file__).with_name("named")


def names() -> tuple[str, ...]:
    """The names of the shipped instances, in alphabetical order."""
    return shipped.names(_FOLDER)


def path(name: str) -> Path:
    """The file of a shipped instance.

    Raises
    ------
    InputError : when there is none of that name.
    """
    return shipped.path(_FOLDER, name)


def named(name: str) -> Instance:
    """A shipped instance."""
    return read(path(name))


def expected(name: str) -> Mapping[str, Any]:
    """What is known exactly about a shipped instance: figures are fractions in strings, verdicts are booleans.

    Figures of the algorithm are those of pdFTSP as printed, with the exact schedule search and units as given.
    An absent key means that the figure is not known or does not apply.
    """
    path(name)
    return dict(shipped.expected(_FOLDER).get(name, {}))
