"""Suites, runs, ratios, theorems and reports: what the commands and the functions of `ratiobench` do."""
