"""The message for wrong arguments of a class: which class, which argument, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def refusal(cls: Any, given: Iterable[str], error: TypeError) -> str:
    """The message for keyword arguments that msgspec has refused with an error that names neither."""
    known: tuple[str, ...] = cls.__struct_fields__
    unknown = next((name for name in given if name not in known), None)
    if unknown is None and known and "positional" in str(error):
        return f"{cls.__qualname__} takes its fields by their names: {cls.__qualname__}({known[0]}=…)"
    if unknown is None:
        return f"{cls.__qualname__}: {error}"
    close = get_close_matches(unknown, known, n=1)
    hint = f'did you mean "{close[0]}"?' if close else f"its fields are {', '.join(known)}"
    return f"{cls.__qualname__} has no field {unknown!r}: {hint}"
