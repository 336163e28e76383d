"""The hash of a Pod template: FNV-1a of the text that Go prints for it, in letters that form no words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pilotage.workloads.templates.dumps import dump_template

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET, _PRIME, _MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


def template_hash(template: Mapping[str, Any], collision_count: int | None = None) -> str:
    """The value of the label `pod-template-hash` for a Pod template: a document as the API server has stored it.

    `collision_count` is that of the Deployment's status; a ReplicaSet of another template has this hash for each.
    """
    data = dump_template(template).encode()
    if collision_count is not None:
        data += collision_count.to_bytes(8, "little")
    return safe_encoded(str(fnv32a(data)))


def fnv32a(data: bytes) -> int:
    """The 32 bits of FNV-1a."""
    value = _OFFSET
    for byte in data:
        value = (value ^ byte) * _PRIME & _MASK
    return value


def safe_encoded(text: str) -> str:
    """A text without vowels and without digits that look like vowels, as Kubernetes' `SafeEncodeString` makes it."""
    return "".join([_LETTERS[ord(letter) % len(_LETTERS)] for letter in text])
