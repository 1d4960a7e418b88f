"""Algorithms inside others: ``NAME;option=value;...`` in an option's value, and their constants and history.

`combine` and `truthful` run other registered algorithms. Such an algorithm decides each task when it arrives: one that
decides a slot's arrivals together, or later, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from fractions import Fraction
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.model import Instance, Public
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.spec import Spec

NESTING = ("combine", "truthful", "quota")


def read_inner(field: str, text: str) -> Spec:
    """The algorithm that an option names.

    Parameters
    ----------
    field : of the option, ``NAME:OPTION``, for errors.

    Raises
    ------
    InputError : one that does not exist, that is not registered, contains another one, or takes a prior of its own.
    """
    head, _, rest = text.partition(";")
    spec = REGISTRY.parse(":".join(filter(None, [head, rest.replace(";", ",")])))
    if spec.entry is None or spec.head in NESTING:
        raise InputError("algorithm", field, f"{shorten(head)} cannot run inside another algorithm")
    if spec.prior:
        raise InputError("algorithm", field, "earlier days are named outside: prior= or history= of the whole")
    return spec


class Inner:
    """An algorithm inside another one.

    Parameters
    ----------
    arith : exact or float, for algorithms with that option at `auto`.

    Attributes
    ----------
    algorithm : as it was built.
    constants : those that it declares and its name does not give.
    """

    def __init__(self, field: str, text: str, arith: str) -> None:
        self.spec = read_inner(field, text)
        entry = self.spec.entry
        assert entry is not None
        options = dict(self.spec.options)
        if options.get("arith") == "auto":
            options["arith"] = arith
        self.algorithm = entry.make(options)
        for name, problem in (("decide_batch", "decides the tasks of a slot together"), ("at_slot", "decides later")):
            if hasattr(self.algorithm, name):
                raise InputError("algorithm", field, f"{self.spec.head} {problem}, and cannot run inside another one")
        declared: Sequence[str] = getattr(self.algorithm, "constants", ())
        self.constants = tuple(name for name in declared if name not in self.spec.given)

    def copy_state(self, memo: dict[int, Any]) -> Inner:
        """The same with a copy of the algorithm as it is."""
        twin = copy(self)
        twin.algorithm = deepcopy(self.algorithm, memo)
        return twin

    @property
    def is_randomised(self) -> bool:
        """Whether it draws."""
        assert self.spec.entry is not None
        return self.spec.entry.is_randomised(self.spec.options)

    def learn(self, history: Instance | None, tested: Instance) -> Mapping[str, Fraction]:
        """What it takes from earlier days, by name."""
        assert self.spec.entry is not None
        return self.algorithm.learn(history, tested) if self.spec.entry.learns else {}

    def settle(self, constants: Mapping[str, Fraction]) -> Mapping[str, Fraction]:
        """Its constants, those of its name included."""
        return {name: constants[name] for name in self.constants} | dict(self.spec.given)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """It starts."""
        self.algorithm.start(public, self.settle(constants))


def join_constants(inners: Sequence[Inner]) -> tuple[str, ...]:
    """The constants of several, each once."""
    return tuple(dict.fromkeys(name for inner in inners for name in inner.constants))


def learn_all(inners: Sequence[Inner], history: Instance | None, tested: Instance) -> dict[str, Fraction]:
    """What several take from earlier days, by name."""
    found: dict[str, Fraction] = {}
    for inner in inners:
        found |= inner.learn(history, tested)
    return found


def learns_nothing(inners: Sequence[Any]) -> bool:
    """Whether none of them looks at earlier days."""
    return not any(inner.spec.entry.learns for inner in inners)
