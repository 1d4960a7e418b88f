"""Online policies of family `tenants` and their referee."""
