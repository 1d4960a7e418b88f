"""Figures: what they show, as rows, and how it is drawn."""
