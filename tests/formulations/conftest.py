"""Fixtures of all tests of formulations."""

from collections.abc import Iterator

import pytest

from ratiobench.formulations import worker


@pytest.fixture(scope="module", autouse=True)
def _workers_end_with_the_module() -> Iterator[None]:
    yield
    worker.close_all()
