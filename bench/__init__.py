"""How far apart: suites, runs, ratios, theorems and reports."""
