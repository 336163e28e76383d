"""The keys of a storage in order: a sorted set with fast changes and fast scans."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from functools import lru_cache

MAX_COMMIT_OPERATIONS = 1024
"""The most keys that one commit may check and change."""
_BLOCK = 512  # keys in a new block; it splits at twice that


class SortedKeys:
    """A sorted set of strings, stored as a list of sorted blocks.

    One sorted list would move half of all keys at every insertion (40 µs at 100,000 keys), and sorting it only when
    it is read would make every list after a create pay for all keys. With blocks both cost a microsecond or two.
    """

    __slots__ = ("_blocks", "_lasts")

    def __init__(self, keys: Iterable[str] = ()) -> None:
        ordered = sorted(keys)
        self._blocks = [ordered[at : at + _BLOCK] for at in range(0, len(ordered), _BLOCK)]
        self._lasts = [block[-1] for block in self._blocks]

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def add(self, key: str) -> None:
        """Add a key that is not in the set."""
        at = bisect_left(self._lasts, key)
        if at < len(self._blocks):
            block = self._blocks[at]
            insort(block, key)
        elif self._blocks:
            at -= 1
            block = self._blocks[at]
            block.append(key)
            self._lasts[at] = key
        else:
            block = [key]
            self._blocks.append(block)
            self._lasts.append(key)
        if len(block) > 2 * _BLOCK:
            self._blocks.insert(at + 1, block[_BLOCK:])
            del block[_BLOCK:]
            self._lasts.insert(at, block[-1])

    def remove(self, key: str) -> None:
        """Remove a key that is in the set."""
        at = bisect_left(self._lasts, key)
        block = self._blocks[at]
        if len(block) == 1:
            del self._blocks[at], self._lasts[at]
            return
        del block[bisect_left(block, key)]
        self._lasts[at] = block[-1]

    def between(self, start: str, end: str | None, limit: int = 0) -> list[str]:
        """The keys from `start` up to, not including, `end` (None: to the last); the first `limit` (0: all) of them."""
        found: list[str] = []
        for at in range(bisect_left(self._lasts, start), len(self._blocks)):
            block = self._blocks[at]
            low = bisect_left(block, start) if not found else 0
            high = len(block) if end is None or self._lasts[at] < end else bisect_left(block, end)
            found += block[low:high]
            if high < len(block) or 0 < limit <= len(found):
                break
        return found[:limit] if limit else found

    def count(self, start: str, end: str | None) -> int:
        """The number of keys from `start` up to, not including, `end`."""
        return max(0, (len(self) if end is None else self._rank(end)) - self._rank(start))

    def _rank(self, key: str) -> int:
        at = bisect_left(self._lasts, key)
        before = sum(map(len, self._blocks[:at]))
        return before + bisect_left(self._blocks[at], key) if at < len(self._blocks) else before


@lru_cache(maxsize=1024)
def behind_prefix(prefix: str) -> str | None:
    """The upper bound of all strings with this prefix; None if there is none."""
    for at in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[at])
        if code < 0x10FFFF:
            return prefix[:at] + chr(code + 1)
    return None
