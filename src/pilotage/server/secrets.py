"""Secrets and ConfigMaps: data under keys, and what is wrong with it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden, invalid, required, too_long, type_invalid
from pilotage.server.served import MAX_CAUSES

Document = dict[str, Any]
MAX_DATA = 1024 * 1024
"""Bytes that all values together may have."""
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_NEEDED = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_ACCOUNT = "kubernetes.io/service-account.name"


def prepare_secret(document: Document, old: Document | None, now: str) -> None:
    """Text goes into the data, and there is always a type."""
    texts = document.pop("stringData", None)
    if isinstance(texts, dict):
        data = document["data"] = _mapping(document.get("data"))
        for key, text in texts.items():
            data[key] = base64.b64encode(str(text).encode()).decode()
    if not document.get("type"):
        document["type"] = "Opaque"


def secret_causes(document: Document, old: Document | None) -> list[Cause]:
    """What is wrong with a Secret."""
    data = _mapping(document.get("data"))
    found = list(_key_causes(data, "data"))
    sizes = _sizes(data, "data", found)
    if sizes > MAX_DATA:
        found.append(too_long("data", MAX_DATA))
    found += _type_causes(document, data)
    if old is not None:
        if document.get("type") != old.get("type", "Opaque"):
            found.append(invalid("type", document.get("type"), "field is immutable"))
        found += _frozen_causes(document, old, ("data",))
    return found


def config_map_causes(document: Document, old: Document | None) -> list[Cause]:
    """What is wrong with a ConfigMap."""
    data, binary = _mapping(document.get("data")), _mapping(document.get("binaryData"))
    found = list(_key_causes(data, "data"))
    both = sorted(data.keys() & binary.keys())
    found += [invalid(f"data[{key}]", key, "duplicate of key present in binaryData") for key in both]
    found += _key_causes(binary, "binaryData")
    size = sum(len(value.encode()) for value in data.values() if isinstance(value, str))
    if size + _sizes(binary, "binaryData", found) > MAX_DATA:
        found.append(too_long("[]", MAX_DATA))
    if old is not None:
        found += _frozen_causes(document, old, ("data", "binaryData"))
    return found


def _key_causes(data: Mapping[str, Any], field: str) -> Iterator[Cause]:
    found = (invalid(f"{field}[{key}]", key, message) for key in data for message in _key_problems(key))
    return islice(found, MAX_CAUSES + 1)


def _key_problems(key: str) -> Iterator[str]:
    if len(key) > 253:
        yield "must be no more than 253 characters"
    if not _KEY.fullmatch(key):
        yield _KEY_RULE
    if key in (".", ".."):
        yield f"must not be '{key}'"
    elif key.startswith(".."):
        yield "must not start with '..'"


def _sizes(data: Mapping[str, Any], field: str, found: list[Cause]) -> int:
    """How many bytes the values have once decoded; what cannot be is added to the causes."""
    size = 0
    for key, value in data.items():
        try:
            size += len(base64.b64decode(value, validate=True))
        except (binascii.Error, ValueError, TypeError):
            found.append(type_invalid(f"{field}.{key}", value, "illegal base64 data"))
    return size


def _type_causes(document: Document, data: Mapping[str, Any]) -> Iterator[Cause]:
    kind = document.get("type", "")
    for key in _NEEDED.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        yield required("data[username]")
        yield required("data[password]")
    annotations = _mapping(document["metadata"].get("annotations"))
    if kind == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        yield required(f"metadata.annotations[{_ACCOUNT}]")


def _frozen_causes(document: Document, old: Document, fields: tuple[str, ...]) -> list[Cause]:
    if old.get("immutable") is not True:
        return []
    found = [
        forbidden(field, "field is immutable when `immutable` is set")
        for field in fields
        if _mapping(document.get(field)) != _mapping(old.get(field))
    ]
    if document.get("immutable") is not True:
        found.insert(0, forbidden("immutable", "field is immutable when `immutable` is set"))
    return found


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
