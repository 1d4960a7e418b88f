"""Cluster: replay of a log under listed policies and own ones, event by event in whole seconds."""
