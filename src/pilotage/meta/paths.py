"""Values at paths of documents, which may have anything at a field. Light: loads neither msgspec nor typing."""

from __future__ import annotations

from collections.abc import Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pilotage.meta.documents import Document


def value_at(document: Any, path: Iterable[str]) -> Any:
    """The value at a path of fields; None if there is none."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def mapping(value: Any) -> Document:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def part(document: Any, *path: str) -> Document:
    """The mapping at a path, or an empty one."""
    return mapping(value_at(document, path))


def items(document: Any, *path: str) -> list[Any]:
    """The list at a path, or an empty one."""
    value = value_at(document, path)
    return value if isinstance(value, list) else []


def is_condition_true(document: Document, kind: str) -> bool:
    """Whether the status of an object has a condition of this type that is true."""
    conditions = value_at(document, ("status", "conditions")) or ()
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)
