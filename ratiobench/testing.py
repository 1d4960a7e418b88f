"""Assertions about runs, and the terms of Theorem 5, for the tests of other projects."""

from ratiobench.bench.lora.theory.terms import alpha, bbar, beta, rho, theorem5_bound
from ratiobench.bench.testing import assert_bound, assert_valid

__all__ = ["alpha", "assert_bound", "assert_valid", "bbar", "beta", "rho", "theorem5_bound"]
