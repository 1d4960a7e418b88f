"""What all families' theory shares: claims, their audit, and the search for counterexamples."""
