"""OpenTelemetry traces: a span for each reconcile, with children for the calls to the API server.

Off until `configure_tracing` is called; while it is off, it costs one comparison. It needs the extra `otel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer, TracerProvider

NAME = "pilotage"
_active: Tracing | None = None

Attributes = Mapping[str, str | int | bool | list[str]]


class Tracing:
    """Makes spans."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def span(self, name: str, attributes: Attributes, *, client: bool = False) -> AbstractContextManager[Any]:
        """A span for the length of a block. What the block raises is recorded, and the span has failed then."""
        from opentelemetry.trace import SpanKind

        kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
        return self._tracer.start_as_current_span(name, kind=kind, attributes=dict(attributes))

    def fail(self, error: BaseException) -> None:
        """The current span has failed, although nothing is raised out of its block."""
        from opentelemetry.trace import Status, StatusCode, get_current_span

        span = get_current_span()
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))


def configure_tracing(tracer_provider: TracerProvider | None = None, *, enabled: bool = True) -> None:
    """Trace reconciles and API calls with a tracer of this provider; without one, of OpenTelemetry's global provider.

    `enabled=False` ends it. Raises ImportError if OpenTelemetry is not installed.
    """
    global _active
    if not enabled:
        _active = None
        return
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise ImportError("OpenTelemetry traces need the extra otel: pip install 'pilotage[otel]'") from error
    _active = Tracing(trace.get_tracer(NAME, tracer_provider=tracer_provider))


def active() -> Tracing | None:
    """The tracing of this process; None if it is off."""
    return _active
