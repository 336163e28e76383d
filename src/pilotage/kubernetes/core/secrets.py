"""Secrets and ConfigMaps: data under keys, and what is wrong with it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden, invalid, required, too_long
from pilotage.meta.documents import Document
from pilotage.meta.paths import mapping
from pilotage.meta.text import gojson
from pilotage.meta.validation.objectmeta import MAX_CAUSES
from pilotage.server.strategies.checks import fields, texts
from pilotage.server.strategies.strategy import Strategy

MAX_DATA = 1024 * 1024
"""Bytes that all values together may have."""
_PLAIN_KEY = re.compile(r"[-_a-zA-Z0-9][-._a-zA-Z0-9]{0,252}")
"""Matches the usual keys, which are valid."""
_PLAIN_KEYS = re.compile(rf"{_PLAIN_KEY.pattern}(?:\n{_PLAIN_KEY.pattern})*")
_NEEDED = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_JSON_KEYS = {"kubernetes.io/dockerconfigjson": ".dockerconfigjson", "kubernetes.io/dockercfg": ".dockercfg"}
"""Where a type of Secret has a JSON object."""
_REDACTED = "<secret contents redacted>"
_JSON_TYPES = {"{": "", "n": "", '"': "string", "[": "array", "t": "bool", "f": "bool"}
"""Go's names of the types of JSON texts by their first character; empty for those that a map can be."""
_PEM = re.compile(rb"-----BEGIN [A-Z0-9 ]+-----")
_ACCOUNT = "kubernetes.io/service-account.name"


class SecretStrategy(Strategy):
    """Secrets have base64 data under keys, and a type that may require some keys."""

    def validate(self, document: Document) -> Iterator[Cause]:
        data = mapping(document.get("data"))
        yield from _key_causes(data, "data")
        if _size(data) > MAX_DATA:
            yield too_long("data", MAX_DATA)
        yield from _type_causes(document, data)

    def validate_changes(self, document: Document, old: Document) -> Iterator[Cause]:
        if document.get("type") != old.get("type", "Opaque"):
            yield invalid("type", document.get("type"), fields.IMMUTABLE)
        yield from _frozen_causes(document, old, ("data",))

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        data = document.get("data") or {}
        if document.get("type") != "kubernetes.io/tls":
            return []
        for key, name in (("tls.crt", "certificate"), ("tls.key", "key")):
            if not _PEM.search(base64.b64decode(data.get(key) or "")):
                return [f"tls: failed to find any PEM data in {name} input"]
        return []


class ConfigMapStrategy(Strategy):
    """ConfigMaps have text and base64 data under keys."""

    def validate(self, document: Document) -> Iterator[Cause]:
        data, binary = mapping(document.get("data")), mapping(document.get("binaryData"))
        yield from _key_causes(data, "data")
        if binary:
            both = sorted(data.keys() & binary.keys())
            yield from [invalid(f"data[{key}]", key, "duplicate of key present in binaryData") for key in both]
            yield from _key_causes(binary, "binaryData")
        few = not binary and 4 * sum(map(len, data.values())) <= MAX_DATA  # whatever the characters are
        if not few and sum(len(text.encode()) for text in data.values()) + _size(binary) > MAX_DATA:
            yield too_long("[]", MAX_DATA)

    def validate_changes(self, document: Document, old: Document) -> list[Cause]:
        return _frozen_causes(document, old, ("data", "binaryData"))


def _key_causes(data: Mapping[str, Any], field: str) -> list[Cause]:
    keys = "\n".join(data)
    if not data or (_PLAIN_KEYS.fullmatch(keys) and keys.count("\n") == len(data) - 1):
        return []
    odd = [key for key in data if not _PLAIN_KEY.fullmatch(key)]
    found = (invalid(f"{field}[{key}]", key, message) for key in odd for message in texts.config_key(key))
    return list(islice(found, MAX_CAUSES + 1))


def _size(data: Mapping[str, str]) -> int:
    """How many bytes the values have once decoded."""
    return sum(len(base64.b64decode(value)) for value in data.values() if value)


def _type_causes(document: Document, data: Mapping[str, Any]) -> Iterator[Cause]:
    kind = document.get("type", "")
    for key in _NEEDED.get(kind, ()):
        if key not in data or (kind == "kubernetes.io/ssh-auth" and not data[key]):
            yield required(f"data[{key}]")
    json_key = _JSON_KEYS.get(kind, "")
    if json_key and json_key in data and (problem := _json_problem(base64.b64decode(data[json_key] or ""))):
        yield invalid(f"data[{json_key}]", _REDACTED, problem)
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        yield required("data[username]")
        yield required("data[password]")
    annotations = mapping(document["metadata"].get("annotations"))
    if kind == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        yield required(f"metadata.annotations[{_ACCOUNT}]")


def _json_problem(data: bytes) -> str:
    """Why bytes are not a JSON object (or null), in Go's words; empty if they are."""
    if problem := gojson.syntax_error(data):
        return problem
    kind = _JSON_TYPES.get(data.strip()[:1].decode(), "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}" if kind else ""


def _frozen_causes(document: Document, old: Document, names: tuple[str, ...]) -> list[Cause]:
    if old.get("immutable") is not True:
        return []
    changed = [] if document.get("immutable") is True else ["immutable"]
    changed += [field for field in names if mapping(document.get(field)) != mapping(old.get(field))]
    return [forbidden(field, "field is immutable when `immutable` is set") for field in changed]
