"""The search for small instances that violate a claim."""
