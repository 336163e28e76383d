"""Compares CustomResourceDefinitions (`definitions`) and their schemas (`schemas`)."""
