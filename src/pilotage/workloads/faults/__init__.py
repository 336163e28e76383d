"""Faults of simulated Pods: by name, for the containers that they select."""
