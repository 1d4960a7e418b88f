"""Examples of a strategy that many tests check: drawn once in a process, not again by every test."""

import functools
import inspect
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, Generic, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.lora import Instance, content_hash

T = TypeVar("T")
_optima: dict[str, int] = {}


def optimum_of(instance: Instance) -> int:
    """The optimum of a tiny instance by brute force, computed once in a process."""
    key = content_hash(instance)
    if key not in _optima:
        _optima[key] = enumerate_optimum(instance)[0]
    return _optima[key]


class Examples(Generic[T]):
    """The examples that Hypothesis draws of a strategy, for several tests.

    Hypothesis is seeded by a test's function, so every parameter of one test would draw the same examples anew.

    `strategy`: draws values that no test changes; `key`: what tells two examples apart; of equal ones, a third of tiny
    instances, the first is checked.
    """

    def __init__(self, strategy: st.SearchStrategy[T], count: int, key: Callable[[T], Hashable]) -> None:
        self._strategy, self._count, self._key = strategy, count, key

    @cached_property
    def drawn(self) -> tuple[T, ...]:
        """The different examples, in the order in which they were drawn."""
        found: dict[Hashable, T] = {}
        self._run(lambda example: found.setdefault(self._key(example), example))
        return tuple(found.values())

    def check(self, holds: Callable[[T], object]) -> None:
        """Check a property on every example; where it fails, Hypothesis searches and shrinks a counterexample."""
        try:
            for example in self.drawn:
                holds(example)
        except Exception:
            self._run(holds)
            raise

    def _run(self, body: Callable[[T], object]) -> None:
        @settings(max_examples=self._count, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
        @given(self._strategy)
        def test(example: T) -> None:
            body(example)

        test()


def on_examples(strategy: st.SearchStrategy[Instance], count: int) -> Callable[[Callable[..., None]], Any]:
    """Decorate a test with a parameter `instance`: it is called with every different one of so many drawn.

    For a test that takes them all: one that assumes something of an instance needs Hypothesis to draw others.
    """
    examples = Examples(strategy, count, content_hash)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def checked(**given: Any) -> None:
            examples.check(lambda instance: test(instance=instance, **given))

        others = [each for name, each in signature.parameters.items() if name != "instance"]
        checked.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return checked

    return decorate
