"""The client: reads and writes objects of an API server, in process or over HTTP."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from msgspec.structs import replace

from pilotage.client.reader import Reader
from pilotage.client.session import Defaults, ServedKinds, Session
from pilotage.client.transport.warnings import LoggedOnce, WarningHandler
from pilotage.client.writer import Writer
from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.meta.bounds.recent import Recent
from pilotage.meta.forms import Kind, Object
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapping.mapper import RESTMapper, RESTMapping
from pilotage.meta.mapping.scheme import Scheme
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import Transport
from pilotage.rest.fence import Fences
from pilotage.rest.transport import SILENCE_SECONDS

if TYPE_CHECKING:  # loaded on use: a program that reads an object or two starts sooner
    from pilotage.client.subresources import SubresourceClient
    from pilotage.rest.listing import RestListerWatcher

R = TypeVar("R", bound=Resource)
_MOST_FUTILE = 10_000
"""How many writes without an effect are remembered."""


class Client(Reader, Writer):
    """Reads and writes objects live: `await client.get(Database, "orders", namespace="shop")`.

    Every ApiError that a call raises has the `group`, `kind`, `namespace` and `name` of the call's object. A kind
    that the server does not have raises NoMatch. Warnings of the server go to `warning_handler`, which logs each once
    unless it is given. A `rest_mapper` that is given is used as it is; without one, the server is asked.
    `scheme` has the classes of kinds, and `user_agent` is the name of the program in the requests. With a
    `thread`, the id of one, a call in another thread raises InvalidDefinition.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        scheme: Scheme | None = None,
        rest_mapper: RESTMapper | None = None,
        user_agent: str = "pilotage",
        field_owner: str = "",
        warning_handler: WarningHandler | None = None,
        thread: int | None = None,
    ) -> None:
        self._session = Session(
            transport,
            scheme if scheme is not None else Scheme(),
            ServedKinds(_mapper_of(transport) if rest_mapper is None else rest_mapper, thread),
            Defaults(user_agent=user_agent, field_owner=field_owner),
            warning_handler if warning_handler is not None else LoggedOnce(),
            Recent(_MOST_FUTILE),
        )

    @property
    def scheme(self) -> Scheme:
        """The classes of kinds."""
        return self._session.scheme

    @property
    def rest_mapper(self) -> RESTMapper:
        """Maps kinds to the resources that the server serves. A cluster's mapper is filled when it opens; see
        `DynamicRESTMapper`."""
        return self._session.catalogue.mapper

    @property
    def futile_writes(self) -> Recent[tuple[str, int], int]:
        """The writes that had no effect, of this client and those made from it: see `client.futile`."""
        return self._session.futile

    @property
    def api_reader(self) -> Client:
        """A client with the same defaults that reads from the server: this one, unless it reads from a cache."""
        return self

    async def namespace_of(self, obj: Object) -> str:
        """The namespace in which a call looks for the object; empty for cluster-scoped kinds."""
        return (await self._session.subject_of(obj)).namespace

    async def rest_mapping(self, gvk: GroupVersionKind) -> RESTMapping:
        """Where a kind is served; asks the server where it is not known yet, and raises NoMatch."""
        return await self._session.catalogue.mapping(gvk)

    async def has_subresource(self, gvk: GroupVersionKind, subresource: str) -> bool:
        """Whether the server serves this subresource of a kind."""
        return subresource in (await self.rest_mapping(gvk)).subresources

    async def lister_watcher(
        self, kind: Kind, *, namespace: str = "", silence_seconds: Seconds = SILENCE_SECONDS
    ) -> RestListerWatcher:
        """The lister-watcher of a kind, for an informer or a reflector.

        A watch that is silent for `silence_seconds` is closed and opened again.
        """
        from pilotage.rest.listing import RestListerWatcher

        target = await self._session.catalogue.target(kind)
        return RestListerWatcher(
            self._session.transport,
            target.resource,
            namespace if target.namespaced else "",
            target.form,
            seconds(silence_seconds, "silence_seconds"),
            user_agent=self._session.defaults.user_agent,
            gvk=target.gvk,
        )

    def with_namespace(self, namespace: str) -> Self:
        """A client for one namespace: calls that name no namespace use it, and calls that name another one fail."""
        return self._with(self._session.with_defaults(namespace=namespace))

    def dry_run(self) -> Self:
        """A client whose writes are dry runs: the server does everything but store."""
        return self._with(self._session.with_defaults(dry_run=True))

    def with_field_owner(self, field_owner: str) -> Self:
        """A client that writes with this field manager."""
        return self._with(self._session.with_defaults(field_owner=field_owner))

    def with_field_validation(self, field_validation: str) -> Self:
        """A client that sends this field validation (Strict, Warn or Ignore), which applies to unknown and duplicate
        fields."""
        return self._with(self._session.with_defaults(field_validation=field_validation))

    def with_fences(self, fences: Fences) -> Self:
        """A client whose writes carry the fences that `fences` returns, wherever it is called."""
        return self._with(self._session.with_defaults(fences=fences))

    @overload
    def subresource(self, name: str, body: type[R]) -> SubresourceClient[R]: ...
    @overload
    def subresource(self, name: str, body: None = None) -> SubresourceClient[Unstructured]: ...
    def subresource(self, name: str, body: type[Resource] | None = None) -> SubresourceClient[Any]:
        """Calls for a subresource whose body is of another class than the object: `subresource("scale", Scale)`.

        Without a class its bodies are Unstructured.
        """
        from pilotage.client.subresources import SubresourceClient

        return SubresourceClient(self._session, name, body)

    def as_user(
        self, name: str, *, groups: Sequence[str] = (), uid: str = "", extra: Mapping[str, Sequence[str]] | None = None
    ) -> Client:
        """A client that impersonates another user, with the permissions of that user. It reads from the server.

        `groups`, `uid` and `extra` describe the user; the group `system:authenticated` and the groups of service
        accounts need not be given. In process, calls of other clients are not authorized, but calls of this one are, by
        the roles and bindings of the embedded server. Over HTTP, the user of the kubeconfig needs the permission to
        impersonate.
        """
        from pilotage.rest.users import ActingTransport, acting_user

        user = acting_user(name, groups, uid=uid, extra=extra)
        return self.api_reader._with(
            replace(
                self._session, transport=ActingTransport(self._session.transport, user), futile=Recent(_MOST_FUTILE)
            )
        )

    def _with(self, session: Session) -> Self:
        made = copy.copy(self)
        made._session = session
        return made


def _mapper_of(transport: Transport) -> RESTMapper:
    from pilotage.client.restmapper import DynamicRESTMapper

    return DynamicRESTMapper(transport)
