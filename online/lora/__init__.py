"""What is decided in problem P as tasks arrive: algorithms, and the table at which the referee plays them."""
