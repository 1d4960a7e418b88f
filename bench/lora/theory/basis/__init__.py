"""What all checks stand on: facts of an instance and a run, and the dual."""
