"""Assertions about runs for the tests of other projects; see `ratiobench.bench.testing`."""

from ratiobench.bench.testing import assert_bound, assert_valid

__all__ = ["assert_bound", "assert_valid"]
