"""Garbage collection: owners, dependents, and which of them are deleted."""
