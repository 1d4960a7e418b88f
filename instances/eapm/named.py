"""The shipped instances: tiny hand-made ones that show what the second paper's rule and lemma get wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from instances import shipped
from instances.eapm.format import read
from instances.eapm.model import Instance

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
    """What is known exactly about a shipped instance: ``opt``, ``greedy`` and ``average``, fractions in strings."""
    path(name)
    return dict(shipped.expected(_FOLDER)[name])
