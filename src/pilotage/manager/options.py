"""What a manager can be told, under controller-runtime's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pilotage.errors import InvalidDefinition
from pilotage.manager.election import LeaseTimings, ResourceLock
from pilotage.manager.endpoints import METRICS_PATH, parse_address

if TYPE_CHECKING:
    from pilotage.cache.plan import CacheOptions
    from pilotage.http.messages import Handler


@dataclass(frozen=True, slots=True)
class ControllerDefaults:
    """What holds for every controller of a manager that does not say otherwise. None: the controller's own default."""

    skip_name_validation: bool = False
    """Whether two controllers of one manager may have the same name."""

    group_kind_concurrency: Mapping[str, int] = field(default_factory=dict)
    """How many reconciles at once for a kind, by `Kind.group` (`Pod` for the core group)."""

    max_concurrent_reconciles: int | None = None
    """How many requests a controller works on at a time."""
    cache_sync_timeout: float | None = None
    """Seconds that a controller waits for its caches when it starts."""

    recover_panic: bool | None = None
    """Whether a reconciler that raises something other than an `Exception` fails like any other."""
    needs_leader_election: bool | None = None
    """Whether controllers run in the leader alone."""
    enable_warmup: bool | None = None
    """Whether caches of a standby are filled before it leads."""

    reconciliation_timeout: float | None = None
    """Seconds that one reconcile may take."""


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """Options of a Manager. Times are in seconds."""

    metrics_bind_address: str = "0"
    """Where metrics are served: `HOST:PORT`, `:8080` for every address; "0" (the default) or "": nowhere."""

    metrics_extra_handlers: Mapping[str, Handler] = field(default_factory=dict)
    """More to serve beside the metrics, by path."""

    health_probe_bind_address: str = ""
    """Where health is served, in the same way."""

    readiness_endpoint_name: str = "/readyz"
    """The path of the readiness checks."""
    liveness_endpoint_name: str = "/healthz"
    """The path of the liveness checks."""

    leader_election: bool = False
    """Whether only one of several replicas works at a time. Off: this one leads at once."""

    leader_election_id: str = ""
    """The name of the Lease; needed with `leader_election`."""

    leader_election_namespace: str = ""
    """The namespace of the Lease; in a cluster, the Pod's own unless given."""

    leader_election_labels: Mapping[str, str] = field(default_factory=dict)
    """Put on the Lease while this replica leads."""

    leader_election_release_on_cancel: bool = False
    """Whether a clean stop gives the lease up, so that another replica takes over at once. For programs that end then:
    whatever goes on after the manager has stopped is not protected by the lease."""

    leader_election_resource_lock: str = "leases"
    """The kind of the lock; `leases` is the only one."""
    leader_election_resource_lock_interface: ResourceLock | None = None
    """A lock of your own instead of a Lease."""

    lease_duration: float = 15.0
    """How long a standby waits after it last saw the lease change before it takes it."""

    renew_deadline: float = 10.0
    """How long after a renewal was sent the leader gives up unless another one succeeds."""

    retry_period: float = 2.0
    """How often the lease is tried for, or renewed."""

    namespace: str = ""
    """The one namespace that the cache reads; empty: all."""

    cache: CacheOptions | None = None
    """What the manager's cache keeps; all objects of every kind that is asked for, unless told otherwise."""

    controller: ControllerDefaults = field(default_factory=ControllerDefaults)
    """What holds for every controller that does not say otherwise."""

    graceful_shutdown_timeout: float = 30.0
    """How long a shutdown waits for what runs. 0: it does not wait; negative: for ever."""

    blocked_loop_threshold: float = 1.0
    """Seconds after which a blocked event loop is logged and counted. 1 s, because a kubelet waits that long for the
    answer to a probe. `math.inf`: never."""

    blocked_loop_deadline: float = 20.0
    """Seconds after which a process whose event loop is blocked counts as hung: `/healthz` fails, and a leader renews
    its lease no longer. `math.inf`: never."""

    handle_signals: bool = True
    """Whether SIGTERM and SIGINT end `start` and `run_until_idle` in order. Off inside a program that handles them."""

    def __post_init__(self) -> None:
        parse_address(self.metrics_bind_address)
        parse_address(self.health_probe_bind_address)
        for path in (self.readiness_endpoint_name, self.liveness_endpoint_name, *self.metrics_extra_handlers):
            if not path.startswith("/"):
                raise InvalidDefinition(f"the path of an endpoint begins with '/', and {path!r} does not")
        if METRICS_PATH in self.metrics_extra_handlers:
            raise InvalidDefinition(f"{METRICS_PATH} is where the metrics are; choose another path for your handler")
        for name in ("blocked_loop_threshold", "blocked_loop_deadline"):
            if not getattr(self, name) > 0:
                raise InvalidDefinition(f"{name}={getattr(self, name)!r}: give seconds, more than 0")
        if self.leader_election_resource_lock != "leases":
            raise InvalidDefinition(
                f"a leader is elected by a lock of the kind 'leases', not {self.leader_election_resource_lock!r}; "
                "for a lock of your own use leader_election_resource_lock_interface"
            )
        if self.namespace and self.cache is not None and self.cache.default_namespaces is not None:
            raise InvalidDefinition(
                "namespaces are said twice: give namespace or the cache's default_namespaces, not both"
            )
        if self.leader_election:
            self._check_election()

    @property
    def cache_options(self) -> CacheOptions | None:
        """Those of the cache, with the one `namespace` if there is one."""
        if not self.namespace:
            return self.cache
        from pilotage.cache.plan import CacheOptions

        return replace(self.cache or CacheOptions(), default_namespaces=(self.namespace,))

    @property
    def lease_timings(self) -> LeaseTimings:
        return LeaseTimings(self.lease_duration, self.renew_deadline, self.retry_period)

    def _check_election(self) -> None:
        self.lease_timings  # noqa: B018 it checks itself
        if not self.leader_election_id and self.leader_election_resource_lock_interface is None:
            raise InvalidDefinition(
                "leader_election needs leader_election_id: the name of the Lease that replicas share"
            )
