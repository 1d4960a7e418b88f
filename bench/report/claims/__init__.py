"""Claims: how often each holds or is violated, and the smallest witnesses."""
