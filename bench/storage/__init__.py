"""The results of runs on disk."""
