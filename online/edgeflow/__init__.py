"""Online policies of family `edgeflow` and their referee."""
