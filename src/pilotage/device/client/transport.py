"""The Device API as an API server: requests become gRPC calls; what comes back, objects, pages and events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from random import Random

import msgspec

from pilotage.client.retries import Retries
from pilotage.device import wire
from pilotage.device.codes import READ_ONLY, api_error
from pilotage.device.rpc import Channel, Code, Incoming, Reply, RPCError
from pilotage.device.v1alpha1 import GPU, GROUP
from pilotage.device.wire import options as wire_options
from pilotage.errors import (
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
from pilotage.meta import objects
from pilotage.meta.mapper import RESTMapping
from pilotage.rest import Page, Request, Response, Verb, WatchEvent
from pilotage.rest.listing import EMBEDDED_SILENCE_SECONDS, BackoffOptions
from pilotage.rest.request import Form, ListOptions

UNHEARD_SECONDS = 24 * 3600.0
"""How long a watch may say nothing if the server sends no bookmarks: GPUs may well not change for hours. That the
server is gone, the connection itself says."""

BACKOFF = BackoffOptions(first=0.05, limit=0.25, jitter=0.5, reset_after=10.0)
"""A local socket: a server that comes back is to be found within a second."""

GPUS = wire.RESOURCE

_AHEAD = "ResourceVersionTooLarge"
"""The version is one of a life that the server has forgotten: there is one server, so that waiting brings nothing."""

_READS = (Verb.GET, Verb.LIST, Verb.WATCH)
MAPPING = RESTMapping(
    gvk=GPU.__resource__.gvk,
    resource=GPUS,
    namespaced=False,
    singular="gpu",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    subresources=("status",),
)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long an answer may take, in seconds."""

    call: float = 5.0
    """For every call but a list."""
    list: float = 10.0
    """For a list."""


class DeviceTransport:
    """Carries requests for GPUs to a Device API server.

    What a server refuses is raised as the API server's error (`api_error`); a read whose connection broke is made
    again, and so is any call that the server puts off and says until when.
    """

    def __init__(
        self,
        channel: Channel,
        generation: wire.Generation = wire.Generation.V6,
        *,
        metadata: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        package: str = wire.PACKAGES[0],
    ) -> None:
        self._channel = channel
        self._generation = generation
        self._metadata = dict(metadata or {})
        self._timeouts = timeouts or Timeouts()
        self._retries = retries or Retries(total=10.0)
        self._package = package
        self._random = Random()  # noqa: S311  # spreads waits, hides nothing
        self._versioned = True
        self._understood: frozenset[str] = frozenset()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether it was closed: nothing will go through it any more."""
        return self._closed

    @property
    def sends_bookmarks(self) -> bool:
        """Whether the server has said that it sends bookmarks to those who ask."""
        return self._generation is wire.Generation.V8 or wire_options.ALLOW_WATCH_BOOKMARKS in self._understood

    async def call(self, request: Request) -> Response:
        self._check(request)
        if request.verb is Verb.DELETE:
            return await self._delete(request)
        method, reply = await self._unary(request, self._timeouts.call)
        response = wire.decode_response(self._generation, method, reply.message)
        warning = reply.metadata.get(wire_options.WARNING, "")
        return replace(
            response,
            body=bytes(wire.shaped(response.body, request.form)),
            warnings=(warning,) if warning else (),
        )

    async def list(self, request: Request) -> Page:
        self._check(request)
        _, reply = await self._unary(request, self._timeouts.list)
        self._check_understood(request.options, reply.metadata)
        page = wire.with_page_metadata(wire.decode_page(self._generation, reply.message), reply.metadata)
        self._versioned = bool(page.resource_version)
        return replace(page, items=[wire.shaped(item, request.form) for item in page.items])

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self._check(request)
        if request.options.resource_version not in ("", "0") and not self._versioned:
            raise Gone(
                "the Device API server gives its lists no version, so that no watch can go on from one: list again, "
                "and watch without a version"
            )
        call = wire.encode_request(self._generation, request)
        path, metadata = wire.method_path(call.method, self._package), {**self._metadata, **call.metadata}
        async with AsyncExitStack() as stack:
            try:
                stream = self._channel.stream(path, call.message, metadata=metadata)
                incoming = await stack.enter_async_context(stream)
            except RPCError as error:
                raise _explained(error, request) from error
            if incoming.metadata:
                self._check_understood(request.options, incoming.metadata)
            yield await stack.enter_async_context(aclosing(self._events(incoming, request)))

    async def resources(self) -> Sequence[RESTMapping]:
        """What there is, without asking: the Device API has no discovery."""
        return (MAPPING,)

    async def close(self) -> None:
        self._closed = True
        await self._channel.close()

    async def heartbeat(self, provider: str, names: Sequence[str]) -> bool:
        """Tell the server that a provider is alive, and which GPUs it answers for; False: it should tell all again."""
        message = wire.Heartbeat(provider, tuple(names)).encode()
        path, seconds = wire.provider_path("Heartbeat"), self._timeouts.call
        try:
            reply = await self._channel.unary(path, message, metadata=self._metadata, timeout=seconds)
        except RPCError as error:
            raise api_error(error) from error
        return wire.Acknowledged.decode(reply.message).acknowledged

    async def invoke(self, path: str, message: bytes, request: Request) -> Reply:
        """Call a method beside those of GPUs, in full; `request` is what it comes to, for retries and for errors."""
        return await self._attempts(path, message, self._metadata, self._timeouts.call, request)

    async def _delete(self, request: Request) -> Response:
        """Delete, and say what was deleted as an API server does: who reads from a cache waits until that is gone."""
        uid = request.delete.uid
        if not uid:
            get = Request(Verb.GET, request.resource, name=request.name, user_agent=request.user_agent)
            uid = objects.header((await self.call(get)).body).uid
        await self._unary(request, self._timeouts.call)
        details = {"name": request.name, "group": GROUP, "kind": GPUS.resource, "uid": uid}
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return Response(msgspec.json.encode(success))

    def _check(self, request: Request) -> None:
        if request.verb not in _READS and not self._generation.writes:
            raise MethodNotSupported(READ_ONLY)
        if request.form is Form.TABLE:
            raise NotAcceptable("the Device API gives objects, no tables: `pilotage device get` prints one")

    async def _unary(self, request: Request, timeout: float) -> tuple[str, Reply]:
        call = wire.encode_request(self._generation, request)
        path, metadata = wire.method_path(call.method, self._package), {**self._metadata, **call.metadata}
        return call.method, await self._attempts(path, call.message, metadata, timeout, request)

    async def _attempts(
        self, path: str, message: bytes, metadata: Mapping[str, str], timeout: float, request: Request
    ) -> Reply:
        """The answer to a call that stands for `request`, made again where that is safe and of use."""
        time, verb = asyncio.get_running_loop().time, "GET" if request.verb in (Verb.GET, Verb.LIST) else "POST"
        begun, attempt = time(), 0
        while True:
            failure: PilotageError
            try:
                return await self._channel.unary(path, message, metadata=metadata, timeout=timeout)
            except RPCError as error:
                failure = _explained(error, request)
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

    async def _events(self, incoming: Incoming, request: Request) -> AsyncGenerator[WatchEvent, None]:
        unchecked, whole = not incoming.metadata, request.form is Form.OBJECT
        try:
            async for message in incoming:
                if unchecked:  # they come with the first message from servers that do not send them at once
                    unchecked = False
                    self._check_understood(request.options, incoming.metadata)
                event = wire.decode_event(self._generation, message)
                if event is None:
                    continue  # of a type that is not known here
                if whole or event.type == "ERROR":
                    yield event
                else:
                    yield WatchEvent(event.type, wire.shaped(event.object, request.form))
        except RPCError as error:
            if error.code is Code.CANCELLED and not error.status:
                return
            raise _explained(error, request) from error

    def _check_understood(self, options: ListOptions, metadata: Mapping[str, str]) -> None:
        """Refuse an answer to another question than was asked: what a server does not know, it leaves out silently."""
        said = metadata.get(wire_options.UNDERSTOOD, "")
        self._understood = frozenset(part.strip() for part in said.split(","))
        asked = {
            wire_options.FIELD_SELECTOR: bool(options.field_selector),
            wire_options.CONTINUE: bool(options.continue_token),
        }
        if self._generation is not wire.Generation.V8:  # which has fields for these
            asked |= {
                wire_options.LABEL_SELECTOR: bool(options.label_selector),
                wire_options.SEND_INITIAL_EVENTS: bool(options.send_initial_events),
            }
        if missing := [name for name, wanted in asked.items() if wanted and name not in self._understood]:
            raise BadRequest(
                f"the Device API server does not know the option {', '.join(missing)}: its wire has no field for it, "
                "and it did not confirm it. Leave it out and choose among the GPUs yourself, or use a server that "
                "knows it, such as `pilotage device serve`"
            )


def _explained(error: RPCError, request: Request) -> PilotageError:
    """What the server's answer means for this request."""
    found = api_error(error, watch=request.verb is Verb.WATCH)
    if isinstance(found, NotFound) and found.status.details is None and request.name:
        # So that it is the object that is missing, and not its kind.
        return NotFound(str(found), details=StatusDetails(name=request.name, group=GROUP, kind=GPUS.resource))
    return found


@dataclass(frozen=True, slots=True)
class DeviceListerWatcher:
    """The GPUs of a node as something that an informer can follow."""

    transport: DeviceTransport
    form: Form = Form.OBJECT
    user_agent: str = ""
    streaming: bool = False
    """A list and a watch: every server can do that, and over a local socket it costs no more."""
    backoff: BackoffOptions = BACKOFF

    @property
    def silence_seconds(self) -> float:
        return EMBEDDED_SILENCE_SECONDS if self.transport.sends_bookmarks else UNHEARD_SECONDS

    async def list(self, options: ListOptions) -> Page:
        return await self.transport.list(self._request(Verb.LIST, options))

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self.transport.watch(self._request(Verb.WATCH, options))

    def _request(self, verb: Verb, options: ListOptions) -> Request:
        return Request(verb, GPUS, form=self.form, options=options, user_agent=self.user_agent)
