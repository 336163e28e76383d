"""A `rest.Transport` over the Device API: requests become gRPC calls, messages become objects, pages and events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from random import Random

import msgspec
from msgspec.structs import replace

from pilotage.client.retries import Retries
from pilotage.device.client import confirming
from pilotage.device.client.announced import Announced, VersionOrigin
from pilotage.device.codes import STATUS_METADATA, api_error
from pilotage.device.v1alpha1 import GPU, GROUP
from pilotage.device.wire import options as wire_options
from pilotage.device.wire.client import decode_event, decode_page, decode_response, encode_request, shaped
from pilotage.device.wire.generation import PACKAGES, RESOURCE, Generation, method_path
from pilotage.device.wire.options import with_page_metadata
from pilotage.device.wire.providerservice import Acknowledged, Heartbeat, provider_path
from pilotage.errors import (
    UNREADABLE,
    ApiError,
    BadRequest,
    ConnectionLost,
    Gone,
    MethodNotSupported,
    NotAcceptable,
    NotFound,
    PilotageError,
    StatusDetails,
)
from pilotage.grpc.rpc import Channel, Code, Incoming, Reply, RPCError
from pilotage.meta import objects
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest import APIRequest, Page, Response, Verb, WatchEvent
from pilotage.rest.fence import check_all
from pilotage.rest.request import READS, Form

_AHEAD = "ResourceVersionTooLarge"
"""Part of the error for a version from before a restart. There is one server, so waiting does not help."""

_CALL_SECONDS = 5.0
"""The timeout of every call but a list."""
_LIST_SECONDS = 10.0
MAPPING = RESTMapping(
    gvk=GPU.__resource__.gvk,
    resource=RESOURCE,
    namespaced=False,
    singular="gpu",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    subresources=("status",),
)


class DeviceTransport:
    """Carries requests for GPUs to a Device API server.

    gRPC errors become errors of an API server (`api_error`). A read is retried after a lost connection, and any call if
    the server returned a retry delay.
    """

    def __init__(
        self,
        channel: Channel,
        generation: Generation = Generation.V6,
        *,
        metadata: Mapping[str, str] | None = None,
        retries: Retries | None = None,
        package: str = PACKAGES[0],
    ) -> None:
        self._channel = channel
        self._generation = generation
        self._metadata = dict(metadata or {})
        self._retries = retries or Retries(total=10.0)
        self._package = package
        self._random = Random()  # noqa: S311  # spreads waits, hides nothing
        self._versioned = True
        self._announced = Announced()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed

    @property
    def announced(self) -> Announced:
        """What the server announced in its last response."""
        return self._announced

    async def call(self, request: APIRequest) -> Response:
        self._check(request)
        if request.verb is Verb.DELETE:
            return await self._delete(request)
        method, reply = await self._unary(request, _CALL_SECONDS)
        response = decode_response(self._generation, method, reply.message)
        confirming.check_answer(self._generation, request, response.body, self._announced)
        warnings = [reply.metadata.get(wire_options.WARNING, "")]
        warnings.append(confirming.lost_labels(self._generation, request, response.body, self._announced))
        return replace(
            response,
            body=bytes(shaped(response.body, request.form)),
            warnings=tuple(warning for warning in warnings if warning),
        )

    async def list(self, request: APIRequest) -> Page:
        page, _ = await self.list_with_origin(request)
        return page

    async def list_with_origin(self, request: APIRequest) -> tuple[Page, VersionOrigin]:
        """A list and the origin of its version, for the watch that starts from it."""
        self._check(request)
        asked = request.options.timeout_seconds
        seconds = min(asked, _LIST_SECONDS) if asked else _LIST_SECONDS
        _, reply = await self._unary(request, seconds)
        confirming.check_options(self._generation, request.options, self._announced)
        page = with_page_metadata(decode_page(self._generation, reply.message), reply.metadata)
        self._versioned = bool(page.resource_version)
        confirming.check_page(request.options, page.resource_version)
        page = replace(page, items=[shaped(item, request.form) for item in page.items])
        return page, VersionOrigin(reply.connection_number, self._announced.storage)

    @asynccontextmanager
    async def watch(
        self, request: APIRequest, since: VersionOrigin | None = None
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Open a watch. `since` is the origin of its version: Gone is raised if the server's versions may have started
        again since then."""
        self._check(request)
        if request.options.resource_version not in ("", "0") and not self._versioned:
            raise Gone(
                "the lists of this Device API server have no version, so a watch cannot start from one: list again, "
                "and watch without a version"
            )
        call = encode_request(self._generation, request)
        path, metadata = method_path(call.method, self._package), {**self._metadata, **call.metadata}
        async with AsyncExitStack() as stack:
            try:
                stream = self._channel.stream(path, call.message, metadata=metadata)
                incoming = await stack.enter_async_context(stream)
            except RPCError as error:
                raise _explained(error, request, call.method) from error
            refusal = self._refusal(incoming, request, since)
            if refusal is None:
                events = self._events(incoming, request)
                if request.options.timeout_seconds and not self._announced.storage:
                    # Servers of V1 to V6 ignore the timeout.
                    events = _ended_after(events, request.options.timeout_seconds)
                yield await stack.enter_async_context(aclosing(events))
                return
        raise refusal

    def _refusal(self, incoming: Incoming, request: APIRequest, since: VersionOrigin | None) -> ApiError | None:
        """Raises Gone for an open watch on a server that may have lost its versions."""
        # Some servers send metadata only with the first message, and streams of interceptors may have no metadata.
        here = VersionOrigin(getattr(incoming, "connection_number", 0), Announced.read(incoming.metadata).storage)
        if since is not None and not since.same_versions(here):
            return Gone(
                "the connection to the Device API server was lost, and the server does not announce that its resource "
                "versions are still valid: list again"
            )
        if incoming.metadata:
            self._learn(incoming.metadata)
            try:
                confirming.check_options(self._generation, request.options, self._announced)
            except BadRequest as error:
                return error
        return None

    async def resources(self) -> Sequence[RESTMapping]:
        """The resource of GPUs. The Device API has no discovery."""
        return (MAPPING,)

    async def close(self) -> None:
        self._closed = True
        await self._channel.close()

    async def heartbeat(self, provider: str, names: Sequence[str]) -> bool:
        """Send a heartbeat of a provider with its GPUs. False: the provider must write all of them again."""
        message = Heartbeat(provider, tuple(names)).encode()
        path = provider_path("Heartbeat")
        try:
            reply = await self._channel.unary(path, message, metadata=self._metadata, timeout=_CALL_SECONDS)
        except RPCError as error:
            raise api_error(error, method="Heartbeat") from error
        return Acknowledged.decode(reply.message).acknowledged

    async def invoke(self, path: str, message: bytes, request: APIRequest) -> Reply:
        """Call a method of another service, by its full name; `request` is its equivalent, for retries and errors."""
        return await self._attempts(path, message, self._metadata, _CALL_SECONDS, request)

    async def _delete(self, request: APIRequest) -> Response:
        """Delete, and return the deleted object as an API server does: readers of a cache wait until it is removed."""
        get = APIRequest(Verb.GET, request.resource, name=request.name, user_agent=request.user_agent)
        try:
            uid = objects.header((await self.call(get)).body).uid
        except ApiError as error:
            if error.status.reason != UNREADABLE:
                raise
            uid = ""  # it is damaged in the storage: a delete removes it nevertheless
        confirming.check_preconditions(self._generation, request, self._announced)  # as in the response above
        await self._unary(request, _CALL_SECONDS)
        details = {"name": request.name, "group": GROUP, "kind": RESOURCE.resource, "uid": uid}
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return Response(msgspec.json.encode(success))

    def _check(self, request: APIRequest) -> None:
        if request.verb not in READS and not self._generation.writes:
            raise MethodNotSupported(
                f"the wire generation {self._generation.value.upper()} is read-only (get, list and watch). Write "
                "through a server of a later generation, such as `pilotage device serve`, with its wire"
            )
        if request.form is Form.TABLE:
            raise NotAcceptable("the Device API has no tables: use `pilotage device get`")

    async def _unary(self, request: APIRequest, timeout: float) -> tuple[str, Reply]:
        call = encode_request(self._generation, request)
        path, metadata = method_path(call.method, self._package), {**self._metadata, **call.metadata}
        reply = await self._attempts(path, call.message, metadata, timeout, request)
        self._learn(reply.metadata)
        return call.method, reply

    async def _attempts(
        self, path: str, message: bytes, metadata: Mapping[str, str], timeout: float, request: APIRequest
    ) -> Reply:
        """Send the call of a request, with retries where they are safe."""
        time, verb = asyncio.get_running_loop().time, "GET" if request.verb in (Verb.GET, Verb.LIST) else "POST"
        begun, attempt = time(), 0
        while True:
            failure: PilotageError
            check_all(request.fences)
            try:
                return await self._channel.unary(path, message, metadata=metadata, timeout=timeout)
            except RPCError as error:
                failure = _explained(error, request, path.rpartition("/")[2])
                pause = self._after_answer(verb, failure, attempt)
                cause: PilotageError | None = error
            except ConnectionLost as error:
                failure, cause = error, None
                pause = self._retries.after_loss(verb, error, attempt, self._random)
            if pause is None or time() - begun + pause > self._retries.total:
                raise failure from cause
            await asyncio.sleep(pause)
            attempt += 1

    def _after_answer(self, verb: str, error: PilotageError, attempt: int) -> float | None:
        if not isinstance(error, ApiError) or any(cause.reason == _AHEAD for cause in error.causes):
            return None
        wait = error.retry_after_seconds
        return self._retries.after_answer(verb, error.status.code, wait, attempt, self._random)

    async def _events(self, incoming: Incoming, request: APIRequest) -> AsyncGenerator[WatchEvent, None]:
        unchecked, whole = not incoming.metadata, request.form is Form.OBJECT
        try:
            async for message in incoming:
                if unchecked:  # some servers send them with the first message
                    unchecked = False
                    self._learn(incoming.metadata)
                    confirming.check_options(self._generation, request.options, self._announced)
                event = decode_event(self._generation, message)
                if event is None:
                    continue  # of an unknown type
                if whole or event.type == "ERROR":
                    yield event
                else:
                    yield WatchEvent(event.type, shaped(event.object, request.form))
        except RPCError as error:
            if error.code is Code.CANCELLED and STATUS_METADATA not in error.trailers:
                return
            raise _explained(error, request, "WatchGpus") from error

    def _learn(self, metadata: Mapping[str, str]) -> None:
        self._announced = Announced.read(metadata)


async def _ended_after(events: AsyncGenerator[WatchEvent, None], seconds: float) -> AsyncGenerator[WatchEvent, None]:
    """The events until the timeout; then the stream ends without an error, as on a server that supports the option."""
    until = asyncio.get_running_loop().time() + seconds
    async with aclosing(events):
        while True:
            try:
                async with asyncio.timeout_at(until):
                    event = await anext(events, None)
            except TimeoutError:
                return
            if event is None:
                return
            yield event


def _explained(error: RPCError, request: APIRequest, method: str) -> PilotageError:
    """The error for this request."""
    found = api_error(error, watch=request.verb is Verb.WATCH, method=method)
    if isinstance(found, NotFound) and found.status.details is None and request.name:
        # The object is missing, not its kind.
        return NotFound(str(found), details=StatusDetails(name=request.name, group=GROUP, kind=RESOURCE.resource))
    return found
