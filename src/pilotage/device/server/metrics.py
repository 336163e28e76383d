"""The server's metrics, with the names that NVIDIA's servers use."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import partial

import msgspec

from pilotage.telemetry.metrics import REGISTRY

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.1, 0.5, 2.5)
_CALL = ("grpc_type", "grpc_service", "grpc_method")

STARTED = REGISTRY.counter("grpc_server_started_total", "Calls started.", _CALL)
HANDLED = REGISTRY.counter("grpc_server_handled_total", "Calls completed, by code.", (*_CALL, "grpc_code"))
HANDLING_SECONDS = REGISTRY.histogram("grpc_server_handling_seconds", "Duration of calls.", _CALL, buckets=_SECONDS)
SERVICE_STATUS = REGISTRY.gauge("device_apiserver_service_status", "1 if the service is serving.", ("service",))
BUILD_INFO = REGISTRY.gauge(
    "device_apiserver_build_info", "Version of the server; always 1.", ("version", "compiler", "platform")
)
GPUS = {
    state: REGISTRY.gauge(f"device_api_server_cache_gpus_{state}", text)
    for state, text in (
        ("total", "GPUs in the server."),
        ("healthy", "GPUs with the condition Ready True."),
        ("unhealthy", "GPUs with the condition Ready False."),
        ("unknown", "GPUs with the condition Ready Unknown or missing."),
    )
}
RESOURCE_VERSION = REGISTRY.gauge("device_api_server_cache_resource_version", "The version of the last change.")
UPDATES = REGISTRY.counter("device_api_server_cache_updates_total", "Writes.", ("operation",))
STREAMS = REGISTRY.gauge("device_api_server_watch_streams_active", "Open watches.")
EVENTS = REGISTRY.counter("device_api_server_watch_events_total", "Events sent to watches.", ("type",))
DROPPED = REGISTRY.counter(
    "device_api_server_watch_events_dropped_total", "Events not sent to evicted watches, which list again."
)
EVICTIONS = REGISTRY.counter("device_api_server_watch_evictions_total", "Watches ended because they were too slow.")
PROVIDER_STATE = REGISTRY.gauge(
    "device_api_server_provider_connection_state", "1 if a provider is alive, 0 if it is lost.", ("provider_id",)
)
LAST_HEARTBEAT = REGISTRY.gauge(
    "device_api_server_provider_last_heartbeat_timestamp_seconds",
    "Time of a provider's last heartbeat or write.",
    ("provider_id",),
)
HEARTBEATS = REGISTRY.counter("device_api_server_provider_heartbeat_total", "Heartbeats.", ("provider_id",))
HEARTBEAT_TIMEOUTS = REGISTRY.counter(
    "device_api_server_provider_heartbeat_timeout_total", "Times that a provider was lost.", ("provider_id",)
)
GPUS_MANAGED = REGISTRY.gauge(
    "device_api_server_provider_gpus_managed", "GPUs that have conditions of a provider.", ("provider_id",)
)


def count_events(kinds: Iterable[str], watches: int = 1) -> None:
    """Count events of these types, sent to `watches` watches."""
    for kind in kinds:
        EVENTS.labels(kind).inc(watches)


def set_last_heartbeat(provider: str) -> None:
    """Set the time of the last heartbeat to now."""
    LAST_HEARTBEAT.labels(provider).set(time.time())


def set_build_info(version: str) -> None:
    """Set the version of the server."""
    BUILD_INFO.labels(version, platform.python_implementation(), f"{platform.system()}/{platform.machine()}").set(1)


def forget_provider(provider: str) -> None:
    """Remove a provider's metrics: callers choose the ids, and their number must stay limited."""
    for metric in (PROVIDER_STATE, LAST_HEARTBEAT, HEARTBEATS, HEARTBEAT_TIMEOUTS):
        metric.remove(provider)


class Census:
    """GPUs by the state of their Ready condition and by provider: counted when the metrics are read, not before."""

    def __init__(self, values: Callable[[], tuple[int, Collection[bytes]]]) -> None:
        self._values = values
        """Returns the resource version and the stored bytes of each GPU."""
        self._version = -1
        self._states: Counter[str] = Counter()
        self._providers: set[str] = set()

    def register(self) -> None:
        """Make the gauges read from here."""
        for state in GPUS:
            GPUS[state].labels().set_function(partial(self._count, state))
        RESOURCE_VERSION.labels().set_function(lambda: float(self._values()[0]))

    def unregister(self) -> None:
        """Reset the gauges to 0."""
        for gauge in (*GPUS.values(), RESOURCE_VERSION):
            gauge.labels().set_function(float)
        self._recount(())

    def _count(self, state: str) -> float:
        version, values = self._values()
        if version != self._version:
            self._recount(values)
            self._version = version
        return float(self._states.total() if state == "total" else self._states[state])

    def _recount(self, values: Collection[bytes]) -> None:
        self._states = Counter()
        managed: Counter[str] = Counter()
        for conditions in (_read(value).status.conditions for value in values):
            ready = next((one.status for one in conditions if one.type == "Ready"), "")
            self._states[_STATES.get(ready, "unknown")] += 1
            managed.update({one.provider for one in conditions})
        for provider, count in managed.items():
            GPUS_MANAGED.labels(provider).set(count)
        for provider in self._providers - managed.keys():
            GPUS_MANAGED.remove(provider)
        self._providers = set(managed)


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    provider: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Head(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


_read = msgspec.json.Decoder(_Head).decode
_STATES = {"True": "healthy", "False": "unhealthy"}
