"""What the calls of one client share: the transport, the REST mappings of kinds, and defaults for every call."""

from __future__ import annotations

from _thread import get_ident  # a program without threads does not load `threading`
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from functools import cached_property
from typing import Any, TypedDict

from msgspec.structs import replace

from pilotage.client.targets import KindTarget
from pilotage.client.transport.warnings import ServerWarning, WarningHandler
from pilotage.errors import (
    ApiError,
    BadRequest,
    InternalError,
    Invalid,
    InvalidDefinition,
    NoMatch,
    NotFound,
    PilotageError,
    RequestTooLarge,
)
from pilotage.meta.bounds.recent import Recent
from pilotage.meta.forms import Kind, Object, gvk_of, kind_of, no_kind, reader_of
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapper, RESTMapping, not_served
from pilotage.meta.mapping.scheme import Scheme
from pilotage.meta.validation.names import check_segment
from pilotage.meta.values import Value
from pilotage.rest import APIRequest, Page, Response, Transport, Verb, WatchEvent, WriteOptions
from pilotage.rest.fence import Fences
from pilotage.rest.request import READS, form_of
from pilotage.telemetry import tracing

ANSWERED_WHOLE = ("", "status", "finalize", "approval")
"""Subresources whose answer is the whole object; `scale` answers with a Scale."""

_UNTRACED = nullcontext()
_REVIEW_GROUPS = ("authentication.k8s.io", "authorization.k8s.io")
"""Reviews are answered and not stored: they need no name."""


class Defaults(Value, frozen=True):
    """The defaults of a call."""

    namespace: str = ""
    """The namespace of calls that name none; calls with another namespace fail. Empty: each call names its
    namespace."""
    dry_run: bool = False
    """Whether the server does everything but store."""
    field_owner: str = ""
    """The field manager of writes."""
    field_validation: str = ""
    """`Ignore`, `Warn` or `Strict`; empty: as the server does by default."""
    user_agent: str = "pilotage"
    """The name of the program in the requests."""
    fences: Fences | None = None
    """Returns the fences of each write; None: a write has only the fences of the running code."""


_WRONG_THREAD = (
    "the client was called in another thread than its cluster's, which has the event loop. A reconciler that "
    "is not async runs in a worker thread: it calls pt.wait(client.get(…)), and not asyncio.run(client.get(…)). Other "
    "threads use asyncio.run_coroutine_threadsafe, and webhook handlers that use the client are async"
)


class ServedKinds:
    """Where kinds are served, remembered as long as the REST mapper knows the same."""

    def __init__(self, mapper: RESTMapper, thread: int | None = None) -> None:
        """`thread` is the one in which all calls must be made; None: it is not checked."""
        self.mapper = mapper
        self._thread = thread
        self._mappings = mapper.mappings
        self._targets: dict[Kind, KindTarget[Any]] = {}

    def known(self, kind: Kind) -> KindTarget[Any] | None:
        """Where a kind is served, if that is known already. Every call begins here."""
        if self._thread != get_ident() and self._thread is not None:  # much cheaper than to ask for the event loop
            raise InvalidDefinition(_WRONG_THREAD)
        if self._mappings is not self.mapper.mappings:
            self._mappings = self.mapper.mappings
            self._targets.clear()
        try:
            return self._targets.get(kind)
        except TypeError:  # objects are not hashable
            raise no_kind(kind) from None

    async def target(self, kind: Kind) -> KindTarget[Any]:
        """Where a kind is served. A class names its resource; other kinds are looked up."""
        found = self.known(kind)
        if found is None:
            found = self._targets[kind] = await self._target(kind)
        return found

    async def _target(self, kind: Kind) -> KindTarget[Any]:
        gvk = gvk_of(kind)
        if isinstance(kind, type):
            info = kind.__resource__
            resource, namespaced = GroupVersionResource(gvk.group, gvk.version, info.plural), info.namespaced
        else:
            mapping = await self.mapping(gvk)
            resource, namespaced = mapping.resource, mapping.namespaced
        return KindTarget(gvk, resource, namespaced, form_of(kind), reader_of(kind))

    async def mapping(self, gvk: GroupVersionKind) -> RESTMapping:
        try:
            return await self.mapper.lookup(gvk)
        except NoMatch:
            raise not_served(gvk) from None


class WriteArguments(TypedDict, total=False):
    """The keywords that each write of a client has."""

    dry_run: bool
    """Whether the server does everything but store."""
    field_owner: str
    """The field manager of this write; by default the field manager of the client."""
    field_validation: str
    """Ignore, Warn or Strict, for unknown and duplicate fields."""


class Subject(Value, frozen=True):
    """One object or collection that a call is about."""

    kind: KindTarget[Any]
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Session(Value, frozen=True, dict=True):
    """Sends requests, and adds the kind and object of the call to each error."""

    transport: Transport
    scheme: Scheme
    catalogue: ServedKinds
    defaults: Defaults
    warn: WarningHandler
    futile: Recent[tuple[str, int], int]
    """The writes that had no effect: see `client.futile`."""

    def with_defaults(self, **changes: Any) -> Session:
        return replace(self, defaults=replace(self.defaults, **changes))

    async def collection(self, kind: Kind, namespace: str) -> Subject:
        """All objects of a kind, in a namespace or (where none is given) everywhere."""
        target = await self.catalogue.target(kind)
        if not target.namespaced:
            return Subject(target)
        check_segment("namespace", namespace)
        return Subject(target, self._namespace(target, namespace or self.defaults.namespace, ""))

    async def subject(self, kind: Kind, namespace: str, name: str) -> Subject:
        """One object by its name."""
        target = self.catalogue.known(kind) or await self.catalogue.target(kind)
        return self._subject(target, namespace, name)

    def _subject(self, target: KindTarget[Any], namespace: str, name: str) -> Subject:
        if not name:
            raise self._refusal(
                target, namespace, "", f"the name of the {target.gvk.kind} is empty: pass the name of the object"
            )
        return Subject(target, self._required_namespace(target, namespace, name), name)

    async def subject_of(self, obj: Object) -> Subject:
        """The target of calls about `obj`."""
        kind, metadata = kind_of(obj), obj.metadata
        if not metadata.name:
            raise BadRequest(
                f"this {gvk_of(obj).kind} has no name: set metadata.name, or pass an object that the server returned"
            )
        check_segment("name", metadata.name)
        check_segment("namespace", metadata.namespace)
        target = self.catalogue.known(kind) or await self.catalogue.target(kind)
        return self._subject(target, metadata.namespace, metadata.name)

    async def subject_for(self, obj: Object) -> Subject:
        """Where `obj` is to be created; its name may still have to be generated."""
        kind, metadata = kind_of(obj), obj.metadata
        target = self.catalogue.known(kind) or await self.catalogue.target(kind)
        name = metadata.name or metadata.generate_name
        if not name and target.gvk.group not in _REVIEW_GROUPS:
            message = f"this {target.gvk.kind} has no name: set metadata.name or metadata.generate_name"
            raise self._refusal(target, metadata.namespace, "", message)
        check_segment("namespace", metadata.namespace)
        return Subject(target, self._required_namespace(target, metadata.namespace, name), metadata.name)

    @cached_property
    def default_write(self) -> WriteOptions:
        """The options of a write without options of its own."""
        return self.write_options()

    def write_options(self, dry_run: bool = False, field_owner: str = "", field_validation: str = "") -> WriteOptions:
        defaults = self.defaults
        return WriteOptions(
            dry_run=dry_run or defaults.dry_run,
            field_manager=field_owner or defaults.field_owner,
            field_validation=field_validation or defaults.field_validation,
        )

    def apply_options(self, subject: Subject, field_owner: str, *, dry_run: bool, force: bool) -> WriteOptions:
        """The options of an apply, which needs a field owner. Raises BadRequest."""
        write = replace(self.write_options(dry_run, field_owner), force=force)
        if not write.field_manager:
            message = "apply needs a field owner: pass field_owner=…, or use client.with_field_owner(…)"
            raise add_subject(BadRequest(message), subject)
        return write

    async def call(self, subject: Subject, request: APIRequest) -> Response:
        try:
            if tracing.active() is None:
                response = await self.transport.call(request)
            else:
                with _traced(request):
                    response = await self.transport.call(request)
        except ApiError as error:
            raise await self._explained(error, subject, request) from error.__cause__
        self._warn_all(subject, response.warnings)
        if request.verb is not Verb.DELETE and request.subresource in ANSWERED_WHOLE:
            subject.kind.expected.check_object(response.body, namespace=request.namespace, name=subject.name)
        return response

    async def list(self, subject: Subject, request: APIRequest) -> Page:
        try:
            with _traced(request):
                page = await self.transport.list(request)
        except ApiError as error:
            raise await self._explained(error, subject, request) from error.__cause__
        self._warn_all(subject, page.warnings)
        if request.verb is Verb.LIST:
            subject.kind.expected.check_page(page)
        return page

    @asynccontextmanager
    async def watch(self, subject: Subject, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with AsyncExitStack() as stack:
            try:
                events = await stack.enter_async_context(self.transport.watch(request))
            except ApiError as error:
                raise await self._explained(error, subject, request) from error.__cause__
            yield events  # errors of the caller's block are not errors of this call

    def request(self, subject: Subject, **parts: Any) -> APIRequest:
        target = subject.kind
        if self.defaults.fences is not None and parts["verb"] not in READS:
            parts["fences"] = self.defaults.fences()
        return APIRequest(
            resource=target.resource,
            namespace=subject.namespace,
            form=target.form,
            user_agent=self.defaults.user_agent,
            **parts,
        )

    async def _explained(self, error: ApiError, subject: Subject, request: APIRequest) -> PilotageError:
        """The error, with the kind and object of the call; a 404 may be about the kind and not about the object."""
        gvk, subresource = subject.kind.gvk, request.subresource
        if isinstance(error, NotFound):
            details = error.status.details
            if subresource and subresource not in (await self.catalogue.mapping(gvk)).subresources:
                hint = ": a class has one with @resource(status=True)" if subresource == "status" else ""
                what = f"{gvk.kind} of {gvk.api_version} has no subresource {subresource} on this server"
                return NoMatch(what + hint)
            if details is None or not details.name:  # the path is unknown, so it is the kind that is missing
                return not_served(gvk)
        elif isinstance(error, BadRequest | Invalid | InternalError | RequestTooLarge):
            from pilotage.client.advice import add_advice  # only for errors

            add_advice(error, request, gvk)
        return add_subject(error, subject)

    def _required_namespace(self, target: KindTarget[Any], namespace: str, name: str) -> str:
        if not target.namespaced:
            return ""
        chosen = self._namespace(target, namespace or self.defaults.namespace, name)
        if not chosen:
            kind = target.gvk.kind
            raise self._refusal(
                target,
                "",
                name,
                f'{kind} "{name}" is namespaced, and no namespace is given: pass namespace=…, set metadata.namespace, '
                "or use client.with_namespace(…)",
            )
        return chosen

    def _namespace(self, target: KindTarget[Any], namespace: str, name: str) -> str:
        fixed = self.defaults.namespace
        if fixed and namespace != fixed:
            kind = target.gvk.kind
            raise self._refusal(
                target, namespace, name, f'{kind} "{name}" is in namespace {namespace}, but this client is for {fixed}'
            )
        return namespace

    def _refusal(self, target: KindTarget[Any], namespace: str, name: str, message: str) -> ApiError:
        return add_subject(BadRequest(message), Subject(target, namespace, name))

    def _warn_all(self, subject: Subject, warnings: tuple[str, ...]) -> None:
        for text in warnings:
            self.warn(ServerWarning(text, subject.kind.gvk, subject.namespace, subject.name))


def _traced(request: APIRequest) -> AbstractContextManager[object]:
    """A span around a call to the API server, if tracing is on."""
    traces = tracing.active()
    if traces is None:
        return _UNTRACED
    resource = request.resource
    attributes: dict[str, str | int | bool | list[str]] = {
        "k8s.verb": request.verb.value,
        "k8s.group": resource.group,
        "k8s.version": resource.version,
        "k8s.resource": resource.resource,
        "k8s.subresource": request.subresource,
        "k8s.namespace.name": request.namespace,
        "k8s.object.name": request.name,
    }
    name = f"{resource.resource}/{request.subresource}" if request.subresource else resource.resource
    found = {key: value for key, value in attributes.items() if value}
    return traces.span(f"{request.verb.value} {name}", found, client=True)


def add_subject(error: ApiError, subject: Subject) -> ApiError:
    """Add the kind and object of the call to an error."""
    gvk = subject.kind.gvk
    error.group, error.kind = gvk.group, gvk.kind
    error.namespace, error.name = subject.namespace, subject.name
    return error
