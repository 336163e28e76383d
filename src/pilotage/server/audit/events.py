"""The audit events of one request, one for each of its stages."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from pilotage.http import messages as http
from pilotage.meta.documents import Document
from pilotage.meta.scalars.times import MicroTime
from pilotage.rest.request import AuditAnnotations, User
from pilotage.rest.users import user_info
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.audit.policy import API_VERSION, LEVEL_NAMES, AuditDecision, Level

MAX_USER_AGENT = 1024
_TRUNCATED = "...TRUNCATED"
_encode = msgspec.json.Encoder().encode
Sink = Callable[[bytes], None]
"""Receives a line of the log."""


class ObjectReference(msgspec.Struct, frozen=True, omit_defaults=True):
    """The object reference of a request, as audit events have it."""

    resource: str
    namespace: str = ""
    name: str = ""
    uid: str = ""
    group: str = msgspec.field(name="apiGroup", default="")
    version: str = msgspec.field(name="apiVersion", default="")
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    subresource: str = ""


@dataclass(slots=True)
class Audit:
    """The audit information of one request, filled in while the request is handled."""

    incoming: http.HTTPRequest
    audit_id: str
    attributes: AccessAttributes
    selection: AuditDecision
    sink: Sink
    now: Callable[[], datetime]
    received: datetime
    reference: ObjectReference | None = None
    impersonated: User | None = None
    constraint: str = ""
    """The verb that allowed the impersonation."""
    request_object: Any = None
    response_object: Any = None
    response_status: Document | None = None
    annotations: AuditAnnotations = field(default_factory=AuditAnnotations)
    """Annotations that authorization and admission add."""

    def __post_init__(self) -> None:
        self.annotations.detailed = self.level >= Level.REQUEST

    @property
    def level(self) -> Level:
        return self.selection.level

    def log(self, stage: str) -> None:
        """Write the event of a stage, unless the policy omits it."""
        if self.level is not Level.NONE and stage not in self.selection.omitted_stages:
            self.sink(_encode(dict(self._fields(stage))))

    def _fields(self, stage: str) -> Iterator[tuple[str, Any]]:
        yield "kind", "Event"
        yield "apiVersion", API_VERSION
        yield "level", LEVEL_NAMES[self.level]
        yield "auditID", self.audit_id
        yield "stage", stage
        yield "requestURI", http.target_without_secrets(self.incoming.target)
        yield "verb", self.attributes.verb
        yield "user", user_info(self.attributes.user)
        if self.impersonated is not None:
            yield "impersonatedUser", user_info(self.impersonated)
        if self.constraint:
            yield "authenticationMetadata", {"impersonationConstraint": self.constraint}
        yield "sourceIPs", list(source_addresses(self.incoming))
        if agent := self.incoming.headers.get("user-agent"):
            yield "userAgent", agent if len(agent) <= MAX_USER_AGENT else agent[:MAX_USER_AGENT] + _TRUNCATED
        if self.reference is not None:
            yield "objectRef", self.reference
        if self.response_status is not None:
            yield "responseStatus", {"metadata": {}} | self.response_status
        if self.request_object is not None and self.level >= Level.REQUEST:
            yield "requestObject", self._shown(self.request_object)
        if self.response_object is not None and self.level >= Level.REQUEST_RESPONSE:
            yield "responseObject", self._shown(self.response_object)
        yield "requestReceivedTimestamp", MicroTime.of(self.received).format()
        yield "stageTimestamp", MicroTime.of(self.now()).format()
        if self.annotations:
            yield "annotations", dict(sorted(self.annotations.items()))

    def _shown(self, value: Any) -> Any:
        return without_managed_fields(value) if self.selection.omit_managed_fields else value


def source_addresses(incoming: http.HTTPRequest) -> Iterator[str]:
    """The source addresses of a request: those in its headers, then the client of the connection."""
    forwarded = (_address(part) for line in incoming.headers.all("x-forwarded-for") for part in line.split(","))
    seen = [address for address in forwarded if address]
    real = _address(incoming.headers.get("x-real-ip"))
    if real and real not in seen:
        seen.append(real)
    peer = _address(incoming.peer.host)
    if peer and (not seen or seen[-1] != peer):
        seen.append(peer)
    yield from seen


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip()))
    except ValueError:
        return ""


def without_managed_fields(value: Any) -> Any:
    """An object, a list of objects or a Table without the managed fields in it."""
    if not isinstance(value, dict):
        return value
    result = dict(value)
    if isinstance(metadata := result.get("metadata"), dict) and "managedFields" in metadata:
        result["metadata"] = {key: each for key, each in metadata.items() if key != "managedFields"}
    if isinstance(result.get("items"), list):
        result["items"] = [without_managed_fields(item) for item in result["items"]]
    if result.get("kind") == "Table" and isinstance(result.get("rows"), list):
        result["rows"] = [
            {**row, "object": without_managed_fields(row["object"])} if "object" in row else row
            for row in result["rows"]
        ]
    return result
