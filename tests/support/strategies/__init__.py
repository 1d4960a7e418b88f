"""Hypothesis strategies for tiny instances and their documents, by family."""
