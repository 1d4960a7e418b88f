"""The answer of a run: its headline on the page and its last lines in a terminal."""
