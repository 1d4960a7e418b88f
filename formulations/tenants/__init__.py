"""OPT of tenants: bounds from prices of jobs, searches for schedules, exact methods for few jobs, exact checks."""
