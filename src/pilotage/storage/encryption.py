"""Encryption at rest: a storage in front of another one, which encrypts the values of some keys.

A value is encrypted with AES-256 in GCM mode under the first of the given keys, bound to its storage key: moved to
another storage key, it cannot be decrypted. Values are decrypted with the key whose name precedes them, and unencrypted
values are read unchanged. `rotate` writes all values again under the first key.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from pilotage.errors import MissingExtra, RevisionConflict, StorageBroken, StorageError

from .bases import StorageWrapper
from .interface import Entry, Event, Operation, Put, Snapshot, Storage, Watch

MARK = b"pilotage:aesgcm:v1:"
"""Stands before every encrypted value; then the name of the key, a colon, a nonce and the ciphertext."""

KEY_BYTES = 32
COMMAND = "exec:"
_NONCE_BYTES = 12
_COMMAND_SECONDS = 30.0


def load_keys(source: str) -> dict[str, bytes]:
    """The keys of a file, or those that a command prints (`exec:COMMAND`): lines of NAME:BASE64, newest first.

    Raises StorageError.
    """
    keys: dict[str, bytes] = {}
    for number, line in enumerate(_text(source).splitlines(), 1):
        name, colon, value = line.strip().partition(":")
        if not name or name.startswith("#"):
            continue
        try:
            key = b64decode(value.strip(), validate=True)
        except ValueError:  # not base64, or not ASCII
            key = b""
        if not colon or len(key) != KEY_BYTES or ":" in name or name in keys:
            raise StorageError(
                f"{source}, line {number}: write NAME:KEY with {KEY_BYTES} random bytes in base64 and each name once,"
                f" such as the output of: echo key1:$(head -c {KEY_BYTES} /dev/urandom | base64)"
            )
        keys[name] = key
    if not keys:
        raise StorageError(
            f"{source} has no key; create one with: echo key1:$(head -c {KEY_BYTES} /dev/urandom | base64)"
        )
    return keys


def _text(source: str) -> str:
    try:
        if not source.startswith(COMMAND):
            return Path(source).expanduser().read_text()
        words = shlex.split(source.removeprefix(COMMAND))
        if not words:
            raise ValueError("the command is missing")
        ran = subprocess.run(  # noqa: S603 - the command that the user gives
            words, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise StorageError(f"the keys cannot be read from {source}: {error}") from error
    if ran.returncode:
        raise StorageError(f"{source} failed with exit code {ran.returncode}: {ran.stderr.strip()[-300:]}")
    return ran.stdout


class Cipher:
    """Encrypts under the first key, decrypts under any."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            raise MissingExtra("encryption at rest", "serve") from error
        self._ciphers = {name.encode(): AESGCM(key) for name, key in keys.items()}
        self._first = next(iter(self._ciphers))

    def encrypt(self, key: str, value: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        place = key.encode(errors="surrogatepass")  # the inner storage refuses such a key
        return MARK + self._first + b":" + nonce + self._ciphers[self._first].encrypt(nonce, value, place)

    def decrypt(self, key: str, value: bytes) -> bytes:
        """Raises StorageBroken without the right key, or if the value was changed."""
        from cryptography.exceptions import InvalidTag

        if not value.startswith(MARK):
            return value
        name, _, rest = value[len(MARK) :].partition(b":")
        cipher = self._ciphers.get(name)
        if cipher is None:
            raise StorageBroken(
                f"{key} is encrypted with the key {name.decode(errors='replace')!r}, which is not given: add it to the "
                "encryption keys"
            )
        try:
            return cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], key.encode())
        except (InvalidTag, ValueError) as error:
            raise StorageBroken(
                f"{key} cannot be decrypted with the key {name.decode(errors='replace')!r}: the key is another one,"
                " or the value was changed"
            ) from error

    def current(self, value: bytes) -> bool:
        """Whether a stored value is encrypted under the first key."""
        return value.startswith(MARK + self._first + b":")


class EncryptedStorage(StorageWrapper):
    """A Storage that encrypts the values of the `chosen` keys of another one."""

    def __init__(self, inner: Storage, cipher: Cipher, chosen: Callable[[str], bool]) -> None:
        super().__init__(inner)
        self._cipher = cipher
        self._chosen = chosen

    async def get(self, key: str) -> Entry | None:
        return self._clear(await self._inner.get(key))

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        found = await self._inner.list(prefix, start=start, limit=limit, revision=revision)
        if not any(self._chosen(entry.key) for entry in found.entries):
            return found
        return Snapshot(found.revision, [self._clear_entry(entry) for entry in found.entries], found.remaining)

    async def commit(self, *operations: Operation) -> int:
        return await self._inner.commit(*map(self._encrypted, operations))

    def watch(self, prefix: str, *, since: int) -> Watch:
        return _EncryptedWatch(self._inner.watch(prefix, since=since), self._clear_event)

    async def rotate(self) -> int:
        """Write every chosen value that is not encrypted under the first key again; returns their number.

        Then the history is compacted, also if nothing was left to write by a rotation that was interrupted: its values
        need the other keys, or are not encrypted.
        """
        rotated = 0
        for entry in (await self._inner.list("")).entries:
            if self._chosen(entry.key):
                rotated += await self._rotate(entry)
        if self._inner.oldest < self._inner.revision:
            await self._inner.compact(self._inner.revision)
        return rotated

    async def _rotate(self, entry: Entry) -> bool:
        found: Entry | None = entry
        while found is not None and not self._cipher.current(found.value):
            try:
                await self.commit(Put(found.key, self._clear_entry(found).value, found.revision))
            except RevisionConflict:  # it was written meanwhile, perhaps by a program that has only the old key
                found = await self._inner.get(entry.key)
            else:
                return True
        return False

    def _encrypted(self, operation: Operation) -> Operation:
        if type(operation) is not Put or not self._chosen(operation.key):
            return operation
        value = self._cipher.encrypt(operation.key, operation.value)
        return replace(operation, value=value)

    def _clear(self, entry: Entry | None) -> Entry | None:
        return None if entry is None else self._clear_entry(entry)

    def _clear_entry(self, entry: Entry) -> Entry:
        """The decrypted entry. It is cached on the stored entry, so that readers share what they decode."""
        if not self._chosen(entry.key):
            return entry
        decrypted: _Decrypted | None = entry.decrypted
        if decrypted is None or decrypted.cipher is not self._cipher:
            value = self._cipher.decrypt(entry.key, entry.value)
            decrypted = _Decrypted(self._cipher, Entry(entry.key, value, entry.revision, entry.created))
            entry.decrypted = decrypted
        return decrypted.entry

    def _clear_event(self, event: Event) -> Event:
        if not self._chosen(event.key):
            return event
        return Event(event.key, event.revision, self._clear(event.entry), self._clear(event.previous))


class _Decrypted:
    """The cache of a stored entry: only a storage with the same keys may use it."""

    __slots__ = ("cipher", "entry")

    def __init__(self, cipher: Cipher, entry: Entry) -> None:
        self.cipher = cipher
        self.entry = entry


class _EncryptedWatch:
    def __init__(self, inner: Watch, clear: Callable[[Event], Event]) -> None:
        self._inner = inner
        self._clear = clear

    def __aiter__(self) -> AsyncIterator[Sequence[Event]]:
        return self

    async def __anext__(self) -> Sequence[Event]:
        return [self._clear(event) for event in await self._inner.__anext__()]

    @property
    def position(self) -> int:
        return self._inner.position
