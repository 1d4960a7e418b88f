"""Good solutions of P without a solver: packing, insertion and improvement by moves."""
