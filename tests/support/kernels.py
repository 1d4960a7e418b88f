"""Kernels that only kernels call, for tests."""

from collections.abc import Callable
from typing import Any

from numba import njit


def callable_kernel(kernel: Any) -> Callable[..., Any]:
    """A kernel that hands its arguments on to an inner one and returns its answer."""

    @njit  # type: ignore[untyped-decorator]
    def call(*given):  # type: ignore[no-untyped-def]
        return kernel(*given)

    found: Callable[..., Any] = call
    return found
