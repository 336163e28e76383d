"""Checks that several kinds share: one module a noun. Each yields causes; `path` is that of the value."""
