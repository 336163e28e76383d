"""GPUs as Kubernetes JSON: the fields that the wire can carry. Other fields are ignored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from pilotage.device.wire.generation import KIND
from pilotage.errors import DecodeError
from pilotage.meta.redaction import reason_of
from pilotage.meta.scalars import times
from pilotage.rest.response import Bytes

Integer: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Time: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER = -62_135_596_800
"""The first second of the year 1: what Go's zero time becomes."""
_LAST = 253_402_300_799
"""The last second of the year 9999."""


class MetadataDocument(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The metadata that the wire can carry, and `finalizers` and `owner_references`, which it cannot."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Integer = 0
    creation_timestamp: Time | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[msgspec.Raw] | None = None


class Spec(msgspec.Struct, frozen=True):
    uuid: str = ""


class ConditionDocument(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | UnsetType | None = UNSET
    observed_generation: Integer | UnsetType | None = UNSET


class StatusDocument(msgspec.Struct, frozen=True, rename="camel"):
    conditions: list[ConditionDocument] | None = None
    recommended_action: str | UnsetType | None = UNSET


class Object(msgspec.Struct, frozen=True, rename="camel"):
    """A GPU. A bookmark has neither spec nor status."""

    api_version: str = KIND.api_version
    kind: str = KIND.kind
    metadata: MetadataDocument = MetadataDocument()
    spec: Spec | UnsetType | None = UNSET
    status: StatusDocument | UnsetType | None = UNSET


D = TypeVar("D")
_object = msgspec.json.Decoder(Object)
_status = msgspec.json.Decoder(StatusDocument)
_condition = msgspec.json.Decoder(ConditionDocument)
write = msgspec.json.Encoder().encode
"""Compact JSON of a GPU, status or condition."""


def read(body: Bytes) -> Object:
    """A GPU from its JSON. Raises DecodeError."""
    return _decoded(_object, body, KIND.kind)


def read_stored(body: Bytes) -> Object:
    """A stored GPU from its JSON, without fields of conditions that are valid by the schema but not on the wire.

    Such a field, a time with a leap second for example, must not make every list fail. Raises DecodeError.
    """
    try:
        return _object.decode(body)
    except msgspec.MsgspecError:
        return _salvaged(body)


def read_status(body: Bytes) -> StatusDocument:
    """A status from its JSON. Raises DecodeError."""
    return _decoded(_status, body, "status")


def read_condition(body: Bytes) -> ConditionDocument:
    """A condition from its JSON. Raises DecodeError."""
    return _decoded(_condition, body, "condition")


def _decoded(decoder: msgspec.json.Decoder[D], body: Bytes, what: str) -> D:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"this is not the JSON of a {what}: {reason_of(error)}") from None


def seconds(time: datetime) -> int | None:
    """A time on the wire: whole seconds since 1970, rounded down, as Kubernetes' times.

    None for a time outside of the wire's range: in UTC, the first second of the year 1 or earlier, and past 9999.
    """
    since: timedelta = time - _EPOCH
    count = since.days * 86_400 + since.seconds
    return count if _NEVER < count <= _LAST else None


def time(count: int) -> datetime | None:
    """A time from seconds since 1970; None for Go's zero time. Raises DecodeError for years past 9999."""
    if count == _NEVER:
        return None
    if not _NEVER < count <= _LAST:
        raise DecodeError(f"{count} seconds since 1970 is not a valid time")
    return datetime.fromtimestamp(count, UTC)


def _salvaged(body: Bytes) -> Object:
    try:
        document = msgspec.json.decode(body)
        for condition in document["status"]["conditions"]:
            condition["lastTransitionTime"] = _salvaged_time(condition.get("lastTransitionTime"))
            condition["observedGeneration"] = _salvaged_integer(condition.get("observedGeneration"))
        return msgspec.convert(document, Object)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise DecodeError(f"this is not the JSON of a {KIND.kind}: {reason_of(error)}") from None


def _salvaged_time(value: object) -> datetime | None:
    try:
        return times.parse(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _salvaged_integer(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else None
