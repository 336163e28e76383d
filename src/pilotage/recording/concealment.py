"""Bytes of objects and requests as a recording has them: with hashes in place of secret values."""

from __future__ import annotations

from typing import Any

import msgspec

from pilotage.history.options import HistoryOptions
from pilotage.history.secrets import Hider
from pilotage.meta.kinds import GroupVersionKind
from pilotage.rest import APIRequest

_DECODER = msgspec.json.Decoder(Any)
_SECRET = GroupVersionKind("", "v1", "Secret")
_ANY = GroupVersionKind("", "", "")
_TOKEN = "token"  # noqa: S105 the name of a subresource


class Concealer:
    """Replaces secret values in bytes; keeps them if the options say so."""

    def __init__(self, options: HistoryOptions, hash_key: bytes) -> None:
        self._keeps = options.record_secrets
        self._has_fields = bool(options.secret_fields)
        self._hider = Hider(options.secret_fields, hash_key)
        self._tokens = Hider([*options.secret_fields, "status"], hash_key)

    def object(self, data: bytes, kind: GroupVersionKind | None) -> tuple[bytes, bool]:
        """The bytes of an object, whose kind is known or in the bytes, and whether values were replaced."""
        is_secret = kind is not None and kind.group == "" and kind.kind == "Secret"
        if self._keeps or not (is_secret or self._has_fields or (kind is None and b'"Secret"' in data)):
            return data, False
        return self._concealed(self._hider, data, kind)

    def body(self, request: APIRequest, data: bytes) -> tuple[bytes, bool]:
        """The bytes of a request or of its answer."""
        is_secret = not request.resource.group and request.resource.resource == "secrets"
        is_token = request.subresource == _TOKEN
        if not data or self._keeps or not (is_secret or is_token or self._has_fields):
            return data, False
        hider = self._tokens if is_token else self._hider
        return self._concealed(hider, data, _SECRET if is_secret else _ANY)

    def _concealed(self, hider: Hider, data: bytes, kind: GroupVersionKind | None) -> tuple[bytes, bool]:
        try:
            document = _DECODER.decode(data)
        except (msgspec.DecodeError, RecursionError):
            return b"", True  # YAML: what is secret in it is not known
        if isinstance(document, dict):
            hider.hide(kind if kind is not None else _kind_in(document), document)
        elif isinstance(document, list):  # a JSON patch
            for operation in document:
                if isinstance(operation, dict) and "value" in operation:
                    operation["value"] = hider.hidden(operation["value"])
        after = msgspec.json.encode(document)
        return (after, True) if after != msgspec.json.encode(_DECODER.decode(data)) else (data, False)


def _kind_in(document: dict[str, Any]) -> GroupVersionKind:
    return GroupVersionKind("" if document.get("apiVersion") == "v1" else "?", "", str(document.get("kind", "")))
