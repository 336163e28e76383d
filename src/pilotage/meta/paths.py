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


def with_keys(path: str, document: Any, reason: str) -> str:
    """A path of msgspec with a key in place of each `[...]`: the first whose value has the type that was refused."""
    import re

    kinds = {"int": int, "float": float, "str": str, "bool": bool, "array": list, "object": dict, "null": type(None)}
    refused = kinds.get(reason.rpartition("got `")[2].rstrip("`"))
    steps = re.findall(r"\[[^\]]*\]|[^.\[\]]+", path)
    return (refused and _with_keys(steps, document, refused)) or path


def _with_keys(steps: list[str], value: Any, refused: type) -> str | None:
    """The path of a value of this type below `value`; None if there is none."""
    if not steps:
        return "" if type(value) is refused else None
    step, rest = steps[0], steps[1:]
    for name, each in _inside(step, value):
        if (found := _with_keys(rest, each, refused)) is not None:
            return name + found
    return None


def _inside(step: str, value: Any) -> list[tuple[str, Any]]:
    """What a step of a path may lead to."""
    if step == "[...]":
        return [(f".{key}", each) for key, each in mapping(value).items()]
    if step.startswith("["):
        index = int(step[1:-1])
        return [(step, value[index])] if isinstance(value, list) and index < len(value) else []
    return [(f".{step}", value[step])] if step in mapping(value) else []
