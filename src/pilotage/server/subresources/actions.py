"""Dispatches requests to subresources that are actions or connections, and runs admission for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import ClassVar, Protocol

from msgspec.structs import replace

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server.admission import Attributes, Operation
from pilotage.server.catalogue.actions import action_of
from pilotage.server.catalogue.catalogue import body_info
from pilotage.server.context import RegistryContext
from pilotage.server.decoding import bodies
from pilotage.server.decoding.refusals import with_warnings
from pilotage.server.ownership.track import track_create
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.identity import set_namespace

SUCCESS = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'


class ActionHandler(Protocol):
    """Answers requests to actions."""

    async def call(self, info: ResourceInfo, request: APIRequest) -> Response:
        """Answer a request whose path and verb have been checked."""


class Actions:
    """Answers requests to actions with the handlers of their kinds."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context
        self._handlers: dict[str, ActionHandler] = {}

    async def call(self, info: ResourceInfo, request: APIRequest) -> Response:
        """Answer a request whose path and verb have been checked."""
        action = action_of(info, request)
        assert action is not None, "the caller has checked it"
        if action.handler not in self._handlers:
            module, _, name = action.handler.partition(":")
            self._handlers[action.handler] = getattr(import_module(module), name)(self._context)
        return await self._handlers[action.handler].call(info, request)


class BodyAction(ABC):
    """An action whose request has an object as its body, which is admitted and not stored."""

    kind: ClassVar[GroupVersionKind]
    """The kind of the body."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context

    async def call(self, info: ResourceInfo, request: APIRequest) -> Response:
        """Read the body, admit it, and act."""
        bodies.check_options(request)
        body = body_info(self.kind)
        document, problems = bodies.read(request, body)
        problems.report(request, body)
        self.prepare(request, document)
        warnings = await admit(self._context, info, request, document, body)
        with with_warnings(warnings):
            response = await self.act(info, request, document)
        return replace(response, warnings=(*response.warnings, *warnings))

    @abstractmethod
    def prepare(self, request: APIRequest, document: Document) -> None:
        """Check the body before it is admitted, and set what it lacks, in place."""

    @abstractmethod
    async def act(self, info: ResourceInfo, request: APIRequest, document: Document) -> Response:
        """Do what the body asks for."""


async def admit(
    context: RegistryContext,
    info: ResourceInfo,
    request: APIRequest,
    document: Document,
    body: ResourceInfo,
    operation: Operation = Operation.CREATE,
) -> tuple[str, ...]:
    """Run admission, which may change or reject the body of an action. Returns the warnings; an error has them, too."""
    admission, warnings = context.chain.of(info.group_resource), list[str]()
    if operation is Operation.CREATE:
        set_namespace(info, request, document["metadata"])
        track_create(body, request, document, now=context.now())
    attributes = Attributes(operation, request, document, None, warnings, info, body)
    with with_warnings(warnings):
        await admission.mutate(attributes)
        await admission.validate(attributes)
    return tuple(warnings)
