"""Consistent hashing: which member of a group owns a key."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from hashlib import blake2b

POINTS = 160
"""Points of each member on the ring. With so many, the parts of members differ by about a tenth."""


class Ring:
    """Maps keys to members. When a member joins or leaves, only keys that it gains or had change their owner."""

    def __init__(self, members: Iterable[str]) -> None:
        self.members = frozenset(members)
        points = sorted((_hash(f"{member}#{number}"), member) for member in self.members for number in range(POINTS))
        self._hashes = [point for point, _ in points]
        self._owners = [member for _, member in points]

    def owner(self, key: str) -> str:
        """The owner of a key; empty if there are no members."""
        if not self._owners:
            return ""
        return self._owners[bisect(self._hashes, _hash(key)) % len(self._owners)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ring) and self.members == other.members

    def __hash__(self) -> int:
        return hash(self.members)

    def __repr__(self) -> str:
        return f"Ring({sorted(self.members)})"


def _hash(text: str) -> int:
    # The same in every process and on every machine, which Python's own hash is not.
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
