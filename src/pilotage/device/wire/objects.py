"""Converts GPUs between Kubernetes JSON and the messages of a generation."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

from msgspec import UNSET

from pilotage.device.wire import documents
from pilotage.device.wire.documents import ConditionDocument, MetadataDocument, Object, Spec, StatusDocument
from pilotage.device.wire.generation import KIND, Generation
from pilotage.device.wire.messages import gpu_message
from pilotage.errors import DecodeError
from pilotage.rest.response import Bytes

_METADATA = {Generation.V1: "", Generation.V8: "object_meta"}
"""The field of a GPU's metadata, if it is not `metadata`; V1 has no metadata."""


class ObjectCodec:
    """Encodes and decodes GPUs in one generation. Values without a field are dropped.

    `provider` in conditions and `providers` in the status are internal to the server and have no field in any.
    """

    def __init__(self, generation: Generation) -> None:
        metadata = _METADATA.get(generation, "metadata")
        self._metadata = metadata
        fields = gpu_message(generation, "ObjectMeta").DESCRIPTOR.fields_by_name if metadata else {}
        self._identified = "uid" in fields
        self._labelled = "labels" in fields
        self._typed = generation is Generation.V8
        self._observed = "observed_generation" in gpu_message(generation, "Condition").DESCRIPTOR.fields_by_name

    def write(self, document: Object, message: Any) -> None:
        """Fill an empty message."""
        if self._typed:
            message.type_meta.kind, message.type_meta.api_version = KIND.kind, KIND.api_version
        if self._metadata:
            self._write_metadata(document.metadata, getattr(message, self._metadata))
        else:
            message.name = document.metadata.name
        if document.spec:
            message.spec.SetInParent()
            message.spec.uuid = document.spec.uuid
        if document.status:
            self.write_status(document.status, message.status)

    def write_status(self, status: StatusDocument, message: Any) -> None:
        """Fill an empty GpuStatus; it is present afterwards even if it is empty."""
        message.SetInParent()
        for condition in status.conditions or ():
            self.write_condition(condition, message.conditions.add())
        if status.recommended_action:
            message.recommended_action = status.recommended_action

    def write_condition(self, condition: ConditionDocument, message: Any) -> None:
        """Fill an empty Condition."""
        message.type, message.status = condition.type, condition.status
        message.reason, message.message = condition.reason, condition.message
        if condition.last_transition_time:
            _write_time(condition.last_transition_time, message.last_transition_time)
        if self._observed and condition.observed_generation:
            message.observed_generation = condition.observed_generation

    def read(self, message: Any) -> Object:
        """A whole GPU: missing values are zero. Raises DecodeError."""
        return Object(
            metadata=self.read_metadata(message),
            spec=Spec(message.spec.uuid),
            status=self.read_status(message.status),
        )

    def read_given(self, message: Any) -> Object:
        """A GPU as it was sent: without the spec or status that the message does not have. Raises DecodeError."""
        return Object(
            metadata=self.read_metadata(message),
            spec=Spec(message.spec.uuid) if message.HasField("spec") else UNSET,
            status=self.read_status(message.status) if message.HasField("status") else UNSET,
        )

    def read_metadata(self, message: Any) -> MetadataDocument:
        """The metadata of a GPU. Raises DecodeError for the object of another generation."""
        if not self._metadata:
            return MetadataDocument(name=message.name)
        if self._typed and message.type_meta.kind not in ("", KIND.kind):
            raise _of_another_generation()
        metadata = getattr(message, self._metadata)
        version = metadata.resource_version
        if version == KIND.api_version:
            raise _of_another_generation()
        if not self._identified:
            return MetadataDocument(name=metadata.name, resource_version=version)
        created = documents.time(metadata.creation_timestamp.seconds) if metadata.HasField(_CREATED) else None
        return MetadataDocument(
            name=metadata.name,
            uid=metadata.uid,
            resource_version=version,
            generation=metadata.generation,
            creation_timestamp=created,
            labels=_mapping(metadata.labels) if self._labelled else None,
            annotations=_mapping(metadata.annotations) if self._labelled else None,
        )

    def namespace(self, message: Any) -> str:
        """The namespace in a GPU's metadata, which should be empty."""
        metadata = getattr(message, self._metadata) if self._metadata else None
        return str(getattr(metadata, "namespace", ""))

    def has_metadata(self, message: Any) -> bool:
        """Whether the GPU has metadata."""
        return not self._metadata or bool(message.HasField(self._metadata))

    def read_status(self, message: Any) -> StatusDocument:
        """A status; its conditions are always a list. Raises DecodeError."""
        return StatusDocument(
            [self.read_condition(condition) for condition in message.conditions], message.recommended_action or UNSET
        )

    def read_condition(self, message: Any) -> ConditionDocument:
        """A condition. Raises DecodeError for an invalid time."""
        changed = documents.time(message.last_transition_time.seconds) if message.HasField(_CHANGED) else None
        observed = message.observed_generation if self._observed else 0
        return ConditionDocument(
            message.type, message.status, message.reason, message.message, changed or UNSET, observed or UNSET
        )

    def _write_metadata(self, metadata: MetadataDocument, message: Any) -> None:
        message.SetInParent()
        if metadata.name:
            message.name = metadata.name
        if metadata.resource_version:
            message.resource_version = metadata.resource_version
        if self._identified:
            if metadata.uid:
                message.uid = metadata.uid
            if metadata.generation:
                message.generation = metadata.generation
            if metadata.creation_timestamp:
                _write_time(metadata.creation_timestamp, message.creation_timestamp)
        if self._labelled:
            if metadata.labels:
                message.labels.update(metadata.labels)
            if metadata.annotations:
                message.annotations.update(metadata.annotations)


_CREATED = "creation_timestamp"
_CHANGED = "last_transition_time"


@cache
def codec(generation: Generation) -> ObjectCodec:
    """The codec of a generation."""
    return ObjectCodec(generation)


def fill(generation: Generation, body: Bytes, message: Any) -> None:
    """Fill an empty Gpu from a stored object. Raises DecodeError."""
    codec(generation).write(documents.read_stored(body), message)


def _write_time(time: datetime, message: Any) -> None:
    count = documents.seconds(time)
    if count is not None:
        message.SetInParent()
        message.seconds = count


def _mapping(found: Any) -> dict[str, str] | None:
    return dict(sorted(found.items())) if found else None  # a map has no order on the wire


def _of_another_generation() -> DecodeError:
    return DecodeError("the object is of another wire generation: V8 has other field numbers than V6")
