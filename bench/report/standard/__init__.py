"""The standard set: its table and the growth of its gaps."""
