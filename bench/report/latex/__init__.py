"""The results of a run for a paper written in LaTeX."""
