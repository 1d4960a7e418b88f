"""One run on one small instance, told arrival by arrival."""
