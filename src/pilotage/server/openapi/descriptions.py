"""The descriptions of built-in kinds and of their fields, which `kubectl explain` prints.

They are larger than all other data about the kinds, so they are read when a client requests OpenAPI.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib import resources

import msgspec

from pilotage.meta.documents import Document
from pilotage.types import builtin

_FILE = resources.files("pilotage.server.openapi") / "data/descriptions.json.gz"
_Texts = dict[str, dict[str, str]]


def described(name: str) -> Document:
    """A built-in definition with its descriptions, as the caller's own. KeyError if there is none of this name."""
    schema = builtin.definition(name)
    texts = _texts().get(name, {})
    for field, property_ in schema.get("properties", {}).items():
        if field in texts:
            property_["description"] = texts[field]
    return {"description": texts[""]} | schema if "" in texts else schema


def raw_described(name: str) -> bytes | None:
    """The JSON text of a built-in definition with its descriptions; None if there is none of this name."""
    return None if builtin.raw_definition(name) is None else msgspec.json.encode(described(name))


def description(name: str, field: str = "") -> str:
    """The description of a definition, or of one of its fields; empty if there is none."""
    return _texts().get(name, {}).get(field, "")


@cache
def fingerprint() -> bytes:
    """A digest of all descriptions."""
    return hashlib.sha256(_FILE.read_bytes()).digest()


@cache
def _texts() -> _Texts:
    return msgspec.json.decode(gzip.decompress(_FILE.read_bytes()), type=_Texts)
