"""Cluster: replay of the log of a batch cluster in whole seconds; waits are the cost, the least is best."""
