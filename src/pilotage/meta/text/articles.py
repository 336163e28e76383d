"""What a value is, in messages: `a ConfigMap`, `an async_generator`, `None`."""

from __future__ import annotations


def of_type(value: object) -> str:
    """The type of a value with its article."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
