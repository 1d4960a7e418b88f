"""Measures a GPU: the speed and power of fine-tuning steps, for a cluster of such devices."""
