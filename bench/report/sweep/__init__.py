"""Ratios over the values of a parameter, with the bound of the main theorem."""
