"""Keys of the storage as keys of etcd: below one prefix, and readable with etcdctl."""

from __future__ import annotations

from pilotage.errors import StorageBroken

_OTHER = "\0"
"""Marks a key that does not begin with a slash. The API server has no such keys."""


class Keys:
    """`/default/core/pods/a` is `/pilotage/default/core/pods/a` in etcd. Two keys are never the same one there."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.start = prefix.encode()
        self.end = self.start + b"\xff"
        """Behind all keys of the storage: text in UTF-8 has no such byte. Keys that only this package uses follow."""

    def encoded(self, key: str) -> bytes:
        rest = key[1:] if key.startswith("/") and not key.startswith("/" + _OTHER) else _OTHER + key
        return (self.prefix + rest).encode()

    def decoded(self, key: bytes) -> str:
        """Raises StorageBroken for a key that this program has not written."""
        try:
            rest = key[len(self.start) :].decode()
        except UnicodeDecodeError as error:
            raise StorageBroken(
                f"etcd has the key {key!r} below {self.prefix}, which is not a key of Pilotage: use another prefix"
            ) from error
        return rest[1:] if rest.startswith(_OTHER) else "/" + rest
