"""Time lines of runs: loads, prices, arrivals."""
