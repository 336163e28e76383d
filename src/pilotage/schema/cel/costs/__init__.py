"""What CEL expressions cost: as Kubernetes estimates it from a schema, and as bounds before an expression runs."""

LIMIT = 2**64 - 1
"""Kubernetes counts no further than this."""
