"""Reads all keys at one revision, the oldest that etcd still has: the log after it comes from the watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pilotage.errors import StorageError

from ..interface import Entry
from .client import EtcdClient
from .errors import COMPACTED
from .keys import Keys
from .messages import RANGE, message

FIRST_REVISION = 1  # of an empty etcd
_MOST_REVISIONS = 100_000  # of history that is read at the start; compaction leaves five minutes of it
_PAGE = 200


@dataclass(frozen=True, slots=True)
class Loaded:
    """The entries at `revision`. Etcd was at `current` when the load began."""

    entries: dict[str, Entry]
    revision: int
    current: int


async def load(client: EtcdClient, keys: Keys, oldest: int) -> Loaded:
    """Read all keys at the first revision from `oldest` on that can be read.

    Another program may compact meanwhile: then it starts again, at a newer revision.
    """
    while True:
        current = await current_revision(client, keys)
        try:
            revision = await _oldest(client, keys, oldest, current)
            return Loaded(await _entries(client, keys, revision), revision, current)
        except _Compacted:
            continue


async def current_revision(client: EtcdClient, keys: Keys) -> int:
    """The revision of the last commit that any member has acknowledged: a linearizable read."""
    request = message("RangeRequest")(key=keys.start, count_only=True)
    return int((await client.call(RANGE, request)).message.header.revision)


async def key_revision(client: EtcdClient, key: bytes) -> int:
    """The revision that a key was last written at; 0 if there is none. A linearizable read."""
    found = (await client.call(RANGE, message("RangeRequest")(key=key, keys_only=True))).message.kvs
    return int(found[0].mod_revision) if found else 0


async def _oldest(client: EtcdClient, keys: Keys, oldest: int, current: int) -> int:
    """The oldest revision that can be read. Etcd does not report it, but a bisection needs only some 17 short calls."""
    low, high = max(oldest, current - _MOST_REVISIONS), current
    if await _readable(client, keys, low):
        return low
    while high - low > 1:
        middle = (low + high) // 2
        if await _readable(client, keys, middle):
            high = middle
        else:
            low = middle
    return high


async def _readable(client: EtcdClient, keys: Keys, revision: int) -> bool:
    try:
        await _range(client, message("RangeRequest")(key=keys.start, count_only=True, revision=revision))
    except _Compacted:
        return False
    return True


async def _entries(client: EtcdClient, keys: Keys, revision: int) -> dict[str, Entry]:
    request = message("RangeRequest")(key=keys.start, range_end=keys.end, limit=_PAGE, revision=revision)
    entries: dict[str, Entry] = {}
    while True:
        page = await _range(client, request)
        for pair in page.kvs:
            key = keys.decoded(pair.key)
            entries[key] = Entry(key, pair.value, pair.mod_revision, pair.create_revision)
        if not page.more:
            return entries
        # The smallest key after the last one. All pages are read at one revision, so nothing is missed between them.
        request.key = page.kvs[-1].key + b"\0"


async def _range(client: EtcdClient, request: Any) -> Any:
    try:
        return (await client.call(RANGE, request)).message
    except StorageError as error:
        if COMPACTED in str(error):
            raise _Compacted from error
        raise


class _Compacted(Exception):
    """The revision was compacted."""
