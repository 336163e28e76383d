"""Nodes: which of them are simulated and alive, and which Pods they may run."""
