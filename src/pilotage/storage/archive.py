"""Archives: all values of a storage at one revision, as a text file that any storage can be restored from.

The first line has the revision, the last one the number of entries and a checksum over all lines before it. Each line
between them is one entry. The storage is written meanwhile as usual.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from pilotage.errors import RevisionConflict, StorageError

from .interface import Entry, Put, Storage

FORMAT = "pilotage-archive-v1"
_AT_ONCE = 100  # entries in one commit of a restore: etcd allows 128 operations
_MOST_BYTES = 1 << 20
_MOST_REVISION = 1 << 62


class Head(msgspec.Struct, frozen=True):
    """The first line."""

    format: str
    revision: int


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry: its value as text, or in base64 if it is not text."""

    key: str
    value: str = ""
    base64: str = ""


class Tail(msgspec.Struct, frozen=True):
    """The last line."""

    entries: int
    sha256: str


class Archive(msgspec.Struct, frozen=True):
    """What an archive holds."""

    revision: int
    puts: list[Put]


def _unlimited(key: str) -> int:
    return 0


async def write_archive(storage: Storage, file: BinaryIO) -> Head:
    """Write all entries as of now. Raises StorageError and OSError."""
    snapshot = await storage.list("")
    head = Head(FORMAT, snapshot.revision)
    digest = hashlib.sha256()
    for data in _lines(head, snapshot.entries):
        digest.update(data)
        file.write(data)
    file.write(msgspec.json.encode(Tail(len(snapshot.entries), digest.hexdigest())) + b"\n")
    return head


def read_archive(file: BinaryIO, name: str) -> Archive:
    """Read and check a whole archive. Raises StorageError."""
    try:
        return _read(file)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StorageError(f"{name} is not an archive of a storage, or it is damaged: {error}") from error


async def restore_archive(storage: Storage, archive: Archive, lifetime: Callable[[str], int] = _unlimited) -> int:
    """Write the entries of an archive into an empty storage, and return the new revision. Raises StorageError.

    An archive does not have lifetimes: `lifetime` returns the seconds that the value of a key is kept for (0: always).
    A restore that fails or is interrupted leaves an incomplete storage.
    """
    if (await storage.list("", limit=1)).entries:
        raise StorageError("the storage is not empty: restore into a new one")
    revision, restored = storage.revision, 0
    for batch in _batches(replace(put, lifetime=lifetime(put.key)) for put in archive.puts):
        try:
            revision = await storage.commit(*batch)
        except RevisionConflict as conflict:
            raise StorageError(f"{conflict.key} was written by another program during the restore") from conflict
        except StorageError as error:
            raise StorageError(
                f"the storage is incomplete, only {restored} of {len(archive.puts)} entries were restored: remove what "
                f"there is of it, and restore into a new one. {error}"
            ) from error
        restored += len(batch)
    return revision


def _lines(head: Head, entries: Iterable[Entry]) -> Iterator[bytes]:
    yield msgspec.json.encode(head) + b"\n"
    for entry in entries:
        try:
            line = Line(entry.key, entry.value.decode())
        except UnicodeDecodeError:
            line = Line(entry.key, base64=b64encode(entry.value).decode())
        yield msgspec.json.encode(line) + b"\n"


def _read(file: BinaryIO) -> Archive:
    digest = hashlib.sha256()
    first = file.readline()
    head = msgspec.json.decode(first, type=Head)
    if head.format != FORMAT:
        raise ValueError(f"its format is {head.format!r}, and this version reads {FORMAT}")
    if not 0 < head.revision < _MOST_REVISION:
        raise ValueError(f"its revision is {head.revision}")
    puts: list[Put] = []
    digest.update(first)
    data = file.readline()
    while following := file.readline():
        digest.update(data)
        line = msgspec.json.decode(data, type=Line)
        puts.append(Put(line.key, b64decode(line.base64, validate=True) or line.value.encode(), expected=0))
        data = following
    tail = msgspec.json.decode(data, type=Tail)
    if (tail.entries, tail.sha256) != (len(puts), digest.hexdigest()):
        raise ValueError(f"it should have {tail.entries} entries and has {len(puts)}, or its checksum is wrong")
    return Archive(head.revision, puts)


def _batches(puts: Iterable[Put]) -> Iterator[list[Put]]:
    batch: list[Put] = []
    size = 0
    for put in puts:
        if batch and (len(batch) >= _AT_ONCE or size + len(put.value) > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(put)
        size += len(put.value)
    if batch:
        yield batch
