"""The entries of a storage: values under keys, as commits wrote them."""

from __future__ import annotations

import msgspec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Entry(msgspec.Struct, eq=False, gc=False):
    """A value under a key, as one commit wrote it. Immutable, except for what is derived from it once and kept.

    It is in no reference cycle. The garbage collector does not look at it: a storage may have hundreds of thousands.
    """

    key: str
    value: bytes
    revision: int
    """The commit that wrote this value."""
    created: int
    """The commit that created the key (after its last deletion)."""
    memo: Any = None
    """What the reader of the value has decoded: the server, for its selectors."""
    decrypted: Any = None
    """The entry with the value in clear, of `storage.encryption`."""
    checked: int = 0
    """How much of the value the reader has checked: the server, which does it once."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"Entry({self.key!r}, {len(self.value)} bytes, revision={self.revision})"

    def _identity(self) -> tuple[str, bytes, int, int]:
        return (self.key, self.value, self.revision, self.created)
