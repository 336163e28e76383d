"""One API server as a program sees it: embedded in the process, remote, or none."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pilotage.client.client import Client
from pilotage.cluster.apiserver import (
    OFF_BY_DEFAULT,
    APIServer,
    EmbeddedAPIServer,
    NoAPIServer,
    RemoteAPIServer,
    SharedAPIServer,
    no_server_to_watch,
)
from pilotage.cluster.events import EventAPI, EventBroadcaster, EventRecorder
from pilotage.cluster.fencing import FencedTransport
from pilotage.cluster.recording import attach_recorder
from pilotage.cluster.refusals import Refusals
from pilotage.cluster.routing import Aggregation, RoutedTransport
from pilotage.cluster.writes import TrackedTransport, WriteTracker
from pilotage.errors import InvalidDefinition
from pilotage.history.tapes import taped
from pilotage.meta.bounds.texts import texts
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.mapping.scheme import Scheme
from pilotage.meta.models import Resource
from pilotage.meta.scalars import times
from pilotage.meta.validation.names import tenant_problem
from pilotage.rest.listing import ListerWatcher
from pilotage.types import builtin

if TYPE_CHECKING:
    from pilotage.cache.cache import Cache
    from pilotage.cache.options import InformerOptions
    from pilotage.cache.plan import CacheOptions
    from pilotage.cluster.cachedclient import CachedClient, CachedClientOptions
    from pilotage.meta.forms import Kind
    from pilotage.rest.fence import Fences
    from pilotage.rest.transport import Transport
    from pilotage.server.registry import Registry
    from pilotage.storage.interface import Storage


class Cluster:
    """Make one with `embedded`, `connect` or `none`; it is open inside `async with`. A Manager opens the one given."""

    def __init__(
        self, server: APIServer, scheme: Scheme | None = None, clock: times.Clock = times.system_clock
    ) -> None:
        from pilotage.client.restmapper import DynamicRESTMapper

        self._server = server
        self._exits = AsyncExitStack()
        self._client: Client | None = None
        self._thread: int | None = None
        self._transport: TrackedTransport | None = None
        self._untracked: Client | None = None  # of informers, which report themselves what they are refused
        self._aggregations: dict[str, Aggregation] = {}
        self._wrappers: list[Callable[[Transport], Transport]] = []
        self._sibling_wrappers: list[Callable[[Transport], Transport]] = []
        self._clock = clock
        self._events = EventBroadcaster(clock=clock)
        self.scheme = scheme or Scheme(fallback=builtin.type_for)
        self.rest_mapper = DynamicRESTMapper()
        self.user_agent = "pilotage"
        """The name of the program in its requests: in managed fields, in audit logs and in metrics of the API server.
        Set it before the cluster is opened."""
        self.writes = WriteTracker()
        """What was written through any client of this cluster."""
        self.refusals = Refusals()
        """The permissions that were refused to the clients of this cluster."""
        self.conversions: dict[str, Document] = {}
        """The `spec.conversion` of CRDs by their names: the webhooks of this program, which `install` registers. Empty
        where this program does not serve the webhook that it has."""
        self.on_cached_read: Callable[[Kind], Awaitable[None]] | None = None
        """Called with the kind before each read from a cache of this cluster, which may send no request. Set it before
        the cluster is opened."""
        attach_recorder(self)

    @classmethod
    def embedded(
        cls,
        storage: str | Storage = "memory:",
        *,
        tenant: str = "default",
        scheme: Scheme | None = None,
        clock: times.Clock | None = None,
        enable_admission_plugins: Iterable[str] = (),
        disable_admission_plugins: Iterable[str] = (),
        encryption_keys: str = "",
        audit_log_path: str = "",
        audit_policy_file: str = "",
        service_cluster_ip_range: Iterable[str] = (),
        controllers: Iterable[str] = ("*",),
    ) -> Cluster:
        """An API server in this process.

        `storage` is `memory:`, `sqlite:PATH` or `etcd://HOST:PORT`, which the cluster opens and closes, or a Storage,
        which the caller closes. Each `tenant` of a storage sees only its own objects. `scheme` has the classes of
        kinds. `clock` returns the server's time, with a time zone, for creation and deletion times, the expiry of
        events, leases and recorded events. The default is the machine's time, or the virtual time of
        `pilotage.testing.loop` where that loop runs. `enable_admission_plugins` and `disable_admission_plugins` are
        kube-apiserver's flags; the plugin ServiceAccount is off unless it is enabled. `encryption_keys` is a file with
        keys, or `exec:COMMAND`: Secrets are then encrypted where they are stored. `audit_log_path` is a file to which
        the requests of this program are appended, and `audit_policy_file` selects them, as for `pilotage serve`.
        `service_cluster_ip_range` has the ranges of the addresses of Services in a new cluster, one of each family
        (default: 10.0.0.0/16). `controllers` is kube-controller-manager's flag:
        `["*", "-garbage-collector-controller"]` leaves garbage collection to a controller of your own.
        """
        if problem := tenant_problem(tenant):
            raise InvalidDefinition(problem)
        chosen = clock or times.system_clock
        enable = texts(enable_admission_plugins, "enable_admission_plugins")
        disabled = texts(disable_admission_plugins, "disable_admission_plugins")
        disable = (*disabled, *(name for name in OFF_BY_DEFAULT if name not in enable))
        audit = None
        if audit_log_path or audit_policy_file:
            from pilotage.cluster.auditing import audit_options

            audit = audit_options(audit_log_path, audit_policy_file)
        server = EmbeddedAPIServer(
            storage,
            tenant,
            chosen,
            enable=enable,
            disable=disable,
            encryption_keys=encryption_keys,
            audit=audit,
            service_ranges=texts(service_cluster_ip_range, "service_cluster_ip_range"),
            controllers=texts(controllers, "controllers"),
        )
        return cls(server, scheme, chosen)

    @classmethod
    def connect(
        cls,
        url: str = "",
        *,
        token: str = "",
        ca_file: str = "",
        kubeconfig: str = "",
        context: str = "",
        scheme: Scheme | None = None,
    ) -> Cluster:
        """A remote API server: the one at `url` (`https://127.0.0.1:6443`), with a bearer `token` and the `ca_file` of
        the authority that signed its certificate. `scheme` has the classes of kinds.

        Without a `url` it is found as kubectl and controller-runtime do: by the file `kubeconfig`, by the files in
        KUBECONFIG, by the service account of the Pod that this runs in, by `~/.kube/config`. `context` selects one of
        the contexts of a kubeconfig.
        """
        from pilotage.client import config
        from pilotage.client.credentials.credentials import Material, StaticCredentials

        if not url:
            if token or ca_file:
                raise InvalidDefinition("token and ca_file need a url; a kubeconfig has its own credentials")
            return cls(RemoteAPIServer(config.load(kubeconfig, context)), scheme)
        if kubeconfig or context:
            raise InvalidDefinition("give either a url or a kubeconfig and context, not both")
        return cls(RemoteAPIServer(config.Config(url, StaticCredentials(Material(token)), ca_file=ca_file)), scheme)

    @classmethod
    def none(cls, *, scheme: Scheme | None = None) -> Cluster:
        """No API server. Its client refuses everything; caches work for kinds whose informers are injected.

        `scheme` has the classes of kinds.
        """
        return cls(NoAPIServer(), scheme)

    def sibling(self, *, scheme: Scheme | None = None) -> Cluster:
        """Another cluster on the same API server, for a program beside this one in the process: with clients, caches
        and wrappers of its own, and with the classes of this cluster, or those of `scheme`. Caches of both wait for the
        writes of both. Open it while this cluster is open."""
        server = SharedAPIServer(self._server) if isinstance(self._server, EmbeddedAPIServer) else self._server
        made = Cluster(server, scheme or self.scheme, self._clock)
        made.writes = self.writes
        made._wrappers += self._sibling_wrappers
        return made

    @property
    def client(self) -> Client:
        """Reads and writes live."""
        if self._client is None:
            raise InvalidDefinition("the cluster is not open: use it inside `async with cluster:`")
        return self._client

    def clock(self) -> datetime:
        """The current time, with a time zone: the embedded server's, else the machine's."""
        return taped(self._clock)

    @property
    def registry(self) -> Registry:
        """The embedded API server itself, for programs that serve it over HTTP or gRPC."""
        if not isinstance(self._server, EmbeddedAPIServer):
            raise InvalidDefinition("only an embedded cluster has its registry in this process")
        return self._server.registry

    @property
    def transport(self) -> Transport:
        """The transport of its clients, for programs that work with requests and not with objects."""
        if self._transport is None:
            raise InvalidDefinition("the cluster is not open: use it inside `async with cluster`")
        return self._transport

    async def check(self) -> None:
        """Raise StorageError if the embedded API server cannot write now. A remote one has its own readiness."""
        if isinstance(self._server, EmbeddedAPIServer):
            await self._server.registry.check()

    async def review_refusals(self) -> None:
        """Ask the server (SelfSubjectAccessReview) whether it now grants the permissions that it has refused."""
        if self.refusals and self._transport is not None:
            await self.refusals.review(self._transport)

    def busy(self) -> Sequence[str]:
        """The work of the embedded API server that earlier writes caused and that is not finished, as sentences:
        objects that it deletes with their owner, their namespace or their definition. Empty for a remote server, which
        does not report it."""
        return self._server.registry.busy() if self.is_open and isinstance(self._server, EmbeddedAPIServer) else ()

    @property
    def server_url(self) -> str:
        """The URL of a remote API server; empty for an embedded one, or none."""
        return self._server.url if isinstance(self._server, RemoteAPIServer) else ""

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context or of the Pod that this runs in; empty if neither has one."""
        return self._server.namespace

    @property
    def is_open(self) -> bool:
        return self._client is not None

    def aggregate(self, aggregation: Aggregation) -> None:
        """Route a group of kinds to another server, for all clients and caches of this cluster.

        Reads, writes and informers of that group go there, and its kinds are known without discovery. Call it before
        the group is used. The same server may be added again; another one is refused.
        """
        known = self._aggregations.get(aggregation.group)
        if known is not None and known.transport is not aggregation.transport:
            raise InvalidDefinition(
                f"{aggregation.group} is routed to another server already, and a group has one server: managers that "
                "share a cluster must share the connection too"
            )
        self._aggregations[aggregation.group] = aggregation
        self.rest_mapper.replace([*aggregation.mappings, *self._mappings_but(aggregation.group)])

    @property
    def aggregated_groups(self) -> frozenset[str]:
        """The groups that other servers serve."""
        return frozenset(self._aggregations)

    def withdraw(self, aggregation: Aggregation) -> None:
        """Stop routing the group to that server. A group that is not aggregated is not changed."""
        known = self._aggregations.get(aggregation.group)
        if known is not None and known.transport is aggregation.transport:
            del self._aggregations[aggregation.group]
            self.rest_mapper.replace(self._mappings_but(aggregation.group))  # discovery may find another server for it

    def wrap_transport(self, wrapper: Callable[[Transport], Transport]) -> None:
        """Pass all requests to the API server through the transport that `wrapper` returns, as client-go's
        `WrapTransport` does: the transports of clients, caches, leases and recorded events. `wrapper` is called once
        for each connection: leases on a remote server have one of their own, on the event loop of the supervisor. Call
        it before the cluster is opened."""
        if self.is_open:
            raise InvalidDefinition("the cluster is open already: wrap its transport before it is opened")
        self._wrappers.append(wrapper)

    def wrap_sibling_transports(self, wrapper: Callable[[Transport], Transport]) -> None:
        """The same for the requests of its siblings that are made later."""
        self._sibling_wrappers.append(wrapper)

    async def install(self, *types: type[Resource], manifests: Iterable[Mapping[str, Any]] = ()) -> None:
        """Apply the CRDs of these types and wait until they are served; then apply `manifests`, documents of other
        objects, such as the objects that `pilotage.webhook.manifests` returns."""
        from pilotage.cluster.installation import apply_manifests, install

        await install(self.client, types, self.conversions)
        await apply_manifests(self.client, manifests)

    async def lister_watcher_for(self, options: InformerOptions) -> ListerWatcher:
        """The list-watch for an informer with these options."""
        aggregation = self._aggregations.get(options.gvk.group)
        if aggregation is not None:
            return await aggregation.lister_watcher_for(options)
        if isinstance(self._server, NoAPIServer):
            raise no_server_to_watch(str(options.gvk))
        return await (self._untracked or self.client).lister_watcher(
            options.kind, namespace=options.namespace, silence_seconds=self._server.silence_seconds
        )

    def new_cache(self, options: CacheOptions | None = None) -> Cache:
        """A cache of this cluster's objects. It is filled while its `run` runs."""
        from pilotage.cache.cache import Cache

        return Cache(
            self.lister_watcher_for, options, self.scheme, namespaced=self._namespaced, on_read=self.on_cached_read
        )

    def cached_client(
        self, cache: Cache, options: CachedClientOptions | None = None, *, fences: Fences | None = None
    ) -> CachedClient:
        """A client that reads from the cache and writes live, and reads its own writes.

        `fences` returns the fences of each of its writes.
        """
        from pilotage.cluster.cachedclient import CachedClient

        client = self.client if fences is None else self.client.with_fences(fences)
        return CachedClient(client, cache, self.writes, options)

    def _client_of(self, transport: Transport) -> Client:
        return Client(
            transport,
            scheme=self.scheme,
            rest_mapper=self.rest_mapper,
            user_agent=self.user_agent,
            thread=self._thread,
        )

    def separate_client(self) -> tuple[Client, Transport] | None:
        """A client for another event loop, on a connection of its own, and its transport, which the caller closes on
        that loop. None if the API server is in this process, or if there is none."""
        if not isinstance(self._server, RemoteAPIServer):
            return None
        transport = self._wrapped(self._server.separate_transport())
        return Client(transport, scheme=self.scheme, user_agent=self.user_agent), transport

    def event_recorder_for(self, name: str, *, api_version: EventAPI = "v1") -> EventRecorder:
        """A recorder of events with this name as their source. They are written while the cluster is open.

        `api_version` is the API that they are written to: `v1`, where a repeated event is counted and similar ones are
        combined, or `events.k8s.io/v1`, where repeated events form a series. The server shows them in both.
        """
        return self._events.recorder(name, api_version)

    async def __aenter__(self) -> Cluster:
        if self._client is not None:
            raise InvalidDefinition("the cluster is open already")
        self._thread = threading.get_ident()
        async with AsyncExitStack() as exits:
            routed = RoutedTransport(self._wrapped(await self._server.open(exits)), self._aggregations)
            transport = self._transport = TrackedTransport(FencedTransport(routed, self), self.writes, self.refusals)
            if isinstance(self._server, EmbeddedAPIServer) and not isinstance(self._server, SharedAPIServer):
                self._server.registry.observe(self.writes.note)
            mapper = self.rest_mapper.attach(transport, immediate=self._server.immediate)
            await exits.enter_async_context(mapper)
            await exits.enter_async_context(self._events.attach(transport))
            self._client = self._client_of(transport)
            self._untracked = self._client_of(routed)
            self._exits = exits.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._client = self._untracked = None
        await self._exits.aclose()

    def _wrapped(self, transport: Transport) -> Transport:
        for wrapper in self._wrappers:
            transport = wrapper(transport)
        return transport

    def _mappings_but(self, group: str) -> list[RESTMapping]:
        return [one for one in self.rest_mapper.mappings if one.resource.group != group]

    async def _namespaced(self, gvk: GroupVersionKind) -> bool:
        return (await self.client.rest_mapping(gvk)).namespaced
