"""Selectors of objects by labels and fields: their language, and the forms in which callers give them."""
