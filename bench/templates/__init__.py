"""Texts of the files that the command `new` writes."""
