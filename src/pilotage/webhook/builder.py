"""The builder: declares the webhooks of a kind, and adds them to the manager's webhook server.

WebhookBuilder(manager).for_(GuestBook).with_defaulter(defaulter).with_validator(validator).complete()
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from pilotage.errors import InvalidDefinition
from pilotage.meta import forms
from pilotage.meta.forms import KindOf, O
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Resource, plural_of
from pilotage.telemetry.logs import logger
from pilotage.types import builtin
from pilotage.webhook.admission import CREATE, DELETE, UPDATE, AdmissionHandler
from pilotage.webhook.conversion.conversions import Conversion, Conversions, conversion_of
from pilotage.webhook.conversion.declaration import ConversionDeclaration
from pilotage.webhook.declarations import (
    Declaration,
    RegistrationOptions,
    WebhookRule,
    check_names,
    default_name,
    program_of,
)
from pilotage.webhook.server import WebhookServer
from pilotage.webhook.typed import AnyDefaulter, AnyValidator, defaulting, validating
from pilotage.webhook.webhook import AdmissionWebhook, ContextFunction, LogFields, WebhookOptions

log = logger("controller-runtime.builder")

K = TypeVar("K", bound=forms.Object)

_OTHER_KINDS = {"scale": "Scale", "eviction": "Eviction", "binding": "Binding", "token": "TokenRequest"}
"""Subresources whose objects are of a kind of their own."""
_PATH = re.compile(r"(/[a-zA-Z0-9-_]+)+|/")


@dataclass(frozen=True, slots=True)
class _Handler:
    """What a webhook does: its `role`, the code of the program, and a function that makes the handler of a kind."""

    role: str
    code: object
    make: Callable[[Any], AdmissionHandler]
    path: str
    operations: Sequence[str] = ()
    """The operations that it is called for; empty: the operations of the registration, or the usual ones."""


class WebhookManager(Protocol):
    """What the builder needs of a manager."""

    @property
    def webhook_server(self) -> WebhookServer: ...


class WebhookBuilder(Generic[O]):
    """Builds the webhooks of one kind step by step.

    Without a path of their own they are at `/mutate-GROUP-VERSION-KIND` and `/validate-GROUP-VERSION-KIND`, as in
    kubebuilder. `complete` adds them to the manager, which serves and registers them.
    """

    def __init__(self, manager: WebhookManager) -> None:
        if manager is None:
            raise InvalidDefinition("a WebhookBuilder needs a manager: WebhookBuilder(manager)")
        self._manager = manager
        self._kind: forms.Kind | None = None
        self._handlers: dict[bool, _Handler] = {}
        """That of the mutating webhook (True) and of the validating one."""
        self._name = ""
        self._options = WebhookOptions()
        self._registration = RegistrationOptions()
        self._spokes: list[Conversion] = []
        self._lossless = False

    def for_(self, kind: KindOf[K]) -> WebhookBuilder[K]:
        """The kind of the webhooks' objects: a class, or a GroupVersionKind for documents."""
        if self._kind is not None:
            raise InvalidDefinition(
                f"for_ was called already, with {forms.gvk_of(self._kind).kind}; use a second WebhookBuilder"
            )
        self._kind = kind
        forms.gvk_of(self._kind)  # raises if it is not a kind
        return cast("WebhookBuilder[K]", self)

    def with_defaulter(
        self,
        defaulter: AnyDefaulter[O],
        *,
        path: str = "",
        operations: Sequence[str] = (),
        remove_unknown_fields: bool = False,
    ) -> Self:
        """Call `defaulter.default(obj)` for creates and updates, and send what it has changed.

        `path` replaces the default path, and `operations` (as `["CREATE"]`) the writes that it is called for.
        With `remove_unknown_fields`, fields that the class does not know are removed.
        """

        def make(kind: KindOf[O]) -> AdmissionHandler:
            return defaulting(kind, defaulter, remove_unknown_fields=remove_unknown_fields)

        return self._with(_Handler("defaulter", defaulter, make, path, operations), mutating=True)

    def with_validator(self, validator: AnyValidator[O], *, path: str = "", operations: Sequence[str] = ()) -> Self:
        """Call `validate_create`, `validate_update` or `validate_delete` of the validator for each write.

        `path` replaces the default path, and `operations` (as `["DELETE"]`) the writes that it is called for.
        """
        handler = _Handler("validator", validator, lambda kind: validating(kind, validator), path, operations)
        return self._with(handler, mutating=False)

    def with_mutating_handler(
        self, handler: AdmissionHandler, *, path: str = "", operations: Sequence[str] = ()
    ) -> Self:
        """Call a function with each AdmissionRequest; it returns an AdmissionResponse, which may have patches.

        `path` replaces the default path, and `operations` the writes that it is called for.
        """
        return self._with_function("mutating handler", handler, path, operations, mutating=True)

    def with_validating_handler(
        self, handler: AdmissionHandler, *, path: str = "", operations: Sequence[str] = ()
    ) -> Self:
        """Call a function with each AdmissionRequest; it returns an AdmissionResponse without patches.

        `path` replaces the default path, and `operations` the writes that it is called for.
        """
        return self._with_function("validating handler", handler, path, operations, mutating=False)

    def with_conversion(self, *spokes: type[Resource] | Conversion, lossless: bool = False) -> Self:
        """Convert other versions of the kind to and from the one of `for_`, which is the hub.

        Each is a class with the methods `convert_to(self)` and `convert_from(cls, hub)`, or a `Conversion` with two
        functions. With `lossless`, what a version cannot express is kept in an annotation, and restored on the way
        back. The CRD names this program's webhook when `Cluster.install` writes it, or as soon as it is there.
        """
        if not spokes:
            raise InvalidDefinition("with_conversion needs the classes of the other versions: with_conversion(JobV1)")
        if self._spokes:
            raise InvalidDefinition("with_conversion was called already; pass all versions in one call")
        self._spokes = [conversion_of(spoke) for spoke in spokes]
        self._lossless = lossless
        return self

    def with_options(self, options: RegistrationOptions) -> Self:
        """How the webhooks are registered: failure policy, selectors, match conditions, subresources …"""
        self._registration = options
        return self

    def with_context_func(self, function: ContextFunction) -> Self:
        """A block that is entered around each call, made from the HTTP request (None if there is none)."""
        self._options = replace(self._options, context_func=function)
        return self

    def with_log_fields(self, function: LogFields) -> Self:
        """The fields of log lines inside a call, made from the AdmissionRequest."""
        self._options = replace(self._options, log_fields=function)
        return self

    def recover_panic(self, recover: bool = True) -> Self:
        """Whether an unexpected error of a handler is answered with 500 (the default), or ends the manager."""
        self._options = replace(self._options, recover_panic=recover)
        return self

    def named(self, name: str) -> Self:
        """The end of the names of the configurations; by default the version, the resource and its group.

        The default begins with the name of the program for a built-in kind. A custom resource of another project needs
        a name: another program with webhooks for it has the same default.
        """
        self._name = name
        return self

    def complete(self) -> None:
        """Serve and register the webhooks. A path that is served already is left as it is."""
        if self._kind is None:
            raise InvalidDefinition("a WebhookBuilder needs for_(…), which names the kind")
        kind = self._kind
        if any(each.role in ("defaulter", "validator") for each in self._handlers.values()):
            self._check_subresources(kind)
        if not self._handlers and not self._spokes:
            raise InvalidDefinition(
                f"the webhooks of {forms.gvk_of(kind).kind} do nothing: add with_defaulter(…), "
                "with_validator(…), with_mutating_handler(…), with_validating_handler(…) or with_conversion(…)"
            )
        made = {mutating: self._handlers[mutating].make(kind) for mutating in sorted(self._handlers, reverse=True)}
        if self._spokes:
            self._add_conversions(kind)
        for mutating, handler in made.items():
            self._add(kind, handler, self._handlers[mutating], mutating=mutating)

    def _with_function(
        self, role: str, handler: AdmissionHandler, path: str, operations: Sequence[str], *, mutating: bool
    ) -> Self:
        if not callable(handler):
            raise InvalidDefinition(f"{handler!r} cannot be a {role}: it must be a function of an AdmissionRequest")
        return self._with(_Handler(role, handler, lambda kind: handler, path, operations), mutating=mutating)

    def _with(self, handler: _Handler, *, mutating: bool) -> Self:
        known, role = self._handlers.get(mutating), handler.role
        check_names("operations", handler.operations)
        if known is not None and known.role == role:
            raise InvalidDefinition(f"there is a {role} already; a second one needs a WebhookBuilder of its own")
        if known is not None:
            raise InvalidDefinition(f"only one of a {role} and a {known.role} can be set")
        self._handlers[mutating] = replace(handler, path=_checked_path(handler.path))
        return self

    def _add_conversions(self, hub: forms.Kind) -> None:
        server = self._manager.webhook_server
        server.conversions.add(Conversions(hub, self._spokes, lossless=self._lossless))
        server.declare(ConversionDeclaration(f"{_plural(hub)}.{forms.gvk_of(hub).group}"))

    def _add(self, kind: forms.Kind, function: AdmissionHandler, handler: _Handler, *, mutating: bool) -> None:
        gvk = forms.gvk_of(kind)
        path = handler.path or webhook_path(gvk, mutating=mutating)
        server = self._manager.webhook_server
        if server.handles(path):
            log.info("A webhook is served at this path already", path=path)
            return
        server.declare(self._declaration(kind, path, handler, mutating=mutating))
        server.register(path, AdmissionWebhook(function, self._options))

    def _declaration(self, kind: forms.Kind, path: str, handler: _Handler, *, mutating: bool) -> Declaration:
        gvk, plural, options = forms.gvk_of(kind), _plural(kind), self._registration
        verb, usual = ("mutate", (CREATE, UPDATE)) if mutating else ("validate", (CREATE, UPDATE, DELETE))
        program = program_of(handler.code) if builtin.type_for(gvk) is not None else ""
        default = default_name(gvk, plural, mutating=mutating, program=program)
        name = f"{verb}.{self._name}" if self._name else default
        resources = [plural, *(f"{plural}/{subresource}" for subresource in options.subresources)]
        rule = WebhookRule((gvk.group,), (gvk.version,), resources, handler.operations or options.operations or usual)
        return Declaration(name, path, mutating, (rule,), options)

    def _check_subresources(self, kind: forms.Kind) -> None:
        """A class cannot hold the object of a subresource that is of another kind."""
        for subresource in self._registration.subresources:
            if isinstance(kind, type) and subresource in _OTHER_KINDS:
                raise InvalidDefinition(
                    f"the object of {_plural(kind)}/{subresource} is not a {forms.gvk_of(kind).kind}: use "
                    f"with_validating_handler(…), and request.decode({_OTHER_KINDS[subresource]})"
                )


def webhook_path(gvk: GroupVersionKind, *, mutating: bool) -> str:
    """The default path of a webhook, as kubebuilder makes it: `/mutate-apps-v1-deployment`."""
    verb = "mutate" if mutating else "validate"
    return f"/{verb}-{gvk.group.replace('.', '-')}-{gvk.version}-{gvk.kind.lower()}"


def _plural(kind: forms.Kind) -> str:
    """The resource of a kind. Without a class, the resource of a built-in kind is known, and others follow the
    rules."""
    known = kind if isinstance(kind, type) else builtin.type_for(forms.gvk_of(kind))
    return known.__resource__.plural if known is not None else plural_of(forms.gvk_of(kind).kind)


def _checked_path(path: str) -> str:
    if path and not _PATH.fullmatch(path):
        raise InvalidDefinition(
            f"{path!r} cannot be the path of a webhook: it must match {_PATH.pattern}, as /validate-books does"
        )
    return path
