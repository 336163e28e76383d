"""Traces of a run, sent to a collector in OpenTelemetry's protocol over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from pilotage.errors import MissingExtra
from pilotage.kit.console.errors import CommandError
from pilotage.telemetry.tracing import configure_tracing

_PATH = "/v1/traces"
"""Where a collector receives traces."""
_SECONDS = 5
"""How long one attempt to send may take: the end of the program waits for it."""


@contextmanager
def exported_traces(url: str, name: str) -> Iterator[None]:
    """Send the traces of the block to the collector at `url`, in the background, as traces of the service `name`.

    A URL without a path gets the path of collectors. Raises MissingExtra, and CommandError for a text that is no URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CommandError(f"--otlp {url}: must be the URL of a collector, such as http://127.0.0.1:4318")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtra("--otlp", "otlp") from error
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    target = url if parts.path.strip("/") else f"{url.rstrip('/')}{_PATH}"
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=target, timeout=_SECONDS)))
    configure_tracing(provider)
    try:
        yield
    finally:
        configure_tracing(enabled=False)
        provider.shutdown()  # sends what is not sent yet
