"""Tests of the four floors; `tests.strategies` holds the shared Hypothesis strategies."""
