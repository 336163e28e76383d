"""What the list of objects shows of one object, read from its bytes once for each version."""

from __future__ import annotations

from datetime import datetime

import msgspec

from pilotage.dashboard.values import Condition, State
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.scalars import times

_GOOD = ("Ready", "Available", "Healthy", "Synced", "Established", "Complete")
_BAD = ("Failed", "Degraded", "Stalled")
_PHASES = {
    "Running": "ok",
    "Active": "ok",
    "Bound": "ok",
    "Succeeded": "ok",
    "Ready": "ok",
    "Available": "ok",
    "Failed": "error",
    "Error": "error",
    "Lost": "error",
    "Pending": "wait",
    "Terminating": "wait",
}
_MOST_CONDITIONS = 20
_MOST_TEXT = 253
"""Characters of a value of an object that a row has."""


class _Owner(msgspec.Struct, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str | None = None


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None
    phase: str | None = None


class _Document(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    status: _Status | None = None


class _Named(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_UNREAD = State("", "wait")
_NO_OWNER = _Owner()
_DECODER = msgspec.json.Decoder(_Document)
_FALLBACK = msgspec.json.Decoder(_Named)


class Facts(msgspec.Struct, gc=False):
    """What is shown of an object. A new version is read into the same one, so that lists of them stay valid."""

    kind: GroupVersionKind
    namespace: str
    name: str
    text: str
    """What a search looks at first, in lower case."""
    data: bytes = b""
    version: str = ""
    uid: str = ""
    created: datetime | None = None
    state: State = _UNREAD
    """By its own conditions."""
    conditions: tuple[Condition, ...] = ()
    owner_uid: str = ""
    owner_kind: str = ""
    owner_name: str = ""

    def read(self, data: bytes) -> None:
        """Read a version; of one whose status is unusual, without its status."""
        self.data = data
        try:
            found = _DECODER.decode(data)
            metadata, status = found.metadata, found.status
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            metadata, status = _metadata(data), None
        self.version, self.uid = metadata.resource_version, metadata.uid
        self.created = _time(metadata.creation_timestamp)
        owner = _owner(metadata.owner_references or ())
        self.owner_uid, self.owner_name = owner.uid, owner.name
        group = owner.api_version.rpartition("/")[0]
        self.owner_kind = f"{owner.kind}.{group}" if group else owner.kind
        self.conditions = _conditions(status)
        phase = (status.phase or "") if status is not None else ""
        self.state = state_of(self.conditions, phase, is_deleting=metadata.deletion_timestamp is not None)


def facts_of(kind: GroupVersionKind, namespace: str, name: str, data: bytes) -> Facts:
    """The facts of an object."""
    made = Facts(kind, namespace, name, f"{kind.kind} {namespace}/{name}".lower())
    made.read(data)
    return made


def _conditions(status: _Status | None) -> tuple[Condition, ...]:
    if status is None or not status.conditions:
        return ()
    return tuple(
        Condition(each.type[:_MOST_TEXT], each.status[:_MOST_TEXT], (each.reason or "")[:_MOST_TEXT])
        for each in status.conditions[:_MOST_CONDITIONS]
    )


def state_of(conditions: tuple[Condition, ...], phase: str, *, is_deleting: bool) -> State:
    """The state of an object in one word."""
    if is_deleting:
        return State("Deleting", "wait")
    by_type = {each.type: each for each in conditions}
    for name in _BAD:
        if name in by_type and by_type[name].status == "True":
            return State(name, "error")
    for name in _GOOD:
        if name in by_type:
            condition = by_type[name]
            if condition.status == "True":
                return State(name, "ok")
            return State(condition.reason or f"Not{name}", "warn" if condition.status == "False" else "wait")
    if phase:
        return State(phase[:_MOST_TEXT], _PHASES.get(phase, "ok"))
    return State("exists", "ok")


def _metadata(data: bytes) -> _Metadata:
    try:
        return _FALLBACK.decode(data).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Metadata()


def _owner(references: list[_Owner] | tuple[_Owner, ...]) -> _Owner:
    return next((each for each in references if each.controller), references[0] if references else _NO_OWNER)


def _time(text: str | None) -> datetime | None:
    try:
        return times.parse(text) if text else None
    except ValueError:
        return None
