"""The rows of a SQLite storage: checks rows, and finds those that exist. No I/O.

A row is one event. Its id is the commit's revision and the event's position within it, so that the table is a log in
the order of time, and needs no second index. The current state is the newest row of each key.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from pilotage.errors import StorageBroken

from ..keys import MAX_COMMIT_OPERATIONS

Row = tuple[int, str, bytes | None, int, int]
"""id, key, value (None: deleted), created, checksum."""
StoredRow = tuple[bytes, int, int]
"""value, revision, created: what an Entry has, for commands that load nothing that takes long."""


def checksum(number: int, key: str, value: bytes | None, created: int) -> int:
    """The CRC-32 of a row."""
    kind = "-" if value is None else "+"
    return zlib.crc32(value or b"", zlib.crc32(f"{number}{kind}{created}:{key}".encode()))


def verify(row: Row) -> None:
    """Raise StorageBroken for a row whose checksum is wrong."""
    number, key, value, created, expected = row
    try:
        actual = checksum(number, key, value, created)
    except (AttributeError, TypeError, UnicodeEncodeError):
        actual = -1
    if actual != expected:
        revision = number // MAX_COMMIT_OPERATIONS
        raise StorageBroken(f"the row of revision {revision} for {key!r} has the wrong checksum")


def newest(rows: Iterable[Row]) -> dict[str, StoredRow]:
    """What exists after these rows, by key; they are all rows of their keys, oldest first."""
    found: dict[str, StoredRow] = {}
    for row in rows:
        verify(row)
        number, key, value, created, _ = row
        if value is None:
            found.pop(key, None)
        else:
            found[key] = (value, number // MAX_COMMIT_OPERATIONS, created)
    return found


def first_id(revision: int) -> int:
    """The id of the first row of a commit; all rows of earlier commits have smaller ones."""
    return revision * MAX_COMMIT_OPERATIONS
