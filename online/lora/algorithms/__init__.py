"""Online algorithms for problem P; each file registers one."""
