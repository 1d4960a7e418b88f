"""Tests of the four floors; `tests.support.strategies` holds the shared Hypothesis strategies."""
