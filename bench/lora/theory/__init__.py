"""The theory laboratory: every claim about a mechanism as an exact check on one run."""
