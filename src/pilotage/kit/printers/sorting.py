"""The order of `--sort-by`: by the value at a path; objects without it come first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from pilotage.kit.console.errors import CommandError
from pilotage.kit.printers.template import relaxed
from pilotage.meta.documents import Document
from pilotage.meta.jsonpath import UnfitValueError
from pilotage.meta.scalars.quantity import Quantity


def sort_key(path: str, documents: list[Document]) -> Callable[[Document], Any]:
    """The key for a stable sort. Raises CommandError if no object has the field, or values have no order."""
    parsed = relaxed(path)

    def value_of(document: Document) -> Any:
        try:
            found = parsed.find(document)
        except UnfitValueError:
            found = []
        return found[0] if found else None

    values = [value_of(document) for document in documents]
    if documents and all(value is None for value in values):
        raise CommandError(f"couldn't find any field with path {_shown(path)!s} in the list of objects")
    compare = cmp_to_key(_compare)
    return lambda document: compare(value_of(document))


def _compare(one: Any, other: Any) -> int:
    if one is None or other is None:
        return (one is not None) - (other is not None)
    if isinstance(one, bool) and isinstance(other, bool):
        return one - other
    if _is_number(one) and _is_number(other):
        return int(one > other) - int(one < other)
    if isinstance(one, str) and isinstance(other, str):
        quantities = _quantity(one), _quantity(other)
        if quantities[0] is not None and quantities[1] is not None:
            return int(quantities[0] > quantities[1]) - int(quantities[0] < quantities[1])
        return (one > other) - (one < other)
    raise CommandError(f"unsortable types: {type(one).__name__} and {type(other).__name__}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _quantity(text: str) -> Any:
    if not text[:1].isdigit():
        return None
    try:
        return Quantity(text)
    except (ValueError, TypeError, ArithmeticError):
        return None


def _shown(path: str) -> str:
    inner = path.strip().removeprefix("{").removesuffix("}")
    return '"{' + (inner if inner.startswith((".", "[")) else f".{inner}") + '}"'
