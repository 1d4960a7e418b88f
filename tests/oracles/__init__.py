"""Second implementations, written from the rules apart from the product's code."""
