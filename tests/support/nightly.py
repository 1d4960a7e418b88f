"""Parameters of which `nox -s tests` takes some."""

from collections.abc import Iterable

import pytest


def one_in(count: int, values: Iterable[object]) -> list[object]:
    """The values of a parameter; all but the first of every so many have the mark `nightly`."""
    return [
        value if place % count == 0 else pytest.param(value, marks=pytest.mark.nightly)
        for place, value in enumerate(values)
    ]
