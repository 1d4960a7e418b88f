"""Tests of the policies and the referee of family `edgeflow`."""
