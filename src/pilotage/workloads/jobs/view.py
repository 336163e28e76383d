"""A Job as other controllers see it: who controls it, and how and when it ended."""

from __future__ import annotations

from datetime import datetime

import msgspec

from pilotage.meta.values import Value

FINISHED = ("Complete", "Failed")


class JobView(Value, frozen=True, gc=False):
    """The fields of a Job that other controllers read."""

    namespace: str
    name: str
    uid: str
    controller_name: str
    """Empty for a Job that no object controls."""
    controller_uid: str
    deleted: datetime | None
    ttl: int | None
    """`spec.ttlSecondsAfterFinished`."""
    finished: str
    """Complete, Failed, or empty."""
    finished_at: datetime | None
    """When that condition became true."""
    started: datetime | None
    completed: datetime | None


def view_of(data: bytes) -> JobView:
    """The view of a Job in its JSON form."""
    job = _JOB.decode(data)
    metadata, status = job.metadata, job.status
    controller = next((owner for owner in metadata.owner_references or () if owner.controller), _NO_OWNER)
    finished = next((one for one in status.conditions or () if one.type in FINISHED and one.status == "True"), _NONE)
    return JobView(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        controller.name,
        controller.uid,
        metadata.deletion_timestamp,
        job.spec.ttl_seconds_after_finished,
        finished.type,
        finished.last_transition_time,
        status.start_time,
        status.completion_time,
    )


class _Part(msgspec.Struct, rename="camel", gc=False):
    pass


class _Owner(_Part):
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Metadata(_Part):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    owner_references: list[_Owner] | None = None
    deletion_timestamp: datetime | None = None


class _Spec(_Part):
    ttl_seconds_after_finished: int | None = None


class _Condition(_Part):
    type: str = ""
    status: str = ""
    last_transition_time: datetime | None = None


class _Status(_Part):
    conditions: list[_Condition] | None = None
    start_time: datetime | None = None
    completion_time: datetime | None = None


class _Job(_Part):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_JOB = msgspec.json.Decoder(_Job)
_NO_OWNER = _Owner()
_NONE = _Condition()
