"""Owner references for garbage collection: decoded from stored bytes, indexed, and evaluated. No I/O."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


class OwnerReference(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """One entry of `metadata.ownerReferences`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    block_owner_deletion: bool | None = None


class Metadata(msgspec.Struct, rename="camel", gc=False):
    """The metadata that garbage collection reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None

    @property
    def terminating(self) -> bool:
        return bool(self.deletion_timestamp)

    @property
    def waits_for_dependents(self) -> bool:
        """Whether the object is deleted in the foreground: its dependents are deleted first."""
        return self.terminating and FOREGROUND in (self.finalizers or ())

    @property
    def orphans_dependents(self) -> bool:
        """Whether the object is deleted, and its dependents lose their reference to it."""
        return self.terminating and ORPHAN in (self.finalizers or ())


class _Stored(msgspec.Struct, gc=False):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


_decode = msgspec.json.Decoder(_Stored).decode


def metadata_of(value: bytes) -> Metadata:
    """The metadata of a stored object; empty for a record that is not an object."""
    return _decode(value).metadata if value.startswith(b"{") else Metadata()


def is_relevant(value: bytes) -> bool:
    """Whether stored bytes may be of an object with owners, or of one whose deletion waits for garbage collection."""
    if b'"ownerReferences"' in value:
        return True
    return b'"deletionTimestamp"' in value and (b'"foregroundDeletion"' in value or b'"orphan"' in value)


class OwnerIndex:
    """The dependents of each owner, by the owner's uid. Objects are known by their keys in the storage."""

    def __init__(self) -> None:
        self._owners: dict[str, tuple[OwnerReference, ...]] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._owners

    def __bool__(self) -> bool:
        return bool(self._owners)

    def __iter__(self) -> Iterator[str]:
        """The keys of all objects with owners."""
        return iter(self._owners)

    def replace(self, key: str, references: Iterable[OwnerReference]) -> tuple[OwnerReference, ...]:
        """Set the owners of an object, none for one that was deleted. Returns those it had before."""
        before, after = self._owners.pop(key, ()), tuple(references)
        for reference in before:
            dependents = self._dependents.get(reference.uid, {})
            dependents.pop(key, None)
            if not dependents:
                self._dependents.pop(reference.uid, None)
        for reference in after:
            self._dependents.setdefault(reference.uid, {})[key] = None
        if after:
            self._owners[key] = after
        return before

    def owners(self, key: str) -> tuple[OwnerReference, ...]:
        return self._owners.get(key, ())

    def dependents(self, uid: str) -> list[str]:
        """The keys of the objects that have this owner, oldest first."""
        return list(self._dependents.get(uid, ()))

    def blocking(self, uid: str) -> list[str]:
        """The keys of the dependents that the deletion of this owner in the foreground waits for."""
        return [key for key in self._dependents.get(uid, ()) if self._blocks(key, uid)]

    def _blocks(self, key: str, uid: str) -> bool:
        return any(one.uid == uid and one.block_owner_deletion for one in self._owners[key])


class OwnerState(enum.Enum):
    """The state of an owner."""

    SOLID = "exists"
    WAITING = "is deleted in the foreground, and waits for its dependents"
    ABSENT = "does not exist"


@dataclass(frozen=True, slots=True)
class Release:
    """Keep the object, without the references to these owners."""

    uids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Collect:
    """Delete the object, with this propagation policy."""

    policy: str


def decide(
    metadata: Metadata, states: Sequence[tuple[OwnerReference, OwnerState]], *, has_dependents: bool
) -> Release | Collect | None:
    """What to do with an object whose owners are in these states; None: nothing."""
    solid = [one for one, state in states if state is OwnerState.SOLID]
    lost = frozenset(one.uid for one, state in states if state is not OwnerState.SOLID)
    if not lost:
        return None
    if solid:
        return Release(lost)
    if has_dependents and any(state is OwnerState.WAITING for _, state in states):
        return Collect("Foreground")
    finalizers = metadata.finalizers or ()
    return Collect("Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background")
