"""Slots: small keys that are written together with a commit, and show whether it took effect if its response is lost.

Each commit has a slot of its own while it runs, and is conditional on the slot's revision. So it takes effect once,
even if it is sent several times, and the revision of the slot in etcd is the revision of the commit. A slot has a
lease: etcd removes the slots of a program that was killed.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from itertools import count

from .keys import Keys

LIFETIME = 600
"""Seconds after its last write that a slot is kept. A commit is sent again for much less than that."""


@dataclass(slots=True)
class Slot:
    """A key of etcd, and the revision that it was last written at (0: never)."""

    key: bytes
    revision: int = 0
    lease: int = 0

    def written(self, found: int) -> bool:
        """Whether the commit took effect, if etcd has the slot at this revision."""
        return found not in (0, self.revision)


class Slots:
    """As many slots as commits run at the same time. A slot whose state is not known is not used again."""

    def __init__(self, keys: Keys) -> None:
        self.start = keys.end + secrets.token_hex(8).encode() + b"/"
        self.end = self.start[:-1] + b"0"
        """Behind all slots of this program."""
        self.used = False
        self._free: list[Slot] = []
        self._numbers = count()

    def take(self) -> Slot:
        self.used = True
        return self._free.pop() if self._free else Slot(self.start + str(next(self._numbers)).encode())

    def give_back(self, slot: Slot, revision: int) -> None:
        slot.revision = revision
        self._free.append(slot)
