"""OPT of family `tenants`: bounds, local search, exact methods, certificates."""
