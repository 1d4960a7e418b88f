"""Online algorithms of family `eapm` and their referee."""
