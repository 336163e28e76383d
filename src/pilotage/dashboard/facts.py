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


_DECODER = msgspec.json.Decoder(_Document)
_FALLBACK = msgspec.json.Decoder(_Named)


class Facts(msgspec.Struct, gc=False):
    """What is shown of one version of an object."""

    data: bytes
    kind: GroupVersionKind
    namespace: str
    name: str
    version: str
    uid: str
    created: datetime | None
    state: State
    """By its own conditions."""
    conditions: tuple[Condition, ...] = ()
    owner_uid: str = ""
    owner_kind: str = ""
    owner_name: str = ""
    text: str = ""
    """What a search looks at first, in lower case."""


def facts_of(kind: GroupVersionKind, namespace: str, name: str, data: bytes) -> Facts:
    """The facts of an object; of one whose status is unusual, without its status."""
    try:
        found = _DECODER.decode(data)
        metadata, status = found.metadata, found.status or _Status()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        metadata, status = _metadata(data), _Status()
    conditions = tuple(
        Condition(each.type[:_MOST_TEXT], each.status[:_MOST_TEXT], (each.reason or "")[:_MOST_TEXT])
        for each in (status.conditions or ())[:_MOST_CONDITIONS]
    )
    owner = _owner(metadata.owner_references or ())
    return Facts(
        data=data,
        kind=kind,
        namespace=namespace,
        name=name,
        version=metadata.resource_version,
        uid=metadata.uid,
        created=_time(metadata.creation_timestamp),
        state=state_of(conditions, status.phase or "", is_deleting=metadata.deletion_timestamp is not None),
        conditions=conditions,
        owner_uid=owner.uid,
        owner_kind=owner.kind,
        owner_name=owner.name,
        text=f"{kind.kind} {namespace}/{name}".lower(),
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
    return next((each for each in references if each.controller), references[0] if references else _Owner())


def _time(text: str | None) -> datetime | None:
    try:
        return times.parse(text) if text else None
    except ValueError:
        return None
