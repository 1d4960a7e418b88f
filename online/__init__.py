"""What can be decided: algorithms that see one arrival at a time, and the referee that runs them."""
