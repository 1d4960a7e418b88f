"""What is decided in EAPM as users arrive: algorithms, and the table at which the referee plays them."""
