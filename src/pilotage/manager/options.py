"""The options of a manager, under controller-runtime's names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pilotage.errors import InvalidDefinition
from pilotage.history.options import HistoryOptions
from pilotage.manager.election.elector import LeaderCallbacks
from pilotage.manager.election.leasecandidate import CandidateOptions
from pilotage.manager.election.resourcelock import LeaseTimings, ResourceLock
from pilotage.manager.failures import OnReconcileFailure
from pilotage.manager.shutdown import ShutdownCallbacks, ShutdownProgress
from pilotage.meta.bounds.amounts import count
from pilotage.meta.bounds.optionfields import (
    OptionalSecondsField,
    SecondsField,
    check_fields,
    count_field,
    seconds_field,
)
from pilotage.meta.validation.names import dns_1123_label
from pilotage.net.sockets import is_loopback, parse_bind_address
from pilotage.telemetry.metrics import METRICS_PATH

if TYPE_CHECKING:
    from pilotage.cache.plan import CacheOptions
    from pilotage.client.client import Client
    from pilotage.http.messages import Handler
    from pilotage.meta.selectors.selection import Labels
    from pilotage.webhook.certificates.source import CertificateSource
    from pilotage.webhook.options import WebhookServerOptions
    from pilotage.webhook.server import WebhookServer

MetricsFilter: TypeAlias = "Callable[[Client, Handler], Handler]"
"""From a client of the manager's cluster and a handler to the handler that is served."""


@dataclass(frozen=True, slots=True)
class ControllerDefaults:
    """Defaults of the controllers of a manager. None: the controller's own default."""

    skip_name_validation: bool = False
    """Whether two controllers of one manager may have the same name."""

    group_kind_concurrency: Mapping[str, int] = field(default_factory=dict)
    """How many reconciles at once for a kind, by `Kind.group` (`Pod` for the core group)."""

    max_concurrent_reconciles: int | None = count_field(None, least=1)
    """How many requests a controller reconciles at a time."""
    cache_sync_timeout: OptionalSecondsField = seconds_field(None)
    """Seconds that a controller waits for its caches when it starts."""

    recover_panic: bool | None = None
    """Whether a reconciler that raises something other than an `Exception` counts as failed and is retried."""
    needs_leader_election: bool | None = None
    """Whether controllers run only in the leader."""
    enable_warmup: bool | None = None
    """Whether caches of a standby are filled before it leads."""

    reconciliation_timeout: OptionalSecondsField = seconds_field(None)
    """Seconds that one reconcile may take."""

    def __post_init__(self) -> None:
        check_fields(self)
        for kind, workers in self.group_kind_concurrency.items():
            count(workers, f"group_kind_concurrency[{kind!r}]")


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """Options of a Manager. Durations are seconds or timedeltas."""

    metrics_bind_address: str = "0"
    """Where metrics are served: `HOST:PORT`, `:8080` for every address; "0" (the default) or "": nowhere."""

    metrics_extra_handlers: Mapping[str, Handler] = field(default_factory=dict)
    """More handlers beside the metrics, by path."""

    metrics_secure_serving: bool = False
    """Whether metrics are served over HTTPS. Without `metrics_certificates` a certificate is made in memory."""

    metrics_certificates: CertificateSource | None = None
    """The certificate of the metrics server, as `CertificateFiles("/certs")`, which is read again after a renewal."""

    metrics_filter: MetricsFilter | None = None
    """Wraps the handler of the metrics server and its extra handlers: `with_authentication_and_authorization` admits
    only clients with a token and the permission for the path."""

    debug_bind_address: str = ""
    """Where tasks, stacks, the delay of the event loop, the heap and the history of objects are shown, in the same
    form; "" (the default) or "0": nowhere. For one machine: `127.0.0.1:6060`."""

    ui_bind_address: str = ""
    """Where the live page is served, in the same form; "" (the default) or "0": nowhere. On a loopback address, such as
    `127.0.0.1:0`, it needs the token in `manager.ui_url`. On others it needs `metrics_secure_serving` and a
    `metrics_filter`, and has their certificate and their tokens."""

    health_probe_bind_address: str = ""
    """Where health probes are served, in the same form; "" (the default) or "0": nowhere."""

    readiness_needs_permissions: bool = True
    """Whether `/readyz` fails, with the RBAC rule in its answer, while the API server refuses something to this
    program. False for a program that handles Forbidden itself: missing permissions are only logged, and a cache that
    cannot sync fails `/readyz` without the rule."""

    readiness_endpoint_name: str = "/readyz"
    """The path of the readiness checks."""
    liveness_endpoint_name: str = "/healthz"
    """The path of the liveness checks."""

    leader_election: bool = False
    """Whether only one of several replicas works at a time. Off: this one leads at once."""

    leader_election_id: str = ""
    """The name of the Lease; needed with `leader_election`."""

    leader_election_namespace: str = ""
    """The namespace of the Lease. Unless given: in a cluster the Pod's namespace, on an embedded API server
    `default`."""

    leader_election_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that this replica sets on the Lease while it leads."""

    leader_election_release_on_cancel: bool = False
    """Whether a clean stop releases the lease, so that another replica takes over at once. For programs that exit then:
    what runs after the manager has stopped is not protected by the lease."""

    leader_election_candidate: CandidateOptions | None = None
    """The versions of this replica, for a coordinated election, in which kube-apiserver chooses the leader. It needs
    the feature gate CoordinatedLeaderElection. None: the replicas decide among themselves."""

    leader_election_callbacks: LeaderCallbacks = field(default_factory=LeaderCallbacks)
    """Called on the program's event loop when the leadership changes."""

    leader_election_resource_lock: str = "leases"
    """The kind of the lock; `leases` is the only one."""
    leader_election_resource_lock_interface: ResourceLock | None = None
    """A custom lock instead of a Lease."""

    shards: str = ""
    """The name of a group of replicas that all work, each key with exactly one of them; empty: one replica works on all
    keys. Each member has a Lease with this prefix in `leader_election_namespace`, which has the same default."""

    lease_duration: SecondsField = seconds_field(15.0, zero=False)
    """How long a standby waits after it last saw the lease change before it takes it."""

    renew_deadline: SecondsField = seconds_field(10.0, zero=False)
    """How long after the last successful renewal was sent the leader stops leading."""

    retry_period: SecondsField = seconds_field(2.0, zero=False)
    """How often the lease is requested or renewed."""

    checkpoint: str = ""
    """The name of a checkpoint: a run begins with what was changed or is due since the last run, and leaves what is due
    later to the next one. Each controller has a ConfigMap with this prefix in `leader_election_namespace`, or in
    `default`. Empty: each run begins with all objects."""

    namespace_selector: Labels = None
    """The namespaces that the cache reads, by their labels, as they change at run time. The program then needs to list
    and watch namespaces."""

    cache: CacheOptions | None = None
    """Options of the manager's cache; by default it has all objects of every kind that is used. `default_namespaces`
    has the namespaces that the manager works in."""

    read_your_writes: bool = True
    """Whether a read of the manager's client waits until its cache shows what this program has written. Off, it reads
    as a client of controller-runtime does by default, and a test can show what that leads to."""

    controller: ControllerDefaults = field(default_factory=ControllerDefaults)
    """Defaults of the controllers."""

    on_reconcile_failure: OnReconcileFailure | None = None
    """Called with each reconcile that has failed, on the event loop, beside the line in the log. It must return at
    once; what it raises is logged."""

    history: HistoryOptions = field(default_factory=HistoryOptions)
    """The history of reconciles: its size, its file, what it hides, or that there is none."""

    webhook_server: WebhookServer | None = None
    """The server of webhooks, with its options; by default one with the default options, if there are webhooks."""

    webhook_server_options: WebhookServerOptions | None = None
    """The options of the server that is made if there are webhooks; instead of a `webhook_server`, which always
    runs."""

    graceful_shutdown_timeout: SecondsField = seconds_field(30.0, negative=True)
    """How long a shutdown waits for active work and runnables. 0: not at all; negative: without limit."""

    shutdown_progress_interval: SecondsField = seconds_field(0.5, zero=False)
    """Seconds between two log lines of a shutdown with what it waits for."""

    shutdown_warning_after: SecondsField = seconds_field(10.0, infinite=True)
    """Seconds after which these lines are warnings; the shutdown continues to wait."""

    shutdown_callbacks: ShutdownCallbacks = field(default_factory=ShutdownCallbacks)
    """Called when a signal arrives, and while a shutdown waits for active work."""

    max_active_work: int = count_field(1000)
    """How many reconciles of all controllers may run at once; further ones wait. Work of your own counts, too, and may
    wait with `work.wait_for_room()`. 0: no limit."""

    blocked_loop_threshold: SecondsField = seconds_field(1.0, zero=False, infinite=True)
    """Seconds after which a blocked event loop is logged and counted. 1 s, because a kubelet waits that long for the
    answer to a probe. `math.inf`: never."""

    blocked_loop_deadline: SecondsField = seconds_field(20.0, zero=False, infinite=True)
    """Seconds after which a process whose event loop is blocked counts as hung: `/healthz` fails, and a leader no
    longer renews its lease. `math.inf`: never."""

    handle_signals: bool = True
    """Whether SIGTERM and SIGINT shut the manager down in order. Turn it off in a program that handles them itself."""

    def __post_init__(self) -> None:
        check_fields(self)
        parse_bind_address(self.metrics_bind_address)
        parse_bind_address(self.health_probe_bind_address)
        parse_bind_address(self.debug_bind_address)
        self._check_page()
        if self.metrics_certificates is not None and not self.metrics_secure_serving:
            raise InvalidDefinition("metrics_certificates needs metrics_secure_serving=True")
        for path in (self.readiness_endpoint_name, self.liveness_endpoint_name, *self.metrics_extra_handlers):
            if not path.startswith("/"):
                raise InvalidDefinition(f"the path of an endpoint must start with '/', not {path!r}")
        if METRICS_PATH in self.metrics_extra_handlers:
            raise InvalidDefinition(f"{METRICS_PATH} is the path of the metrics; choose another path for your handler")
        if self.leader_election_resource_lock != "leases":
            raise InvalidDefinition(
                f"leader_election_resource_lock must be 'leases', not {self.leader_election_resource_lock!r}; "
                "for a custom lock use leader_election_resource_lock_interface"
            )
        if inspect.iscoroutinefunction(self.on_reconcile_failure):
            raise InvalidDefinition(
                "on_reconcile_failure is async, but it is called between two reconciles and cannot await: use a plain "
                "function that puts the failure on a queue"
            )
        self._check_namespaces()
        if self.leader_election:
            self._check_election()
        if self.shards:
            self._check_shards()
        if self.checkpoint and (problems := dns_1123_label(self.checkpoint)):
            raise InvalidDefinition(
                f"invalid checkpoint={self.checkpoint!r}: it is the prefix of names of ConfigMaps: {problems[0]}"
            )

    @property
    def shutdown_progress(self) -> ShutdownProgress:
        return ShutdownProgress(self.shutdown_progress_interval, self.shutdown_warning_after, self.shutdown_callbacks)

    @property
    def lease_timings(self) -> LeaseTimings:
        return LeaseTimings(self.lease_duration, self.renew_deadline, self.retry_period)

    def _check_page(self) -> None:
        bind = parse_bind_address(self.ui_bind_address)
        if bind is None or is_loopback(bind[0]):
            return
        if not self.metrics_secure_serving or self.metrics_filter is None:
            raise InvalidDefinition(
                f"ui_bind_address={self.ui_bind_address!r} is reached from other machines, and the live page shows "
                "objects: use 127.0.0.1:PORT, or set metrics_secure_serving=True and "
                "metrics_filter=with_authentication_and_authorization, whose certificate and tokens the page then has"
            )

    def _check_namespaces(self) -> None:
        listed = self.cache is not None and self.cache.default_namespaces is not None
        if self.namespace_selector is not None and listed:
            raise InvalidDefinition(
                "namespaces are set twice: use either namespace_selector or the cache's default_namespaces"
            )

    def _check_shards(self) -> None:
        self.lease_timings  # noqa: B018 it checks itself
        if problems := dns_1123_label(self.shards):
            raise InvalidDefinition(
                f"invalid shards={self.shards!r}: it is the prefix of names of Leases: {problems[0]}"
            )

    def _check_election(self) -> None:
        self.lease_timings  # noqa: B018 it checks itself
        if not self.leader_election_id and self.leader_election_resource_lock_interface is None:
            raise InvalidDefinition(
                "leader_election needs leader_election_id: the name of the Lease that replicas share"
            )
