"""Volumes and claims for them: their defaults, and what they may be."""
