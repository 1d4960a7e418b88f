"""What is decided in family `tenants` as jobs are released: policies, and the table at which the referee plays them."""
