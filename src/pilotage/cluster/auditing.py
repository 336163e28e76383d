"""The audit log of an embedded API server: the requests of clients in this process, as `pilotage serve` logs those over
HTTP. What the server's own loops write is not in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from pilotage.errors import ApiError, DecodeError, InvalidDefinition
from pilotage.http import messages as http
from pilotage.meta.scalars import times
from pilotage.meta.text import yamltext
from pilotage.rest import path
from pilotage.rest.request import APIRequest, User, Verb
from pilotage.rest.response import Page, Response, WatchEvent
from pilotage.rest.transport import Transport, TransportWrapper
from pilotage.server.access.rbac import attributes_of
from pilotage.server.audit.events import Audit, ObjectReference, Sink
from pilotage.server.audit.log import STANDARD_OUTPUT, SharedAuditLog
from pilotage.server.audit.policy import AuditPolicy, Level, everything
from pilotage.server.http.auditing import audit_id_of, note_error, note_object, note_request
from pilotage.server.resources import ResourceInfo


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Where and by which policy requests are logged, as the flags of `pilotage serve` have it."""

    log_path: str = ""
    """The file that lines are appended to."""
    policy_file: str = ""
    """Empty: every request, at level Metadata."""

    def policy(self) -> AuditPolicy:
        """The policy of the file. Raises InvalidDefinition."""
        if not self.policy_file:
            return everything()
        try:
            return AuditPolicy.of(yamltext.read(Path(self.policy_file).read_bytes()), self.policy_file)
        except (OSError, DecodeError) as error:
            raise InvalidDefinition(f"cannot read the audit policy {self.policy_file}: {error}") from error

    def open_log(self) -> SharedAuditLog:
        """Raises InvalidDefinition."""
        try:
            return SharedAuditLog(self.log_path)
        except OSError as error:
            raise InvalidDefinition(
                f"cannot open the audit log {self.log_path}: {error.strerror or error}; check the owner and mode of "
                "its folder, or choose another file"
            ) from error


def audit_options(log_path: str, policy_file: str) -> AuditOptions:
    """The options for arguments of a program. Raises InvalidDefinition."""
    if not log_path:
        raise InvalidDefinition("audit_policy_file needs audit_log_path: give the file of the log")
    if log_path == STANDARD_OUTPUT:
        raise InvalidDefinition("audit_log_path is a file here: the standard output belongs to the program")
    return AuditOptions(log_path, policy_file)


class Auditable(Transport, Protocol):
    """A transport that knows the resources of its requests, such as a registry."""

    async def describe(self, request: APIRequest) -> ResourceInfo:
        """The resource that a request is about."""


def audited(
    registry: Auditable, audit: AuditOptions, exits: AsyncExitStack | ExitStack, clock: times.Clock
) -> AuditedTransport:
    """The transport to a registry, with a log that is open as long as `exits`. Raises InvalidDefinition."""
    policy, log = audit.policy(), audit.open_log()
    exits.callback(log.close)
    return AuditedTransport(registry, policy, log.write, clock)


def process_user() -> User:
    """The user that this process runs as, for requests that carry no user."""
    import pwd

    number = os.geteuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:  # as in a container
        name = f"uid:{number}"
    return User(name, uid=str(number))


class AuditedTransport(TransportWrapper):
    """Logs every request to a registry, and passes it on."""

    def __init__(
        self, registry: Auditable, policy: AuditPolicy, sink: Sink, clock: times.Clock = times.system_clock
    ) -> None:
        super().__init__(registry)
        self._registry = registry
        self._policy = policy
        self._sink = sink
        self._clock = clock
        self._user = process_user()

    async def call(self, request: APIRequest) -> Response:
        audit = self._begin(request)
        if audit is None:
            return await self._registry.call(request)
        with _logged(audit):
            response = await self._registry.call(await self._noted(audit, request))
            audit.response_status = {"code": response.code}
            note_object(audit, response.body, response.code)
            return response

    async def list(self, request: APIRequest) -> Page:
        audit = self._begin(request)
        if audit is None:
            return await self._registry.list(request)
        with _logged(audit):
            page = await self._registry.list(await self._noted(audit, request))
            audit.response_status = {"code": 200}
            if audit.level is Level.REQUEST_RESPONSE:
                items = [msgspec.json.decode(item) for item in page.items]
                metadata = {"resourceVersion": page.resource_version}
                head = {"kind": page.list_kind or "List", "apiVersion": str(request.resource.group_version)}
                audit.response_object = {**head, "metadata": metadata, "items": items}
            return page

    @asynccontextmanager
    async def watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        audit = self._begin(request)
        if audit is None:
            async with self._registry.watch(request) as events:
                yield events
            return
        audit.log("RequestReceived")
        try:
            async with self._registry.watch(request) as events:
                audit.response_status = {"code": 200}
                audit.log("ResponseStarted")
                yield events
        except ApiError as error:
            note_error(audit, error)
            raise
        finally:
            audit.log("ResponseComplete")

    def _begin(self, request: APIRequest) -> Audit | None:
        """The audit of a request; None if the policy does not log it."""
        attributes = attributes_of(request if request.user.name else replace(request, user=self._user))
        selection = self._policy.select(attributes)
        if selection.level is Level.NONE:
            return None
        encoded = path.build(request)
        incoming = http.HTTPRequest(encoded.method, encoded.target, http.Headers(encoded.headers), encoded.body)
        group, version, resource = request.resource
        reference = ObjectReference(
            *(resource, attributes.namespace, attributes.name),
            group=group,
            version=version,
            subresource=request.subresource,
        )
        now = self._clock()
        return Audit(incoming, audit_id_of(incoming), attributes, selection, self._sink, self._clock, now, reference)

    async def _noted(self, audit: Audit, request: APIRequest) -> APIRequest:
        """The request, which admission adds annotations to; its object is in the audit."""
        audit.log("RequestReceived")
        if request.verb not in (Verb.GET, Verb.LIST):
            note_request(audit, request, await self._registry.describe(request))
        return replace(request, annotations=audit.annotations)


@contextmanager
def _logged(audit: Audit) -> Iterator[None]:
    """A call or list of the block, whose last stage is logged however it ends."""
    try:
        yield
    except ApiError as error:
        note_error(audit, error)
        raise
    except asyncio.CancelledError:
        audit.response_status = {"status": "Failure", "message": "the caller was cancelled", "code": 499}
        raise
    except Exception as error:
        audit.response_status = {"status": "Failure", "message": str(error), "reason": "InternalError", "code": 500}
        raise
    finally:
        audit.log("ResponseComplete")
