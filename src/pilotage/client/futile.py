"""Writes that changed nothing, so that they are not sent again: a server may fill in or replace what a client wants.

The defaults of built-in kinds are known (`pilotage.codec`). Those of a custom resource are in a schema that a client
cannot always read, and a mutating webhook may do anything.
"""

from __future__ import annotations

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.documents import Document, canonical
from pilotage.telemetry.logs import logger

FutileWrites = Recent[tuple[str, int], int]
"""By the object and what was sent for it: the content on which that had no effect. All but the uid are hashes."""

_log = logger("pilotage.client")
_VOLATILE = ("resourceVersion", "generation", "managedFields")
"""Metadata that changes with other writes, too."""


class Write:
    """One write of an object: the document that is sent, and the content that it meets.

    A change of that content, by any writer, is a reason to send the same document again.
    """

    def __init__(self, found: Document, sent: Document, *ignored: str) -> None:
        self._ignored = ignored
        self._key = str(found["metadata"].get("uid")), hash((ignored, self._content_of(sent)))
        self._content = self._content_of(found)

    def is_futile(self, known: FutileWrites) -> bool:
        """Whether this write is known to change nothing."""
        return known.get(self._key) == self._content

    def has_effect(self, after: Document, known: FutileWrites) -> bool:
        """Whether the write has changed the object; if not, this is remembered."""
        if self._content_of(after) != self._content:
            return True
        known[self._key] = self._content
        metadata = after["metadata"]
        _log.info(
            "The write changed nothing on the server; it is sent again when the object or the desired state changes",
            kind=after.get("kind"),
            namespace=metadata.get("namespace", ""),
            name=metadata.get("name"),
        )
        return False

    def _content_of(self, document: Document) -> int:
        """The content of an object, without the parts that this write does not concern."""
        metadata = {key: value for key, value in document.get("metadata", {}).items() if key not in _VOLATILE}
        kept = {key: value for key, value in document.items() if key not in self._ignored}
        return hash(canonical(kept | {"metadata": metadata}))
