"""Values that a history must not show: the data of Secrets, and configured fields. They are shown as hashes."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection
from typing import Any

from pilotage.meta.kinds import GroupVersionKind

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation that has a whole object in it."""
_HASHED = re.compile("hash [0-9a-f]{10}")


class Hider:
    """Replaces secret values in documents. Equal values have equal hashes in one history, and different ones in two."""

    def __init__(self, secret_fields: Collection[str] = (), key: bytes = b"") -> None:
        self._fields = [tuple(path.lstrip(".").split(".")) for path in secret_fields]
        self._key = key or os.urandom(16)

    def hide(self, kind: GroupVersionKind | None, document: dict[str, Any]) -> dict[str, Any]:
        """The document, which is changed, without secret values."""
        if kind is None or (kind.group == "" and kind.kind == "Secret"):
            for name in ("data", "stringData"):
                self._replace(document, (name,))
        metadata = document.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
            annotations[_LAST_APPLIED] = self._hash(annotations[_LAST_APPLIED])
        for path in self._fields:
            self._replace(document, path)
        return document

    def _replace(self, document: Any, path: tuple[str, ...]) -> None:
        """Replace the leaves of the value at a path, also in each item of a list on the way."""
        if isinstance(document, list):
            for item in document:
                self._replace(item, path)
        elif isinstance(document, dict) and path[0] in document:
            if len(path) > 1:
                self._replace(document[path[0]], path[1:])
            else:
                document[path[0]] = self.hidden(document[path[0]])

    def hidden(self, value: Any) -> Any:
        """A value as hashes of its leaves."""
        if isinstance(value, dict):
            return {name: self.hidden(each) for name, each in value.items()}
        return self._hash(value)

    def _hash(self, value: Any) -> str:
        if isinstance(value, str) and _HASHED.fullmatch(value):
            return value  # a recording has it so
        return f"hash {hashlib.blake2b(repr(value).encode(), key=self._key, digest_size=5).hexdigest()}"
