"""The report of a folder of results: text, tables, pictures and pages."""
