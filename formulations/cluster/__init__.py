"""Cluster: a certified interval on the least cost of waiting that any schedule has which knows all lengths."""
