"""Validates `spec.names`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.meta.validation.names import dns_1035_label
from pilotage.schema.structural.embedded import kind_rule


def label_rule(text: str) -> str:
    """The rules of DNS-1035 labels that a text breaks; empty if it breaks none."""
    return ",".join(dns_1035_label(text))


def names_causes(names: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with `spec.names`."""
    at = "spec.names"
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield causes.required(f"{at}.{name}")
    for name in ("plural", "singular"):
        if text := names.get(name):
            yield from _label_causes(f"{at}.{name}", text)
    for name in ("kind", "listKind"):
        if (text := names.get(name)) and (broken := kind_rule(text)):
            yield causes.invalid(f"{at}.{name}", text, broken)
    for index, short in enumerate(names.get("shortNames") or ()):
        yield from _label_causes(f"{at}.shortNames[{index}]", short)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield causes.invalid(f"{at}.listKind", names["listKind"], "kind and listKind may not be the same")
    for index, category in enumerate(names.get("categories") or ()):
        yield from _label_causes(f"{at}.categories[{index}]", category)


def _label_causes(at: str, text: str) -> Iterator[Cause]:
    if broken := label_rule(text):
        yield causes.invalid(at, text, broken)
