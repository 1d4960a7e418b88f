"""Searches for the best schedule of one task at given prices, compiled: what the algorithms decide by."""
