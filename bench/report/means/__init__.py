"""Figures of means over the cases of groups."""
