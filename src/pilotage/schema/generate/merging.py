"""The spec of a stored definition, with a program's spec over it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The new spec, with what it does not set kept from the old: versions of other programs, the conversion."""
    known = {version["name"] for version in new["versions"]}
    others = [version for version in old["versions"] if version["name"] not in known]
    if any(version["storage"] for version in new["versions"]):
        others = [version | {"storage": False} for version in others]
    versions = [_with_defaults(version, old["versions"]) for version in new["versions"]]
    kept = {key: value for key, value in old.items() if key not in new}
    names = {key: value for key, value in old["names"].items() if key not in new["names"]} | new["names"]
    return kept | new | {"names": names, "versions": [*versions, *others]}


def _with_defaults(version: dict[str, Any], olds: Iterable[dict[str, Any]]) -> dict[str, Any]:
    # Defaults that the server filled in (a printer column's priority …) are no reason to write.
    old = next((old for old in olds if old["name"] == version["name"]), None)
    return old if old is not None and _covers(old, version) else version


def _covers(old: Any, new: Any) -> bool:
    """Whether `old` has everything that `new` has, and nothing else that matters."""
    if isinstance(new, dict) and isinstance(old, dict):
        extra = [value for key, value in old.items() if key not in new]
        return not any(extra) and all(key in old and _covers(old[key], value) for key, value in new.items())
    if isinstance(new, list) and isinstance(old, list):
        return len(old) == len(new) and all(map(_covers, old, new))
    return bool(old == new)
