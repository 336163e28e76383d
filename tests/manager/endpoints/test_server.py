"""Metrics and health over HTTP, on loopback."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

import pilotage as pt
from hack.cluster.running import free_ports
from pilotage.cache.informer import Informer
from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Request
from pilotage.errors import ConnectionLost, InvalidDefinition
from pilotage.http import health
from pilotage.http.client import HTTPClient
from pilotage.http.health import HealthHandler
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.manager.endpoints.readiness import readiness
from pilotage.manager.errors import AddressUnavailable, AlreadyStarted, CacheNotLive
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.reflector.change import Trouble
from pilotage.telemetry.metrics import REGISTRY
from pilotage.types.core.v1 import ConfigMap

from ..apiserver import TOKEN, api_server
from ..fakes import FakeCluster, recorded_logs, until


async def get(address: tuple[str, int], target: str, method: str = "GET") -> tuple[int, str]:
    async with HTTPClient(*address) as client:
        answer = await client.request(method, target)
        return answer.status, answer.body.decode()


BOTH = ManagerOptions(metrics_bind_address="127.0.0.1:0", health_probe_bind_address="127.0.0.1:0")


@pytest.mark.covers("T73")
async def test_metrics_are_served_and_nothing_else_and_gone_after_the_stop() -> None:
    async with Manager(FakeCluster(), BOTH) as manager:
        address = manager.metrics_address
        status, text = await get(address, "/metrics")
        assert status == 200
        assert "# TYPE pilotage_work_in_flight gauge" in text
        for path in ("/", "/metrics/more", "/healthz", "/debug/pprof"):
            assert (await get(address, path))[0] == 404
        assert (await get(address, "/metrics", "POST"))[0] == 405
        await manager.start(timeout=0)
        with pytest.raises(ConnectionLost):
            await get(address, "/metrics")


METRICS = {
    "controller_runtime_reconcile_total": ("counter", "controller result"),
    "controller_runtime_reconcile_errors_total": ("counter", "controller"),
    "controller_runtime_terminal_reconcile_errors_total": ("counter", "controller"),
    "controller_runtime_reconcile_panics_total": ("counter", "controller"),
    "controller_runtime_reconcile_timeouts_total": ("counter", "controller"),
    "controller_runtime_reconcile_time_seconds": ("histogram", "controller"),
    "controller_runtime_max_concurrent_reconciles": ("gauge", "controller"),
    "controller_runtime_active_workers": ("gauge", "controller"),
    "workqueue_depth": ("gauge", "name controller priority"),
    "workqueue_adds_total": ("counter", "name controller"),
    "workqueue_queue_duration_seconds": ("histogram", "name controller"),
    "workqueue_work_duration_seconds": ("histogram", "name controller"),
    "workqueue_unfinished_work_seconds": ("gauge", "name controller"),
    "workqueue_longest_running_processor_seconds": ("gauge", "name controller"),
    "workqueue_retries_total": ("counter", "name controller"),
    "controller_runtime_webhook_latency_seconds": ("histogram", "webhook"),
    "controller_runtime_webhook_requests_total": ("counter", "webhook code"),
    "controller_runtime_webhook_requests_in_flight": ("gauge", "webhook"),
    "controller_runtime_webhook_panics_total": ("counter", ""),
    "controller_runtime_conversion_webhook_panics_total": ("counter", ""),
    "certwatcher_read_certificate_total": ("counter", ""),
    "certwatcher_read_certificate_errors_total": ("counter", ""),
    "rest_client_requests_total": ("counter", "code method host"),
    "leader_election_master_status": ("gauge", "name"),
    "process_cpu_seconds_total": ("counter", ""),
    "process_resident_memory_bytes": ("gauge", ""),
    "process_virtual_memory_bytes": ("gauge", ""),
    "process_start_time_seconds": ("gauge", ""),
    "process_open_fds": ("gauge", ""),
    "process_max_fds": ("gauge", ""),
    "python_info": ("gauge", "version implementation major minor patchlevel"),
    "python_gc_objects_collected_total": ("counter", "generation"),
    "python_gc_objects_uncollectable_total": ("counter", "generation"),
    "python_gc_collections_total": ("counter", "generation"),
}
"""The metrics that controller-runtime always has, with their types and labels; in place of Go's, those of Python."""
OPT_IN = {
    "rest_client_request_duration_seconds": ("histogram", "verb host"),
    "rest_client_dns_resolution_duration_seconds": ("histogram", "host"),
    "rest_client_request_size_bytes": ("histogram", "verb host"),
    "rest_client_response_size_bytes": ("histogram", "verb host"),
    "rest_client_rate_limiter_duration_seconds": ("histogram", "verb host"),
    "rest_client_request_retries_total": ("counter", "code verb host"),
}


@pytest.mark.covers("T187")
async def test_the_metrics_of_controller_runtime_are_served_under_their_names_with_their_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pilotage.client.transport.metrics
    import pilotage.webhook.certificates.files
    import pilotage.webhook.conversion.webhook
    import pilotage.webhook.endpoint

    monkeypatch.setattr(pilotage.client.transport.metrics, "_registry", None)
    async with Manager(Cluster.embedded(), BOTH) as manager:
        ControllerBuilder(manager).for_(ConfigMap).complete(_no_reconcile)
        await manager.run_until_idle(timeout=30)
        _, text = await get(manager.metrics_address, "/metrics")
        assert _described(text, METRICS) == METRICS
        assert _described(text, OPT_IN) == {}
        pt.client.register_rest_client_metrics()
        _, text = await get(manager.metrics_address, "/metrics")
        assert _described(text, OPT_IN) == OPT_IN


def _described(text: str, wanted: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Those of the wanted metrics that were served, with their types and labels, which are also those of the lines."""
    served = dict(re.findall(r"^# TYPE (\S+) (\S+)", text, re.MULTILINE))
    labels = {definition.name: " ".join(definition.labels) for definition, _ in REGISTRY.collect()}
    for name, shown in re.findall(r"^([a-z_]+)\{(.*)\} ", text, re.MULTILINE):
        known = labels.get(name, "").split()
        assert [label for label in re.findall(r'(\w+)="', shown) if label != "le"] == known or name not in labels
    return {name: (served[name], labels[name]) for name in wanted if name in served}


async def _no_reconcile(request: Request) -> None:
    pass


@pytest.mark.covers("T73")
async def test_extra_handlers_are_served_beside_the_metrics() -> None:
    async def hello(request: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(200, (), b"hello")

    options = ManagerOptions(metrics_bind_address="127.0.0.1:0", metrics_extra_handlers={"/one": hello})
    async with Manager(FakeCluster(), options) as manager:
        manager.add_metrics_server_extra_handler("/below/", hello)
        address = manager.metrics_address
        assert await get(address, "/one") == (200, "hello")
        assert await get(address, "/below/all?x=1") == (200, "hello")
        assert (await get(address, "/one/more"))[0] == 404
        for taken in ("/metrics", "/one", "two"):
            with pytest.raises(InvalidDefinition):
                manager.add_metrics_server_extra_handler(taken, hello)
        await manager.run_until_idle()
        with pytest.raises(AlreadyStarted):
            manager.add_metrics_server_extra_handler("/late", hello)


@pytest.mark.covers("T58")
@pytest.mark.parametrize("option", ["metrics_bind_address", "health_probe_bind_address"])
async def test_an_address_in_use_is_an_error_when_the_manager_is_opened(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = ManagerOptions(**{option: f"127.0.0.1:{port}"})  # type: ignore[arg-type]
        cluster = FakeCluster()
        with pytest.raises(
            AddressUnavailable, match=rf"server cannot listen on 127\.0\.0\.1:{port}: Address already in use;"
        ):
            async with Manager(cluster, options):
                pytest.fail("it was opened")
        assert not cluster.is_open


async def test_a_failed_opening_leaves_no_server_behind() -> None:
    [first] = free_ports(1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = ManagerOptions(
            metrics_bind_address=f"127.0.0.1:{first}",
            health_probe_bind_address=f"127.0.0.1:{taken.getsockname()[1]}",
        )
        with pytest.raises(AddressUnavailable):
            async with Manager(FakeCluster(), options):
                pytest.fail("it was opened")
        with pytest.raises(ConnectionLost):
            await get(("127.0.0.1", first), "/metrics")


async def test_endpoints_are_off_unless_they_are_given_an_address() -> None:
    async with Manager(FakeCluster()) as manager:
        with pytest.raises(InvalidDefinition, match="metrics server"):
            _ = manager.metrics_address
        with pytest.raises(InvalidDefinition, match="health probe server"):
            _ = manager.health_probe_address


async def test_the_servers_are_logged_when_the_manager_starts() -> None:
    with recorded_logs("controller-runtime.metrics") as metrics, recorded_logs() as lines:
        async with Manager(FakeCluster(), BOTH) as manager:
            assert lines == metrics == []
            addresses = manager.metrics_address, manager.health_probe_address
            await manager.run_until_idle()
    (host, port), (other, probe) = addresses
    assert metrics == [f"Starting metrics server bind_address={host}:{port}"]
    assert lines[0] == f"Starting health probe server bind_address={other}:{probe}"


async def test_a_manager_is_alive_from_its_opening_and_ready_once_it_has_started() -> None:
    cluster = FakeCluster()
    cluster.cache.synced.clear()
    async with Manager(cluster, BOTH) as manager:
        address = manager.health_probe_address
        assert await get(address, "/healthz") == (200, "ok")
        assert (await get(address, "/readyz"))[0] == 500
        running = asyncio.ensure_future(manager.start())
        assert (await get(address, "/readyz"))[0] == 500
        cluster.cache.synced.set()
        while (await get(address, "/readyz"))[0] != 200:
            pass
        cluster.cache.live = False
        status, text = await get(address, "/readyz")
        assert (status, text) == (
            500,
            "[+]started ok\n[-]cache failed: reason withheld\n[+]ping ok\n[+]cluster ok\n[+]permissions ok\n"
            "[+]eventLoop ok\nreadyz check failed\n",
        )
        cluster.cache.live = True
        assert (await get(address, "/readyz/cache"))[0] == 200
        running.cancel()
        await asyncio.wait([running])


async def test_a_manager_that_is_stopping_is_not_ready_but_alive() -> None:
    async with Manager(FakeCluster(), BOTH) as manager:
        address = manager.health_probe_address
        work = manager.work.start("backup", "shop")
        running = asyncio.ensure_future(manager.start(timeout=0))
        await until(lambda: not manager.work.accepting)
        assert (await get(address, "/readyz"))[0] == 500
        assert (await get(address, "/healthz"))[0] == 200
        work.end()
        await running


async def test_a_runnables_ready_is_part_of_readiness() -> None:
    class Warming:
        name = "warming"
        ready = False

        async def start(self) -> None:
            await asyncio.Event().wait()

    async with Manager(FakeCluster(), BOTH) as manager:
        warming = Warming()
        manager.add(warming)
        await manager.run_until_idle()
        assert (await get(manager.health_probe_address, "/readyz/warming"))[0] == 500
        warming.ready = True
        assert (await get(manager.health_probe_address, "/readyz"))[0] == 200


async def test_checks_are_added_before_the_start_only_and_under_a_free_name() -> None:
    async with Manager(FakeCluster(), BOTH) as manager:
        manager.add_healthz_check("mine", health.ping)
        manager.add_readyz_check("mine", health.ping)
        for wrong in ("mine", "", "a/b"):
            with pytest.raises(InvalidDefinition):
                manager.add_healthz_check(wrong, health.ping)
        assert await get(manager.health_probe_address, "/healthz/mine") == (200, "ok")
        await manager.run_until_idle()
        with pytest.raises(AlreadyStarted):
            manager.add_readyz_check("late", health.ping)


async def test_the_endpoints_may_have_other_names() -> None:
    options = ManagerOptions(
        health_probe_bind_address="127.0.0.1:0", liveness_endpoint_name="/live", readiness_endpoint_name="/up"
    )
    async with Manager(FakeCluster(), options) as manager:
        assert (await get(manager.health_probe_address, "/live"))[0] == 200
        assert (await get(manager.health_probe_address, "/up"))[0] == 500
        assert (await get(manager.health_probe_address, "/healthz"))[0] == 404


def failing() -> None:
    raise RuntimeError("a secret reason")


async def asynchronous() -> None:
    await asyncio.sleep(0)


async def asked(target: str, /, **checks: Callable[[], Awaitable[object] | object]) -> tuple[int, str]:
    response = await HealthHandler("/healthz", lambda: checks)(HTTPRequest("GET", target))
    return response.status, response.body.decode()


@pytest.mark.covers("T185")
async def test_all_checks_that_hold_are_one_ok() -> None:
    assert await asked("/healthz", one=health.ping, two=asynchronous) == (200, "ok")
    assert await asked("/healthz?verbose", one=health.ping, two=asynchronous) == (
        200,
        "[+]one ok\n[+]two ok\nhealthz check passed\n",
    )


@pytest.mark.covers("T185")
async def test_without_checks_there_is_a_ping() -> None:
    assert await asked("/healthz") == (200, "ok")
    assert await asked("/healthz/ping") == (200, "ok")
    assert "[+]ping ok" in (await asked("/healthz/?verbose=1"))[1]


@pytest.mark.covers("T185")
async def test_a_failure_is_listed_and_its_reason_is_logged_and_withheld() -> None:
    with recorded_logs("pilotage.health") as lines:
        status, text = await asked("/healthz", one=health.ping, two=failing, three=lambda: False)
    assert status == 500
    assert text == (
        "[+]one ok\n[-]two failed: reason withheld\n[-]three failed: reason withheld\nhealthz check failed\n"
    )
    assert any("a secret reason" in line and "two" in line for line in lines)
    status, text = await asked("/healthz/two", two=failing)
    assert status == 500
    assert "secret" not in text


@pytest.mark.covers("T185")
async def test_checks_can_be_excluded_and_unknown_names_do_no_harm() -> None:
    assert await asked("/healthz?exclude=two", one=health.ping, two=failing) == (200, "ok")
    status, text = await asked("/healthz?exclude=two&exclude=never&verbose", one=health.ping, two=failing)
    assert status == 200
    assert text == (
        "[+]one ok\n[+]two excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "never"\nhealthz check passed\n'
    )


@pytest.mark.covers("T185")
async def test_an_unknown_check_is_not_found() -> None:
    assert (await asked("/healthz/never", one=health.ping))[0] == 404


class Sick(Exception):
    def __init__(self, state: str) -> None:
        super().__init__(f"{state} at {asyncio.get_running_loop().time()}")
        self.state = state


@pytest.mark.virtual_time
async def test_a_failing_check_is_logged_when_its_state_changes_and_not_at_every_probe() -> None:
    states = iter(["a", "a", "b", "b", "", "", "b"])

    def check() -> None:
        if state := next(states):
            raise Sick(state)

    handler = HealthHandler("/readyz", lambda: {"disk": check})
    statuses: list[int] = []
    with recorded_logs("pilotage.health") as lines:
        for _ in range(7):
            statuses.append((await handler(HTTPRequest("GET", "/readyz"))).status)
            await asyncio.sleep(10)
    assert statuses == [500, 500, 500, 500, 200, 200, 500]
    assert lines == [
        'Health check failed endpoint=/readyz check=disk error="a at 0.0"',
        'Health check failed endpoint=/readyz check=disk error="b at 20.0"',
        "Health check passes again endpoint=/readyz check=disk failed_for_seconds=40.0",
        'Health check failed endpoint=/readyz check=disk error="b at 60.0"',
    ]


async def test_a_server_that_goes_away_is_one_line_however_often_the_kubelet_asks() -> None:
    with api_server() as server:
        async with Manager(Cluster.connect(server.url, token=TOKEN), BOTH) as manager:
            await manager.cache.informer_for(ConfigMap)
            await manager.run_until_idle(60)
            address = manager.health_probe_address
            assert (await get(address, "/readyz")) == (200, "ok")
            with recorded_logs("pilotage.health") as lines:
                server.stop()
                await until(lambda: not manager.cache.live)
                answers = [await get(address, "/readyz?verbose") for _ in range(3)]
    [line] = [line for line in lines if line.startswith("Health check failed")]
    assert re.search(r"check=Cache error=\"v1, Kind=ConfigMap: no watch is open since 20\S+Z: .+\"$", line)
    failed = "[+]started ok\n[-]Cache failed: reason withheld\n[+]ping ok\n[+]cluster ok\n[+]permissions ok\n"
    assert answers == [(500, f"{failed}[+]eventLoop ok\nreadyz check failed\n")] * 3


@pytest.mark.virtual_time
async def test_readiness_of_a_cache_that_is_not_live_lists_kinds_times_and_reasons() -> None:
    async with Manager(Cluster.embedded()) as manager:
        informer = await manager.cache.informer_for(ConfigMap)
        await manager.run_until_idle(60)
        checks = readiness(manager._lifecycle, {})
        assert checks["Cache"]() is True
        await asyncio.sleep(5)
        assert isinstance(informer, Informer)
        informer._record_trouble(Trouble("watch", ConnectionError("connection refused"), 1.0))
        await asyncio.sleep(0.001)
        with pytest.raises(CacheNotLive) as raised:
            checks["Cache"]()
    assert raised.value.state == ("v1, Kind=ConfigMap",)
    since = r"2024-01-01T00:00:0\dZ"
    assert re.fullmatch(f"v1, Kind=ConfigMap: no watch is open since {since}: connection refused", str(raised.value))


@pytest.mark.virtual_time
async def test_a_check_that_hangs_has_failed() -> None:
    assert (await asked("/healthz", hanging=asyncio.Event().wait))[0] == 500
    assert asyncio.get_running_loop().time() == health.CHECK_SECONDS


@pytest.mark.parametrize("wrong", ["8080", "a:b", "::1:80", "a:65536", "a:-1", "a:", "a:\u0661"])
def test_wrong_bind_addresses_are_refused_with_the_options(wrong: str) -> None:
    with pytest.raises(InvalidDefinition, match="not a bind address"):
        ManagerOptions(metrics_bind_address=wrong)


@pytest.mark.parametrize(
    "wrong", [{"readiness_endpoint_name": "ready"}, {"metrics_extra_handlers": {"/metrics": health.ping}}]
)
def test_wrong_paths_are_refused_with_the_options(wrong: Any) -> None:
    with pytest.raises(InvalidDefinition):
        ManagerOptions(**wrong)
