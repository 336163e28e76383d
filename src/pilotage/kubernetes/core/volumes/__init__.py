"""Volumes and their claims: defaults and validation."""
