"""Managed fields in the server: the step of a write that decides which manager owns which fields."""
