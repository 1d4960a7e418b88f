"""Online algorithms for family `tenants`; each file registers some."""
