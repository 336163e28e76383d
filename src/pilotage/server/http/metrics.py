"""The metrics of an API server, under kube-apiserver's names."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable

from pilotage.errors import ApiError
from pilotage.http import messages as http
from pilotage.rest.request import APIRequest, PatchType, Verb
from pilotage.server.context import RegistryContext
from pilotage.telemetry import process
from pilotage.telemetry.metrics import CONTENT_TYPE, Registry

_VERBS = {
    Verb.GET: "GET",
    Verb.LIST: "LIST",
    Verb.WATCH: "WATCH",
    Verb.CREATE: "POST",
    Verb.UPDATE: "PUT",
    Verb.PATCH: "PATCH",
    Verb.DELETE: "DELETE",
    Verb.DELETE_COLLECTION: "DELETECOLLECTION",
}
_READ_VERBS = (Verb.GET, Verb.LIST, Verb.WATCH)
_APPLY = PatchType.APPLY.value
_SECONDS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)
_LABELS = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component")


class ServerMetrics:
    """Counts the requests of one server."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context
        self._registry = Registry()
        self._requests = self._registry.counter(
            "apiserver_request_total",
            "Counter of apiserver requests by verb, resource and HTTP code.",
            (*_LABELS, "code"),
        )
        self._seconds = self._registry.histogram(
            "apiserver_request_duration_seconds", "Response latency in seconds.", _LABELS, buckets=_SECONDS
        )
        in_flight = self._registry.gauge(
            "apiserver_current_inflight_requests", "Requests that are served now, by their kind.", ("request_kind",)
        )
        self._reads, self._writes = in_flight.labels("readOnly"), in_flight.labels("mutating")
        self._objects = self._registry.gauge(
            "apiserver_storage_objects", "Number of stored objects by resource.", ("resource",)
        )
        self._counted: set[str] = set()
        process.register(self._registry)

    async def measure(
        self, request: APIRequest, answer: Awaitable[http.HTTPResponse | http.StreamingResponse]
    ) -> http.HTTPResponse | http.StreamingResponse:
        """Count a request while it is answered."""
        in_flight = self._reads if request.verb in _READ_VERBS else self._writes
        started = time.perf_counter()
        in_flight.inc()
        try:
            found = await answer
            self._observe(request, found.status, time.perf_counter() - started)
            return found
        except ApiError as error:
            self._observe(request, error.status.code, time.perf_counter() - started)
            raise
        finally:
            in_flight.dec()

    def _observe(self, request: APIRequest, code: int, seconds: float) -> None:
        group, version, resource = request.resource
        verb = "APPLY" if request.content_type == _APPLY else _VERBS[request.verb]
        scope = "resource" if request.name else "namespace" if request.namespace else "cluster"
        dry_run = "All" if request.write.dry_run or request.delete.dry_run else ""
        subresource = request.subresource.partition("/")[0]
        labels = (verb, dry_run, group, version, resource, subresource, scope, "apiserver")
        self._requests.labels(*labels, str(code)).inc()
        if request.verb is not Verb.WATCH:
            self._seconds.labels(*labels).observe(seconds)

    async def page(self) -> http.HTTPResponse:
        """The metrics in Prometheus' text format."""
        await self._count_objects()
        return http.HTTPResponse(200, [("content-type", CONTENT_TYPE)], self._registry.render().encode())

    async def _count_objects(self) -> None:
        prefix = self._context.prefix
        counts: Counter[str] = Counter()
        for entry in (await self._context.storage.list(prefix)).entries:
            group, _, rest = entry.key[len(prefix) :].partition("/")
            resource, slash, _ = rest.partition("/")
            if slash and group != "internal":
                counts[resource if group == "core" else f"{resource}.{group}"] += 1
        for name in self._counted - counts.keys():
            self._objects.remove(name)
        for name, count in counts.items():
            self._objects.labels(name).set(count)
        self._counted = set(counts)
