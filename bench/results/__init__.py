"""The rows of results: one frozen record per case and algorithm."""
