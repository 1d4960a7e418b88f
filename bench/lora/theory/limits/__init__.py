"""Limits of every online algorithm: Theorems N1 to N7, their functions, and the proved factors beside them."""
