"""Reads that are answered from the stored bytes, without the registry."""
