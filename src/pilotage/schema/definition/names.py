"""Names in a definition: labels and domains as DNS has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def label_rule(text: str) -> str:
    """The rules of DNS-1035 labels that a text breaks; empty if it breaks none."""
    broken = ["must be no more than 63 bytes"] if len(text) > 63 else []
    if _LABEL.fullmatch(text) is None:
        broken.append(_LABEL_RULE)
    return ",".join(broken)


def subdomain_rule(text: str) -> str:
    """The rules of RFC 1123 subdomains that a text breaks; empty if it breaks none."""
    broken = ["must be no more than 253 bytes"] if len(text) > 253 else []
    if _SUBDOMAIN.fullmatch(text) is None:
        broken.append(_SUBDOMAIN_RULE)
    return ",".join(broken)


def names_causes(names: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with `spec.names`."""
    at = "spec.names"
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield causes.required(f"{at}.{name}")
    for name in ("plural", "singular"):
        yield from _one(f"{at}.{name}", names.get(name) or "")
    for name in ("kind", "listKind"):
        text = names.get(name) or ""
        if text and (broken := label_rule(text.lower())):
            yield causes.invalid(f"{at}.{name}", text, f"may have mixed case, but should otherwise match: {broken}")
    for index, short in enumerate(names.get("shortNames") or ()):
        yield from _one(f"{at}.shortNames[{index}]", short, empty=True)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield causes.invalid(f"{at}.listKind", names["listKind"], "kind and listKind may not be the same")
    for index, category in enumerate(names.get("categories") or ()):
        yield from _one(f"{at}.categories[{index}]", category, empty=True)


def _one(at: str, text: str, *, empty: bool = False) -> Iterator[Cause]:
    if (text or empty) and (broken := label_rule(text)):
        yield causes.invalid(at, text, broken)
