"""Comparisons: algorithms of one run, and two folders of results."""
