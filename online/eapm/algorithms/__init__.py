"""Online algorithms for EAPM; each file registers one."""
