"""The page of a run: the order of its sections."""
