"""The main paper's results, one file each, as exact checks on one run."""
