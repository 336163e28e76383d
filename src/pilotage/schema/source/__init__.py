"""CustomResourceDefinitions to the source of Python classes, from which `generate` makes the same definitions."""
