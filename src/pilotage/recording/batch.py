"""What is appended to a recording at once: an entry, and before it the contents that it refers to."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from pilotage.recording.entries import ENCODER, ContentEntry, Record


class Batch:
    """Encodes an entry and its contents. Contents that the half of the file has already are not written again."""

    __slots__ = ("_known", "_next", "added", "encoded")

    def __init__(self, known: Mapping[bytes, int]) -> None:
        self._known = known
        self._next = len(known) + 1
        self.added: dict[bytes, int] = {}
        """The numbers of the new contents, by their digests."""
        self.encoded: list[bytes] = []

    def content(self, data: bytes | memoryview | None) -> int:
        """The number of a content; 0 for None."""
        if data is None:
            return 0
        digest = blake2b(data, digest_size=16).digest()
        found = self._known.get(digest) or self.added.get(digest)
        if found is None:
            found = self.added[digest] = self._next
            self._next += 1
            self.add(ContentEntry(found, bytes(data)))
        return found

    def value(self, value: Any) -> int:
        """The number of a content that is a value."""
        return self.content(ENCODER.encode(value))

    def add(self, entry: Record) -> None:
        self.encoded.append(ENCODER.encode(entry))
