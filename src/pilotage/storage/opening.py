"""Opens the storage of a URL. A backend is imported when it is used."""

from __future__ import annotations

import re
import time

from pilotage.errors import MissingExtra, StorageError

from .history import MAX_HISTORY_BYTES
from .interface import Storage

_PASSWORD = re.compile(r"^([^:@]*:/+[^/:]*|[^:@/]*(?!:/)):.*@", re.DOTALL)
"""The text before a password, and the password: up to the last @, because it may contain any character."""
_UNKNOWN_PARAMETER = re.compile(r"([?&](?!(?:ca|cert|key|server-name|tls)=)[^=&]*=)[^&]*")
"""A query parameter that no storage has, which may be a secret."""


async def open_storage(url: str, *, max_history_bytes: int = MAX_HISTORY_BYTES) -> Storage:
    """Open the storage of a URL: `memory:`, `sqlite:PATH` or `etcd://HOST:PORT`. The backend is imported on use.

    The storage compacts its oldest commits when its history takes more than `max_history_bytes`.
    """
    scheme, separator, rest = url.partition(":")
    if separator and scheme == "memory":
        return _open_memory(url, rest, max_history_bytes)
    if separator and scheme == "sqlite":
        return await _open_sqlite(url, rest, max_history_bytes)
    if separator and scheme == "etcd":
        return await _open_etcd(url, max_history_bytes)
    raise StorageError(
        f"{url_without_password(url)!r} names no storage; use memory:, sqlite:PATH such as sqlite:demo.db, or etcd://HOST:PORT"
    )


def url_without_password(url: str) -> str:
    """The URL of a storage as it may be printed: without a password, also if the URL is wrong or the password is in
    the wrong place or not percent-encoded."""
    if url.startswith("sqlite:"):
        return url
    return _UNKNOWN_PARAMETER.sub(r"\1<redacted>", _PASSWORD.sub(r"\1@", url))


async def open_served_storage(url: str, *, max_history_bytes: int = MAX_HISTORY_BYTES) -> Storage:
    """Open a storage for a server whose clients outlive it.

    One in memory begins at the time in microseconds, and not at 1: a client that requests changes since a revision of
    an earlier run must get an error, instead of waiting until that revision is reached again.
    """
    if url == "memory:":
        from .memory import MemoryStorage

        return MemoryStorage(first_revision=time.time_ns() // 1000, max_history_bytes=max_history_bytes)
    return await open_storage(url, max_history_bytes=max_history_bytes)


def _open_memory(url: str, rest: str, max_history_bytes: int) -> Storage:
    if rest:
        raise StorageError(f"{url_without_password(url)!r}: memory: takes no name; every open creates a new storage")
    from .memory import MemoryStorage

    return MemoryStorage(max_history_bytes=max_history_bytes)


async def _open_sqlite(url: str, path: str, max_history_bytes: int) -> Storage:
    if not path:
        raise StorageError(f"{url!r} names no file; write sqlite:PATH, such as sqlite:demo.db")
    from .sqlite import SqliteStorage

    return await SqliteStorage.open(path, max_history_bytes=max_history_bytes)


async def _open_etcd(url: str, max_history_bytes: int) -> Storage:
    try:
        from .etcd import EtcdStorage
    except ImportError as error:
        raise MissingExtra("storage on etcd", "etcd") from error
    return await EtcdStorage.open(url, max_history_bytes=max_history_bytes)
