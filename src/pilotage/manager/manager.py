"""The manager: starts the runnables of a program in order, supervises them, and stops them in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pilotage.cache.cache import Cache
from pilotage.client.client import Client
from pilotage.cluster.cluster import Cluster
from pilotage.cluster.events import EventAPI, EventRecorder
from pilotage.errors import InvalidDefinition
from pilotage.http.health import Check, HealthHandler, ping
from pilotage.http.messages import Handler
from pilotage.manager import signals
from pilotage.manager.clusters import MemberCluster, check_new
from pilotage.manager.declared import Declared
from pilotage.manager.election.candidate import for_lease, new_candidate
from pilotage.manager.election.elector import LeaderCallbacks
from pilotage.manager.endpoints.readiness import readiness
from pilotage.manager.endpoints.server import (
    METRICS_LOGGER,
    METRICS_PATH,
    Routes,
    Server,
    ServingCertificate,
    metrics_handler,
)
from pilotage.manager.errors import AlreadyStarted, ManagerStopped
from pilotage.manager.lag import Lag
from pilotage.manager.lifecycle import Lifecycle
from pilotage.manager.options import ManagerOptions
from pilotage.manager.permissions import Permissions
from pilotage.manager.processes.child import add_probe
from pilotage.manager.runnables import AnyRunnable, name_of
from pilotage.manager.runs.beginning import Beginning, reconcilers_of
from pilotage.manager.runs.idleness import Idleness
from pilotage.manager.supervision.liveness import EVENT_LOOP
from pilotage.manager.supervision.supervisor import has_threads
from pilotage.manager.supervision.tasks import Supervision
from pilotage.manager.work import WorkTracker
from pilotage.meta.forms import Kind
from pilotage.meta.mapping.mapper import RESTMapper
from pilotage.meta.mapping.scheme import Scheme
from pilotage.net.sockets import parse_bind_address
from pilotage.rest import Fence
from pilotage.rest.refusal import MissingPermission
from pilotage.telemetry.logs import logger

if TYPE_CHECKING:
    from pilotage.cache.plan import CacheOptions
    from pilotage.device.client.clientset import Devices
    from pilotage.manager.namespaces import NamespaceSelection
    from pilotage.manager.shards.shards import Shards
    from pilotage.webhook.server import WebhookServer

log = logger("pilotage.manager")


class Manager:
    """Runs controllers and other runnables on one cluster. It is open inside `async with`, and opens the cluster.

        async with Manager(cluster, ManagerOptions(metrics_bind_address=":8080")) as manager:
            manager.add(...)
            await manager.start()

    `start` runs until a signal, a failure or its cancellation. `run_until_idle` is for programs that end by themselves.
    What still runs at the end of the block is shut down.
    """

    def __init__(self, cluster: Cluster, options: ManagerOptions | None = None) -> None:
        if not hasattr(type(cluster), "__aenter__"):
            raise InvalidDefinition(
                f"a manager needs a cluster (Cluster.embedded(), Cluster.connect()), not {cluster!r}"
            )
        self.cluster = cluster
        self.options = options if options is not None else ManagerOptions()
        self.work = WorkTracker(limit=self.options.max_active_work)
        """Active work: the controllers' reconciles and your own. A shutdown waits for it."""
        self.shards: Shards | None = None
        """The keys that this replica works on, with the option `shards`; None: all."""
        self.declared = Declared()
        """What the controllers of this manager were declared with; `pilotage rbac` reads it."""
        self.beginning = Beginning(self.clock)
        self._lifecycle = Lifecycle(self.work, self.options.graceful_shutdown_timeout, self.options.shutdown_progress)
        self._permissions = Permissions(self._own_permissions)
        self._namespaces: NamespaceSelection | None = None
        self._healthz: dict[str, Check] = {}
        self._readyz: dict[str, Check] = {}
        self._metrics_routes: dict[str, Handler] = {
            **self.options.metrics_extra_handlers,
            METRICS_PATH: metrics_handler(),
        }
        self._devices: Devices | None = None
        self._webhook_server: WebhookServer | None = None
        self._exits: AsyncExitStack | None = None
        self._cache: Cache | None = None
        self._client: Client | None = None
        self._lag: Lag | None = None
        self._supervision: Supervision | None = None
        self._servers: dict[str, Server] = {}
        self._started = False
        self._controller_names: set[str] = set()
        self._members: list[MemberCluster] = []
        self._readyz_members: dict[str, Check] = {}

    @property
    def client(self) -> Client:
        """Reads from the cache, writes live. `cluster.client` reads live."""
        if self._client is None:
            raise _closed()
        return self._client

    @property
    def api_reader(self) -> Client:
        """Reads live, past the cache."""
        return self.cluster.client

    @property
    def cache(self) -> Cache:
        """The cache that `client` reads from; filled once the manager has started."""
        if self._cache is None:
            raise _closed()
        return self._cache

    @property
    def scheme(self) -> Scheme:
        return self.cluster.scheme

    @property
    def rest_mapper(self) -> RESTMapper:
        return self.cluster.rest_mapper

    def clock(self) -> datetime:
        """The current time, with a time zone: the embedded server's, virtual time in tests, else the machine's."""
        return self.cluster.clock()

    @property
    def elected(self) -> asyncio.Event:
        """Set when this process leads; without an election, when it has started."""
        return self._lifecycle.elected

    @property
    def missing_permissions(self) -> tuple[MissingPermission, ...]:
        """What the API server refuses to the caches, clients and elections of this manager now."""
        return self._permissions.missing()

    @property
    def metrics_address(self) -> tuple[str, int]:
        """The address of the metrics server."""
        return self._server(_METRICS).address

    @property
    def health_probe_address(self) -> tuple[str, int]:
        """The address of the health probe server."""
        return self._server(_HEALTH).address

    @property
    def debug_address(self) -> tuple[str, int]:
        """The address of the debug server."""
        return self._server(_DEBUG).address

    @property
    def webhook_server(self) -> WebhookServer:
        """The server of the program's webhooks: that of the options, else one that is made on first use."""
        if self._webhook_server is None:
            from pilotage.manager.webhooks import environment
            from pilotage.webhook.server import WebhookServer

            server = self.options.webhook_server or WebhookServer(self.options.webhook_server_options)
            server.attach(lambda: environment(self.cluster))
            self.add(server)
            self._webhook_server = server
        return self._webhook_server

    def event_recorder_for(self, name: str, *, api_version: EventAPI = "v1") -> EventRecorder:
        """A recorder of events with `name` as their source, written to the API `api_version`: `v1` or
        `events.k8s.io/v1`."""
        self.declared.record_events(name, api_version)
        return self.cluster.event_recorder_for(name, api_version=api_version)

    def add(self, runnable: AnyRunnable) -> None:
        """Add a runnable. After `start` it starts at once; during a shutdown it is refused (ManagerStopped)."""
        self._lifecycle.add(runnable)

    async def remove(self, runnable: AnyRunnable, timeout: float | None = None) -> bool:
        """Stop a runnable and remove it; the manager and all others continue.

        A controller is stopped in order: it accepts nothing more, its running reconciles end, or are cancelled after
        `timeout` seconds (None: no limit). Its name may be used again, and `cache.remove_informer` drops the kinds that
        no other one needs. What has no `stop` is cancelled. Returns whether it ended by itself. InvalidDefinition if it
        was not added.
        """
        ended = await self._lifecycle.groups.remove(runnable, timeout)
        name = name_of(runnable)
        if all(entry.name != name for entry in self._lifecycle.groups.entries()):
            self._controller_names.discard(name)
        return ended

    def claim_controller_name(self, name: str) -> None:
        """Reserve a name, which metrics and logs use, for one controller. InvalidDefinition if another one has it."""
        if name in self._controller_names:
            raise InvalidDefinition(
                f"this manager has a controller {name!r} already, and metrics and logs could not distinguish the two: "
                'name one of them with named("…"), or allow it with skip_name_validation'
            )
        self._controller_names.add(name)

    def add_device_api(self, target: str | Devices = "") -> Devices:
        """Read and write GPUs through the Device API of this node: reads use the manager's cache, writes that server.

        All other kinds are read from the cluster as before. `target` is as for `device.connect`; that connection is
        closed with the manager, and the cluster then has no GPUs. `Devices` that are passed in are closed by the
        caller, and several managers of one cluster may share them. Before the start only.
        """
        from pilotage.manager.devices import attach, detach

        self._check_not_started("the Device API")
        devices = attach(self.cluster, target)
        if devices is not target:
            self._devices = devices
            if self._exits is not None:
                self._exits.push_async_callback(detach, devices, self.cluster)
        return devices

    async def run_while_leading(
        self,
        lease: str,
        lead: Callable[[], Coroutine[Any, Any, object]],
        *,
        callbacks: LeaderCallbacks | None = None,
        release_on_cancel: bool = False,
    ) -> None:
        """Run `lead` while this process holds another lease than the manager's own; see `LeaderElector.run`.

        `lease` is its name, in `leader_election_namespace`. Times, labels and where it is renewed are as for the
        manager's own. `callbacks` are called when the leadership changes; `release_on_cancel` releases it at the end.
        """
        election = for_lease(self.options, lease, callbacks)
        candidate = new_candidate(election, self.cluster, self._supervision, self.clock)
        await candidate.lead(lead, release_on_cancel)

    async def add_cluster(
        self, cluster: Cluster, *, name: str = "", cache: CacheOptions | None = None
    ) -> MemberCluster:
        """Work with another cluster, too: opened now unless it is open, with a cache and a client of its own.

        A controller watches it with `ControllerBuilder(manager).watches(kind, handler, cluster=member)`. Readiness and
        `run_until_idle` include its cache. It may be added while the manager runs. `name` is for logs and checks,
        and `cache` has the options of its cache.
        """
        if self._exits is None:
            raise _closed()
        name = name or f"cluster-{len(self._members) + 2}"
        check_new(cluster, name, self.cluster, self._members)
        if not cluster.is_open:
            await self._exits.enter_async_context(cluster)
        made = cluster.new_cache(cache)
        lag = Lag(made, cluster.writes, cluster.rest_mapper)
        self._exits.callback(lag.close)
        member = MemberCluster(name, cluster, made, cluster.cached_client(made, fences=self._fences), lag)
        self._members.append(member)
        self.beginning.caches[made] = name
        self._exits.callback(self._permissions.add(cluster, made))
        self._readyz_members[name] = cluster.check
        self.add(made)
        return member

    @property
    def clusters(self) -> tuple[MemberCluster, ...]:
        """The further clusters."""
        return tuple(self._members)

    def add_healthz_check(self, name: str, check: Check) -> None:
        """Add a check to `/healthz`: whether the process should be restarted. Before the start only."""
        self._add_check(self._healthz, name, check)

    def add_readyz_check(self, name: str, check: Check) -> None:
        """Add a check to `/readyz`: whether the process can do its work. Before the start only."""
        self._add_check(self._readyz, name, check)

    def add_metrics_server_extra_handler(self, path: str, handler: Handler) -> None:
        """Serve a path beside the metrics; one that ends in `/` includes all paths below. Before the start only."""
        self._check_not_started(f"the handler of {path}")
        if not path.startswith("/") or path in self._metrics_routes:
            raise InvalidDefinition(f"{path!r} must start with '/' and not be in use")
        self._metrics_routes[path] = handler

    async def start(self, timeout: float | None = None) -> None:
        """Run until SIGTERM, SIGINT, `timeout` seconds or cancellation, then shut down in order.

        Raises the error of a runnable, LeaderElectionLost, ShutdownTimeout if not all ended in the grace period, or an
        exception group of two of them. A cancellation is passed on after the shutdown; a second one ends the grace
        period.
        """
        if self._started:
            raise AlreadyStarted("the manager was started already; create another one")
        self._launch()
        self._started = True
        lifecycle = self._lifecycle
        supervision = self._supervision
        with self._signals():
            try:
                with supervision.ending_after(timeout) if supervision is not None else nullcontext():
                    is_over = not await lifecycle.wait_stop_asked(timeout)
                if is_over:
                    lifecycle.ask_stop(f"the timeout of {timeout:g} s has passed")
            except asyncio.CancelledError:
                lifecycle.ask_stop("cancelled")
                await lifecycle.stop(raising=False)
                raise
            await lifecycle.stop()

    async def ready(self) -> None:
        """Wait until everything that needs no leader has started: webhooks are called, caches are synced.

        `start` runs in another task meanwhile. Raises ManagerStopped if the manager stops before.
        """
        await self._lifecycle.wait_ready()

    async def run_until_idle(self, timeout: float | None = None, horizon: float = 0) -> None:
        """Start all runnables unless they run, and wait until there is nothing left to do.

        That is: queues are empty, no request waits for a retry, nothing that returned `requeue_after` is due within
        `horizon` seconds, no work is active, the embedded API server has deleted the dependents of deleted owners, and
        the cache shows what was written.
        All keeps running until the block ends, so it can be called again. Raises NotIdle after `timeout` seconds, with
        what is busy; the error of a runnable; and ManagerStopped after a signal.
        """
        self._launch()
        idleness = Idleness(self._lifecycle, self.work, self._lag, self.cluster, self._members)
        with self._signals():
            if not await idleness.wait(timeout, horizon):
                await self._lifecycle.stop()
                raise ManagerStopped("the manager was stopped before it was idle")
        self.beginning.mark_idle()

    async def run_once(
        self, kind: Kind, name: str, *, namespace: str = "", timeout: float | None = None, horizon: float = 0
    ) -> None:
        """Reconcile one object, by name and `namespace`, and what follows from it: events of this run, not all objects.

        `timeout` and `horizon` are those of `run_until_idle`. Raises NotFound if the object does not exist,
        InvalidDefinition if no controller is for its kind, AlreadyStarted if the manager has started with all objects.
        """
        if self._lifecycle.launched and not self.beginning.only:
            raise AlreadyStarted("run_once must be called before the manager is started; create another manager")
        controllers = reconcilers_of(kind, [entry.runnable for entry in self._lifecycle.groups.entries()])
        await self.cluster.client.get(kind, name, namespace=namespace)
        self.beginning.begin_with(kind, name, namespace, controllers if self._lifecycle.launched else ())
        await self.run_until_idle(timeout, horizon)

    async def __aenter__(self) -> Manager:
        if self._exits is not None:
            raise AlreadyStarted("the manager was opened already; create another one")
        async with AsyncExitStack() as exits:
            if self._devices is not None:
                from pilotage.manager.devices import detach

                exits.push_async_callback(detach, self._devices, self.cluster)
            if not self.cluster.is_open:
                await exits.enter_async_context(self.cluster)
            if has_threads(asyncio.get_running_loop()):
                self._supervision = Supervision(self.options, self.work, self._lifecycle)
                self._supervision.start()
                exits.callback(self._supervision.stop)
            if self.options.leader_election:
                candidate = new_candidate(self.options, self.cluster, self._supervision, self.clock)
                exits.push_async_callback(candidate.close)
                self._lifecycle.elector, self._lifecycle.run_election = candidate.elector, candidate.run
            if self.options.shards:
                from pilotage.manager.shards.shards import new_shards

                self.shards = new_shards(self.options, self.cluster, self._supervision, self.clock)
                exits.push_async_callback(self.shards.close)
                self._lifecycle.shards = self.shards
            self._lifecycle.release_lease = self.options.leader_election_release_on_cancel
            cache = self.cluster.new_cache(self.options.cache_options)
            self._lag = Lag(cache, self.cluster.writes, self.cluster.rest_mapper)
            exits.callback(self._lag.close)
            self._client = self.cluster.cached_client(cache, fences=self._fences)
            await self._open_servers(exits)
            if self.options.webhook_server is not None:
                self.webhook_server  # noqa: B018 - adds it
            exits.callback(self._permissions.add(self.cluster, cache))
            self._cache = cache
            self.add(cache)
            if self.options.namespace_selector is not None:
                from pilotage.manager.namespaces import NamespaceSelection

                self._namespaces = NamespaceSelection(self.cluster, cache, self.options.namespace_selector)
                exits.callback(self._namespaces.close)
                self.add(self._namespaces)
            await self.beginning.open(self.cluster.client, self.options)
            self._exits = exits.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._exits is not None
        try:
            await self._lifecycle.stop(raising=error is None)
        finally:
            await self.beginning.save()
            await self._exits.aclose()

    def _launch(self) -> None:
        if self._exits is None:
            raise _closed()
        self._lifecycle.launch()

    def _signals(self) -> AbstractContextManager[None]:
        handled = signals.handled(self._lifecycle.on_signal, self._lifecycle.on_arrival)
        return handled if self.options.handle_signals else nullcontext()

    def _fences(self) -> tuple[Fence, ...]:
        """Fencing: refuse writes of a former leader. One that never led may write: not all work needs a leader."""
        elector = self._lifecycle.elector
        return (elector.fence,) if elector is not None and elector.has_led else ()

    async def _open_servers(self, exits: AsyncExitStack) -> None:
        """Bind now, so that an address in use is an error at the start of the program."""
        options = self.options
        if parse_bind_address(options.metrics_bind_address) is not None:
            handler: Handler = Routes(self._metrics_routes)
            if options.metrics_filter is not None:
                handler = options.metrics_filter(self.cluster.client, handler)
            certificate = ServingCertificate(options.metrics_certificates) if options.metrics_secure_serving else None
            server = Server(
                _METRICS, handler, options.metrics_bind_address, log_name=METRICS_LOGGER, certificate=certificate
            )
            await self._open_server(exits, server)
        if self._supervision is None:
            return  # a loop without threads has no sockets either
        live, ready = options.liveness_endpoint_name.rstrip("/"), options.readiness_endpoint_name.rstrip("/")
        healthz = self._supervision.liveness(HealthHandler(live, self._healthz_checks))
        readyz = self._supervision.readiness(HealthHandler(ready, self._readyz_checks))
        exits.callback(add_probe(self._supervision.probe({"healthz": (live, healthz), "readyz": (ready, readyz)})))
        if parse_bind_address(options.debug_bind_address) is not None:
            from pilotage.manager.endpoints.debug import debug_handlers

            await self._open_server(exits, Server(_DEBUG, Routes(debug_handlers()), options.debug_bind_address))
        if parse_bind_address(options.health_probe_bind_address) is not None:
            routes = Routes({live: healthz, f"{live}/": healthz, ready: readyz, f"{ready}/": readyz})
            address, supervisor = options.health_probe_bind_address, self._supervision.supervisor
            await self._open_server(exits, Server(_HEALTH, routes, address, supervisor=supervisor))

    async def _open_server(self, exits: AsyncExitStack, server: Server) -> None:
        await server.open()
        exits.push_async_callback(server.close)
        self._servers[server.name] = server
        self.add(server)

    def _healthz_checks(self) -> dict[str, Check]:
        elector = self._lifecycle.elector
        own: dict[str, Check] = {} if elector is None else {"leaderElection": elector.check}
        return {**(self._healthz or {"ping": ping}), **own, EVENT_LOOP: ping}  # always passes: it runs on the loop

    def _readyz_checks(self) -> dict[str, Check]:
        return {
            **readiness(self._lifecycle, self._readyz),
            "cluster": self.cluster.check,
            **({"permissions": self._permissions.check} if self.options.readiness_needs_permissions else {}),
            **self._readyz_members,
            EVENT_LOOP: ping,
        }

    def _own_permissions(self) -> tuple[MissingPermission | None, ...]:
        found = (self._lifecycle.elector, self.shards, self._namespaces)
        return tuple(one.missing_permission for one in found if one is not None)

    def _server(self, name: str) -> Server:
        if name not in self._servers:
            raise InvalidDefinition(f"there is no {name}: its bind address is not set, or the manager is not open")
        return self._servers[name]

    def _add_check(self, checks: dict[str, Check], name: str, check: Check) -> None:
        self._check_not_started(f"the check {name}")
        if name in checks or not name or "/" in name:
            raise InvalidDefinition(f"{name!r} is not a valid name for a check: it is in use, empty or has a '/'")
        checks[name] = check

    def _check_not_started(self, what: str) -> None:
        if self._lifecycle.launched:
            raise AlreadyStarted(f"{what} cannot be added: the manager has started")


_METRICS = "metrics server"
_DEBUG = "debug server"
_HEALTH = "health probe server"


def _closed() -> InvalidDefinition:
    return InvalidDefinition("the manager is not open: use it inside `async with Manager(…) as manager:`")
