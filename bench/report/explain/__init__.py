"""Explanations of single runs, step by step."""
