"""The report of a folder of results: a folder per topic with its data, charts, text and page beside each other."""
