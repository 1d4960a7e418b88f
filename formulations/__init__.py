"""What is best: OPT, or a certified interval on it."""
