"""Pods and pod templates: their defaults, and what they may be."""
