"""Tables of results: ratios, intervals, verdicts, comparisons."""
