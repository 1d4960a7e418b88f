"""The rows of results: as text, as a table of the page, and drawn case by case."""
