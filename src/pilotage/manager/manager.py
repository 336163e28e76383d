"""The manager: starts the runnables of a program in order, supervises them, and stops them in order.

The parts that it is made of are imported when one is created: the class is in the annotations of programs, also of
those that only print a table.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

from pilotage.errors import InvalidDefinition
from pilotage.manager.errors import AlreadyStarted, ManagerStopped
from pilotage.meta.bounds.amounts import Seconds, optional_seconds, seconds

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractContextManager
    from datetime import datetime
    from types import TracebackType
    from typing import Any

    from pilotage.cache.cache import Cache
    from pilotage.cache.plan import CacheOptions
    from pilotage.client.client import Client
    from pilotage.cluster.cluster import Cluster
    from pilotage.cluster.events import EventAPI, EventRecorder
    from pilotage.dashboard.server import PageServer
    from pilotage.device.client.clientset import Devices
    from pilotage.http.health import Check
    from pilotage.http.messages import Handler
    from pilotage.manager.clusters import MemberCluster
    from pilotage.manager.election.elector import LeaderCallbacks
    from pilotage.manager.endpoints.explainer import Explainer
    from pilotage.manager.lag import Lag
    from pilotage.manager.namespaces import NamespaceSelection
    from pilotage.manager.options import ManagerOptions
    from pilotage.manager.runnables import AnyRunnable
    from pilotage.manager.runs.idleness import Idleness
    from pilotage.manager.shards.shards import Shards
    from pilotage.manager.supervision.tasks import Supervision
    from pilotage.manager.supervision.watchdog import Block
    from pilotage.meta.forms import Kind
    from pilotage.meta.mapping.mapper import RESTMapper
    from pilotage.meta.mapping.scheme import Scheme
    from pilotage.rest import Fence
    from pilotage.rest.refusal import MissingPermission
    from pilotage.webhook.environment import WebhookEnvironment
    from pilotage.webhook.server import WebhookServer


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
        from pilotage.history.history import History
        from pilotage.manager.declared import Declared
        from pilotage.manager.endpoints.endpoints import Endpoints
        from pilotage.manager.lifecycle import Lifecycle
        from pilotage.manager.options import ManagerOptions
        from pilotage.manager.permissions import Permissions
        from pilotage.manager.runs.beginning import Beginning
        from pilotage.manager.work import WorkTracker

        self.cluster = cluster
        self.options = options if options is not None else ManagerOptions()
        self.work = WorkTracker(limit=self.options.max_active_work)
        """Active work: the controllers' reconciles and your own. A shutdown waits for it."""
        self.shards: Shards | None = None
        """The keys that this replica reconciles, with the option `shards`; None: all."""
        self.declared = Declared()
        """The watches and recorders of this manager's controllers; `pilotage rbac` reads them."""
        self.on_blocked_loop: Callable[[Block], None] = lambda block: None
        """Called several times a second while the event loop is blocked for longer than `blocked_loop_threshold`, in
        the thread of the supervisor: set it to end a program that is out of time."""
        self.beginning = Beginning(self.clock)
        self.history = History(self.options.history, self.clock)
        """Why reconciles ran, and what they did: `history.reconciles(Database, "main", namespace="default")`."""
        self.history.kind_of = cluster.rest_mapper.known_kind
        self._lifecycle = Lifecycle(self.work, self.options.graceful_shutdown_timeout, self.options.shutdown_progress)
        self._permissions = Permissions(self._own_permissions)
        self._namespaces: NamespaceSelection | None = None
        self._endpoints = Endpoints(self.options, self._lifecycle, cluster, self._permissions, self._explainer)
        self._devices: Devices | None = None
        self._webhook_server: WebhookServer | None = None
        self._page: PageServer | None = None
        self._exits: AsyncExitStack | None = None
        self._cache: Cache | None = None
        self._client: Client | None = None
        self._lag: Lag | None = None
        self._supervision: Supervision | None = None
        self._started = False
        self._controller_names: set[str] = set()
        self._members: list[MemberCluster] = []

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
        return self._endpoints.address("metrics server")

    @property
    def health_probe_address(self) -> tuple[str, int]:
        """The address of the health probe server."""
        return self._endpoints.address("health probe server")

    @property
    def debug_address(self) -> tuple[str, int]:
        """The address of the debug server."""
        return self._endpoints.address("debug server")

    @property
    def debug_handler(self) -> Handler:
        """The handler of the debug server, to serve it elsewhere: it shows names and values of objects, and reads
        only."""
        return self._endpoints.debug_handler()

    def _explainer(self) -> Explainer:
        from pilotage.manager.endpoints.explainer import Explainer

        return Explainer(self.history, self._lifecycle, self.cluster, self.cache, self.declared)

    @property
    def ui_url(self) -> str:
        """The address of the live page, with its token: with it, all objects of the caches can be read."""
        if self._page is None:
            raise InvalidDefinition("there is no live page: ui_bind_address is not set, or the manager is not open")
        return self._page.url

    @cached_property
    def page_handler(self) -> Handler:
        """The data of the live page, to serve it where only the user can reach it: it does not check who asks."""
        from pilotage.dashboard.server import data_handler

        return data_handler(self, self._lifecycle)

    @property
    def webhook_server(self) -> WebhookServer:
        """The server of the program's webhooks: the server of the options, else one that is made on first use."""
        if self._webhook_server is None:
            from pilotage.webhook.server import WebhookServer

            server = self.options.webhook_server or WebhookServer(self.options.webhook_server_options)
            server.attach(self._webhook_environment)
            self.add(server)
            self._webhook_server = server
        return self._webhook_server

    def _webhook_environment(self) -> WebhookEnvironment:
        """Where webhooks are registered: a remote API server, or the embedded one, which calls them in process."""
        from pilotage.webhook.environment import WebhookEnvironment

        cluster = self.cluster
        local = None if cluster.server_url else cluster.registry.local_webhooks
        return WebhookEnvironment(
            cluster.client, cluster.clock, local, cluster.server_url, cluster.namespace, cluster.conversions
        )

    def event_recorder_for(self, name: str, *, api_version: EventAPI = "v1") -> EventRecorder:
        """A recorder of events with `name` as their source, written to the API `api_version`: `v1` or
        `events.k8s.io/v1`."""
        self.declared.record_events(name, api_version)
        return self.cluster.event_recorder_for(name, api_version=api_version)

    def add(self, runnable: AnyRunnable) -> None:
        """Add a runnable. After `start` it starts at once; during a shutdown it is refused (ManagerStopped)."""
        self._lifecycle.add(runnable)

    async def remove(self, runnable: AnyRunnable, timeout: Seconds | None = None) -> bool:
        """Stop a runnable and remove it; the manager and all others continue.

        A controller is stopped in order: it accepts nothing more, its running reconciles end, or are cancelled after
        `timeout` seconds (None: no limit). Its name may be used again, and `cache.remove_informer` drops the kinds that
        no other controller needs. A runnable without `stop` is cancelled. Returns whether it ended by itself.
        InvalidDefinition if it was not added.
        """
        from pilotage.manager.runnables import name_of

        ended = await self._lifecycle.groups.remove(runnable, optional_seconds(timeout, "timeout"))
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
        caller, and several managers of one cluster may share them. Call it before the start.
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
        from pilotage.manager.candidate import for_lease, new_candidate

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
        from pilotage.manager.clusters import MemberCluster, check_new
        from pilotage.manager.lag import Lag

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
        self._endpoints.members[name] = cluster.check
        self.add(made)
        return member

    @property
    def clusters(self) -> tuple[MemberCluster, ...]:
        """The further clusters."""
        return tuple(self._members)

    def add_healthz_check(self, name: str, check: Check) -> None:
        """Add a check to `/healthz`: whether the process should be restarted. Call it before the start."""
        self._add_check(self._endpoints.healthz, name, check)

    def add_readyz_check(self, name: str, check: Check) -> None:
        """Add a check to `/readyz`: whether the process can do its work. Call it before the start."""
        self._add_check(self._endpoints.readyz, name, check)

    def add_metrics_server_extra_handler(self, path: str, handler: Handler) -> None:
        """Serve a path beside the metrics; a path that ends in `/` includes all paths below. Call it before the
        start."""
        self._check_not_started(f"the handler of {path}")
        self._endpoints.add_handler(path, handler)

    async def start(self, timeout: Seconds | None = None) -> None:
        """Run until SIGTERM, SIGINT, `timeout` seconds or cancellation, then shut down in order.

        Raises the error of a runnable, LeaderElectionLost, ShutdownTimeout if not all ended in the grace period, or an
        exception group of two of them. A cancellation is passed on after the shutdown; a second one ends the grace
        period.
        """
        import asyncio

        timeout = optional_seconds(timeout, "timeout")
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

    async def run_until_idle(self, timeout: Seconds | None = None, horizon: Seconds = 0) -> None:
        """Start all runnables unless they run, and wait until there is nothing left to do.

        That is: queues are empty, no request waits for a retry, nothing that returned `requeue_after` is due within
        `horizon` seconds, no work is active, the embedded API server has deleted the dependents of deleted owners, and
        the cache shows what was written. Everything keeps running until the block ends, so it can be called again.
        Raises NotIdle after `timeout` seconds, with the reasons; the error of a runnable; and ManagerStopped after a
        signal.
        """
        timeout, horizon = optional_seconds(timeout, "timeout"), seconds(horizon, "horizon", infinite=True)
        self._launch()
        with self._signals():
            if not await self._idleness.wait(timeout, horizon):
                await self._lifecycle.stop()
                raise ManagerStopped("the manager was stopped before it was idle")
        self.beginning.mark_idle()

    def limit_grace(self, timeout: Seconds) -> None:
        """Shorten `graceful_shutdown_timeout`, for a program that has no time left when it stops: active work then has
        at most `timeout`."""
        self._lifecycle.limit_grace(seconds(timeout, "timeout"))

    @cached_property
    def _idleness(self) -> Idleness:
        from pilotage.manager.runs.idleness import Idleness

        return Idleness(self._lifecycle, self.work, self._lag, self.cluster, self.history, self._members)

    async def run_once(
        self, kind: Kind, name: str, *, namespace: str = "", timeout: Seconds | None = None, horizon: Seconds = 0
    ) -> None:
        """Reconcile one object, by name and `namespace`, and the requests of events that this causes, but not all
        objects.

        `timeout` and `horizon` have the same meaning as for `run_until_idle`. Raises NotFound if the object does not
        exist, InvalidDefinition if no controller is for its kind, AlreadyStarted if the manager has started with all
        objects.
        """
        from pilotage.manager.runs.beginning import controllers_of

        if self._lifecycle.launched and not self.beginning.only:
            raise AlreadyStarted("run_once must be called before the manager is started; create another manager")
        controllers = controllers_of(kind, self._lifecycle.groups.entries())
        await self.cluster.client.get(kind, name, namespace=namespace)
        self.beginning.begin_with(kind, name, namespace, controllers if self._lifecycle.launched else ())
        await self.run_until_idle(timeout, horizon)

    async def __aenter__(self) -> Manager:
        import asyncio

        from pilotage.history.logs import recorded_logs
        from pilotage.manager.lag import Lag
        from pilotage.manager.supervision.tasks import supervise

        if self._exits is not None:
            raise AlreadyStarted("the manager was opened already; create another one")
        async with AsyncExitStack() as exits:
            if self._devices is not None:
                from pilotage.manager.devices import detach

                exits.push_async_callback(detach, self._devices, self.cluster)
            if not self.cluster.is_open:
                await exits.enter_async_context(self.cluster)
            if self.options.history.enabled:
                exits.enter_context(recorded_logs(self.history, asyncio.get_running_loop().time))
                if self.options.history.file:
                    from pilotage.recording.recorder import recorded_file

                    exits.enter_context(recorded_file(self.history, lambda: self.rest_mapper.mappings))
            self._supervision = supervise(
                self.options,
                self.work,
                exits,
                is_active=lambda: self._lifecycle.launched,
                on_blocked=lambda block: self.on_blocked_loop(block),
            )
            if self.options.leader_election:
                from pilotage.manager.candidate import new_candidate

                candidate = new_candidate(self.options, self.cluster, self._supervision, self.clock)
                exits.push_async_callback(candidate.close)
                self._lifecycle.elector, self._lifecycle.run_election = candidate.elector, candidate.run
            if self.options.shards:
                from pilotage.manager.shards.shards import new_shards

                self.shards = new_shards(self.options, self.cluster, self._supervision, self.clock)
                exits.push_async_callback(self.shards.close)
                self._lifecycle.shards = self.shards
            self._lifecycle.release_lease = self.options.leader_election_release_on_cancel
            cache = self.cluster.new_cache(self.options.cache)
            self._lag = Lag(cache, self.cluster.writes, self.cluster.rest_mapper)
            exits.callback(self._lag.close)
            self._client = self.cluster.cached_client(cache, fences=self._fences)
            await self._endpoints.open(self._supervision, self.add, exits)
            if self.options.webhook_server is not None:
                self.webhook_server  # noqa: B018 - adds it
            exits.callback(self._permissions.add(self.cluster, cache))
            self._cache = cache
            self.add(cache)
            await self._open_page(exits)
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
        with nullcontext() if self._lifecycle.signalled else self._signals(deferred=True):
            try:
                await self._lifecycle.stop(raising=error is None)
            finally:
                try:
                    await self.beginning.save()
                finally:
                    await self._exits.aclose()  # also if it is cancelled: this writes events and closes the storage

    async def _open_page(self, exits: AsyncExitStack) -> None:
        """Serve the live page, where an address is set and the loop has sockets."""
        from pilotage.net.sockets import parse_bind_address

        if self._supervision is None or parse_bind_address(self.options.ui_bind_address) is None:
            return
        from pilotage.dashboard.server import page_server

        self._page = page = page_server(self, self.page_handler)
        await page.open()
        exits.push_async_callback(page.close)
        self.add(page)

    def _launch(self) -> None:
        if self._exits is None:
            raise _closed()
        for place in self.declared.take_incomplete():
            from pilotage.manager.lifecycle import log

            log.warning("A controller was not completed and does not run: call complete(reconciler)", builder=place)
        self._lifecycle.launch()

    def _signals(self, *, deferred: bool = False) -> AbstractContextManager[None]:
        if not self.options.handle_signals:
            return nullcontext()
        from pilotage.manager import signals

        handled = signals.deferred if deferred else signals.handled
        return handled(self._lifecycle.on_signal, self._lifecycle.on_arrival)

    def _fences(self) -> tuple[Fence, ...]:
        """Fencing: refuse writes of a former leader. A process that never led may write, because not all work needs a
        leader."""
        elector = self._lifecycle.elector
        return (elector.fence,) if elector is not None and elector.has_led else ()

    def _own_permissions(self) -> tuple[MissingPermission | None, ...]:
        found = (self._lifecycle.elector, self.shards, self._namespaces)
        return tuple(one.missing_permission for one in found if one is not None)

    def _add_check(self, checks: dict[str, Check], name: str, check: Check) -> None:
        self._check_not_started(f"the check {name}")
        if name in checks or not name or "/" in name:
            raise InvalidDefinition(f"{name!r} is not a valid name for a check: it is in use, empty or has a '/'")
        checks[name] = check

    def _check_not_started(self, what: str) -> None:
        if self._lifecycle.launched:
            raise AlreadyStarted(f"{what} cannot be added: the manager has started")


def _closed() -> InvalidDefinition:
    return InvalidDefinition("the manager is not open: use it inside `async with Manager(…) as manager:`")
