"""Truthfulness, rationality and deficits of any mechanism with payments."""
