"""Which fields of an object have changed, from what to what, without those that only the server sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pilotage.meta.values import Value

_SERVER_SET = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""Fields of metadata that only the server sets. A deletion timestamp is not one of these: it is why reconciles run."""
_ITEM_KEYS = ("type", "name", "key", "uid", "containerPort", "port", "ip")
"""Fields by which items of a list are paired, where each item has one and all are different."""
_MOST_TEXT = 60
"""Characters of a value that are shown."""
_MOST_DEPTH = 64
"""Levels that are compared field by field; what is deeper is compared as a whole."""


class Change(Value, frozen=True, omit_defaults=True):
    """One field that has changed. `old` or `new` is unset where the field did not exist."""

    path: str
    old: Any = UNSET
    new: Any = UNSET

    def __str__(self) -> str:
        return f"{self.path}: {shown(self.old)} → {shown(self.new)}"


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """The fields in which two documents of one object differ."""
    for name in dict.fromkeys((*old, *new)):
        if name not in ("apiVersion", "kind"):
            before, after = old.get(name, UNSET), new.get(name, UNSET)
            yield from _metadata(before, after) if name == "metadata" else _of_value(name, before, after, 0)


def shown(value: Any) -> str:
    """A value, for people, in one short line."""
    if isinstance(value, UnsetType):
        return "(none)"
    text = repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"


def _metadata(old: Any, new: Any) -> Iterator[Change]:
    old, new = (value if isinstance(value, Mapping) else {} for value in (old, new))
    for name in dict.fromkeys((*old, *new)):
        if name not in _SERVER_SET:
            yield from _of_value(f"metadata.{name}", old.get(name, UNSET), new.get(name, UNSET), 1)


def _of_value(path: str, old: Any, new: Any, depth: int) -> Iterator[Change]:
    if depth < _MOST_DEPTH:
        if _are(Mapping, old, new):
            old, new = _or_empty(old, {}), _or_empty(new, {})
            for name in dict.fromkeys((*old, *new)):
                yield from _of_value(_member(path, name), old.get(name, UNSET), new.get(name, UNSET), depth + 1)
            return
        if _are(list, old, new):
            yield from _of_lists(path, _or_empty(old, []), _or_empty(new, []), depth + 1)
            return
    if old != new or type(old) is not type(new):
        yield Change(path, old, new)


def _are(kind: Any, old: Any, new: Any) -> bool:
    """Whether both are of a kind, or one is and the other does not exist, and there is a member to name."""
    values = [value for value in (old, new) if value is not UNSET]
    return all(isinstance(value, kind) for value in values) and any(values)


def _or_empty(value: Any, empty: Any) -> Any:
    return empty if value is UNSET else value


def _of_lists(path: str, old: Sequence[Any], new: Sequence[Any], depth: int) -> Iterator[Change]:
    key = next((key for key in _ITEM_KEYS if _identifies(key, old) and _identifies(key, new)), "")
    before, after = _by_key(key, old), _by_key(key, new)
    for name in dict.fromkeys((*before, *after)):
        yield from _of_value(f"{path}[{name}]", before.get(name, UNSET), after.get(name, UNSET), depth)


def _identifies(key: str, items: Sequence[Any]) -> bool:
    values = [item.get(key) if isinstance(item, Mapping) else None for item in items]
    return all(isinstance(value, str | int) for value in values) and len({*values}) == len(values)


def _by_key(key: str, items: Sequence[Any]) -> dict[str, Any]:
    return {str(item[key]) if key else str(index): item for index, item in enumerate(items)}


def _member(path: str, name: str) -> str:
    """As kubectl's JSONPath: names with a dot or a slash are quoted."""
    return f"{path}.{name}" if name.replace("_", "").replace("-", "").isalnum() else f"{path}[{name!r}]"
