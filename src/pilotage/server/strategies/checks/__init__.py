"""Checks that several kinds share, one module for each type of value. Each yields causes; `path` is the path of the
value."""
