"""Upper bounds on OPT of P: prices of pooled capacity, and what a node can hold."""
