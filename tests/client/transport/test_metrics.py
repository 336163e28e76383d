"""The metrics of requests to API servers that are recorded on request."""

from __future__ import annotations

import asyncio

import pytest

from pilotage.client.config import Config
from pilotage.client.retries import Retries
from pilotage.client.transport import metrics
from pilotage.client.transport.sending import Sender
from pilotage.errors import ConnectionLost
from pilotage.http.limits import HTTPLimits
from pilotage.rest import EncodedRequest
from pilotage.telemetry.metrics import Registry

from ...http.scripted import CLOSE, scripted

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setattr(metrics, "_registry", None)
    made = Registry()
    metrics.register_rest_client_metrics(made)
    return made


def sums(registry: Registry, name: str) -> dict[tuple[str, ...], float]:
    """The sums and counts of a metric by its labels, without the host, which is always the same."""
    return {
        (sample.name.removeprefix(name), *(value for label, value in sample.labels if label != "host")): sample.value
        for definition, samples in registry.collect()
        if definition.name == name
        for sample in samples
        if not sample.name.endswith("_bucket")
    }


@pytest.mark.covers("T187")
async def test_sizes_durations_and_retries_are_recorded(registry: Registry) -> None:
    async with scripted([CLOSE], [OK, OK]) as server:
        sender = Sender(Config(f"http://127.0.0.1:{server.port}"), retries=Retries(first=0.0))
        try:
            answer = await sender.request(EncodedRequest("GET", "/api"))
            await sender.request(EncodedRequest("POST", "/api", body=b"1234567"))
        finally:
            await sender.close()
    assert answer.body == b"hello"
    sizes = sums(registry, "rest_client_request_size_bytes")
    assert sizes == {("_sum", "GET"): 0, ("_count", "GET"): 2, ("_sum", "POST"): 7, ("_count", "POST"): 1}
    assert sums(registry, "rest_client_response_size_bytes")["_sum", "GET"] == 5
    assert sums(registry, "rest_client_request_duration_seconds")["_count", "GET"] == 1
    assert sums(registry, "rest_client_rate_limiter_duration_seconds")["_count", "GET"] == 2
    assert sums(registry, "rest_client_request_retries_total") == {("", "200", "GET"): 1}
    assert sums(registry, "rest_client_dns_resolution_duration_seconds") == {}  # there was no name


async def test_the_lookup_of_a_name_is_measured_also_if_it_fails(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> list[object]:
        raise OSError("no such host")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", fail)
    sender = Sender(Config("http://server.invalid:80"), retries=Retries(), limits=HTTPLimits())
    with pytest.raises(ConnectionLost, match="no such host"):
        await sender.request(EncodedRequest("GET", "/api"))
    await sender.close()
    assert sums(registry, "rest_client_dns_resolution_duration_seconds")["_count",] == 1


async def test_nothing_is_recorded_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_registry", None)
    assert metrics.rest_client_metrics("host") is None
