"""`pilotage run --otlp`: the traces of a run at a collector."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from pilotage.cli.run.traces import exported_traces
from pilotage.kit.console.errors import CommandError
from tests import forked
from tests.cli.run.greetings import write_object, write_operator


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """A collector on a free port: its URL, and what it has received."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that the library calls
            assert self.path == "/v1/traces"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()


def test_the_reconciles_of_a_run_reach_the_collector(tmp_path: Path) -> None:
    write_operator(tmp_path)
    write_object(tmp_path)
    words = ("run", "hello.py", "--storage", "memory:", "-f", "world.yaml", "--until-idle")
    with collector() as (url, received):
        ran = forked.run("-m", "pilotage.cli", *words, "--otlp", url, folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "greeted world\n"), ran.stderr
    resources = [part for request in received for part in request.resource_spans]
    names = {span.name for part in resources for scope in part.scope_spans for span in scope.spans}
    assert any(name.startswith("Reconcile ") for name in names), names
    attributes = {each.key: each.value.string_value for each in resources[0].resource.attributes}
    assert attributes["service.name"] == "hello"


def test_a_collector_that_does_not_answer_does_not_fail_the_run(tmp_path: Path) -> None:
    write_operator(tmp_path)
    write_object(tmp_path)
    words = ("run", "hello.py", "--storage", "memory:", "-f", "world.yaml", "--until-idle")
    ran = forked.run("-m", "pilotage.cli", *words, "--otlp", "http://127.0.0.1:9", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "greeted world\n")


@pytest.mark.parametrize("url", ["collector:4317", "grpc://127.0.0.1:4317", "http://"])
def test_a_text_that_is_no_url_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(CommandError, match=r"such as http://127\.0\.0\.1:4318"), exported_traces(url, "hello"):
        pass
