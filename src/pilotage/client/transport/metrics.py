"""The metrics of requests to API servers, with the names of client-go. Most of them are recorded only on request."""

from __future__ import annotations

from functools import partial

from pilotage.telemetry.metrics import REGISTRY, Registry

REQUESTS = REGISTRY.counter(
    "rest_client_requests_total",
    "Number of HTTP requests, partitioned by status code, method, and host.",
    ("code", "method", "host"),
)
_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
_registry: Registry | None = None


def register_rest_client_metrics(registry: Registry = REGISTRY) -> None:
    """Record further metrics of the clients of this process: durations, sizes, waits, name lookups and retries.

    Call it before a cluster is opened. `rest_client_requests_total` is always recorded.
    """
    global _registry
    _registry = registry
    RestClientMetrics("", registry)


def rest_client_metrics(host: str) -> RestClientMetrics | None:
    """The further metrics of a client of one host; None if they are not recorded."""
    return RestClientMetrics(host, _registry) if _registry is not None else None


class RestClientMetrics:
    """The further metrics of the requests to one host. Times are seconds."""

    def __init__(self, host: str, registry: Registry) -> None:
        self._host = host
        histogram = partial(registry.histogram, labels=("verb", "host"))
        self._duration = histogram(
            "rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb, and host.",
            buckets=_SECONDS,
        )
        self._resolution = registry.histogram(
            "rest_client_dns_resolution_duration_seconds",
            "DNS resolver latency in seconds. Broken down by host.",
            ("host",),
            buckets=_SECONDS[:-1],
        )
        self._request_size = histogram(
            "rest_client_request_size_bytes", "Request size in bytes. Broken down by verb and host.", buckets=_BYTES
        )
        self._response_size = histogram(
            "rest_client_response_size_bytes", "Response size in bytes. Broken down by verb and host.", buckets=_BYTES
        )
        self._wait = histogram(
            "rest_client_rate_limiter_duration_seconds",
            "Client side rate limiter latency in seconds. Broken down by verb, and host.",
            buckets=_SECONDS,
        )
        self._retries = registry.counter(
            "rest_client_request_retries_total",
            "Number of request retries, partitioned by status code, verb, and host.",
            ("code", "verb", "host"),
        )

    def done(self, method: str, seconds: float) -> None:
        """A request has ended, with all its attempts."""
        self._duration.labels(method, self._host).observe(seconds)

    def waited(self, method: str, seconds: float) -> None:
        """A request has waited because the client limits how many it sends at a time."""
        self._wait.labels(method, self._host).observe(seconds)

    def resolved(self, seconds: float) -> None:
        """The name of the host was looked up."""
        self._resolution.labels(self._host).observe(seconds)

    def sent(self, method: str, size: int) -> None:
        self._request_size.labels(method, self._host).observe(size)

    def received(self, method: str, size: int) -> None:
        self._response_size.labels(method, self._host).observe(size)

    def retried(self, code: str, method: str) -> None:
        """An attempt after the first one has ended."""
        self._retries.labels(code, method, self._host).inc()
