"""OPT of family `edgeflow`: bounds, schedules, exact models, certificates."""
