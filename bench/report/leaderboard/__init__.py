"""The table of algorithms, the best mean first."""
