"""The entries of a storage: values under keys, as commits wrote them. Light to import: reads need nothing else."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_COMMIT_OPERATIONS = 1024
"""The maximum number of operations in one commit."""


class Entry:
    """A value under a key, as one commit wrote it. Immutable, except `memo`: what a reader has decoded."""

    __slots__ = ("created", "key", "memo", "revision", "value")

    def __init__(self, key: str, value: bytes, revision: int, created: int) -> None:
        self.key = key
        self.value = value
        self.revision = revision
        """The commit that wrote this value."""
        self.created = created
        """The commit that created the key (after its last deletion)."""
        self.memo: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"Entry({self.key!r}, {len(self.value)} bytes, revision={self.revision})"

    def _identity(self) -> tuple[str, bytes, int, int]:
        return (self.key, self.value, self.revision, self.created)
