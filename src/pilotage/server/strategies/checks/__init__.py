"""Checks that several kinds share, one module for each type of value, imported as modules: `texts.required_text`. Each
yields causes; `path` is the path of the value."""
