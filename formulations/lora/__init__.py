"""OPT of problem P: formulations, bounds, and the exact verification of solutions."""
