"""OpenTelemetry traces: a span for each reconcile, with children for the calls to the API server.

The span of a reconcile is linked to the traces that its objects name in an annotation, which is KEP-5915's.

Off until `configure_tracing` is called; while it is off, it costs one comparison. It needs the extra `otel`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.trace import Link, Tracer, TracerProvider

NAME = "pilotage"
ANNOTATION = "tracing.k8s.io/traceparent"
"""The annotation of an object with the trace in which it was created: the header `traceparent` of W3C Trace Context."""
_MOST_LINKS = 8
_active: Tracing | None = None

Attributes = Mapping[str, str | int | bool | list[str]]


class Tracing:
    """Makes spans."""

    def __init__(self, tracer: Tracer, *, annotates: bool = False) -> None:
        self._tracer = tracer
        self.annotates = annotates
        """Whether objects that are created in a span get the annotation."""

    def span(
        self, name: str, attributes: Attributes, *, client: bool = False, causes: Iterable[str] = ()
    ) -> AbstractContextManager[Any]:
        """A span for the length of a block. What the block raises is recorded, and the span has failed then. `causes`
        are the annotations of the objects that led to it; text that is no annotation is ignored."""
        from opentelemetry.trace import SpanKind

        kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
        links = _links(causes)
        return self._tracer.start_as_current_span(name, kind=kind, attributes=dict(attributes), links=links)

    def annotation(self) -> str:
        """The annotation for objects that are created now; empty outside of a span."""
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier)
        return carrier.get("traceparent", "")

    def fail(self, error: BaseException) -> None:
        """The current span has failed, although nothing is raised out of its block."""
        from opentelemetry.trace import Status, StatusCode, get_current_span

        span = get_current_span()
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))


def _links(causes: Iterable[str]) -> list[Link]:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    read = TraceContextTextMapPropagator()
    contexts = [
        get_current_span(read.extract({"traceparent": cause}, Context())).get_span_context()
        for cause in islice(dict.fromkeys(causes), _MOST_LINKS)
    ]
    return [Link(context) for context in contexts if context.is_valid]


def configure_tracing(
    tracer_provider: TracerProvider | None = None, *, enabled: bool = True, annotate: bool = False
) -> None:
    """Trace reconciles and API calls with a tracer of this provider; without one, of OpenTelemetry's global provider.

    With `annotate`, objects that are created in a span get the annotation `tracing.k8s.io/traceparent`, so that the
    reconciles that they cause, also in other programs, are linked to that trace. `enabled=False` ends the tracing.
    Raises ImportError if OpenTelemetry is not installed.
    """
    global _active
    if not enabled:
        _active = None
        return
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise ImportError("OpenTelemetry traces need the extra otel: pip install 'pilotage[otel]'") from error
    _active = Tracing(trace.get_tracer(NAME, tracer_provider=tracer_provider), annotates=annotate)


def active() -> Tracing | None:
    """The tracing of this process; None if it is off."""
    return _active
