"""Limits of every online algorithm: the functions of Theorems N1 to N7, and members of their families."""
