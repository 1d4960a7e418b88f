"""OPT of EAPM: a fractional objective over integers, its bounds, and the exact verification of solutions."""
