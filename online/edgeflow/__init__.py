"""What is decided in family `edgeflow` as jobs come and go: policies, and the table at which the referee plays them."""
