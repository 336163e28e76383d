"""Pods and pod templates: their defaults and their validation."""
