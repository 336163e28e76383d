"""Writes that changed nothing, so that they are not sent again: a server may fill in or replace what a client wants.

The defaults of built-in kinds are known (`pilotage.codec`). Those of a custom resource are in a schema that a client
cannot always read, and a mutating webhook may do anything.
"""

from __future__ import annotations

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.documents import Document, canonical

_MOST = 10_000
_VOLATILE = ("resourceVersion", "generation", "managedFields")
"""Metadata that changes with other writes, too."""


class FutileWrites:
    """What was sent for an object, and the content on which it had no effect.

    A change of that content, by any writer, is a reason to send again; so is another desired state.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._known: Recent[tuple[str, int], int] = Recent(most)

    def __contains__(self, write: Write) -> bool:
        return self._known.get(write.key) == write.content

    def note(self, write: Write, after: Document) -> bool:
        """Record the answer to a write. Returns whether the write had an effect."""
        if write.of(after) != write.content:
            self._known.pop(write.key, None)
            return True
        self._known[write.key] = write.content
        return False


class Write:
    """One write of an object: the document that is sent, and the content that it meets; both as hashes."""

    def __init__(self, found: Document, sent: Document, *ignored: str) -> None:
        self._ignored = ignored
        uid = (found.get("metadata") or {}).get("uid") or ""
        self.key = str(uid), hash((ignored, canonical(sent)))
        self.content = self.of(found)

    def of(self, document: Document) -> int:
        """The content of an object, without the parts that this write does not concern."""
        metadata = {key: value for key, value in document["metadata"].items() if key not in _VOLATILE}
        kept = {key: value for key, value in document.items() if key not in self._ignored}
        return hash(canonical(kept | {"metadata": metadata}))
