"""The debug endpoint."""

from __future__ import annotations

import asyncio

import pytest

import pilotage as pt
from pilotage.http.client import HTTPClient
from pilotage.manager.endpoints import debug


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/debug/", "/debug/tasks"),
        ("/debug/tasks", "pilotage/http/"),
        ("/debug/threads", "MainThread"),
        ("/debug/loop", "delay of a callback: "),
        ("/debug/heap", "builtins."),
    ],
)
async def test_the_endpoint_shows_what_the_program_does(path: str, shown: str) -> None:
    options = pt.ManagerOptions(debug_bind_address="127.0.0.1:0")
    async with (
        pt.Manager(pt.Cluster.embedded(), options) as manager,
        HTTPClient(*manager.debug_address) as client,
    ):
        answer = await client.request("GET", path)
        assert answer.status == 200
        assert shown in answer.body.decode()
        assert (await client.request("GET", "/debug/none")).status == 404


async def test_it_is_off_by_default() -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        with pytest.raises(pt.InvalidDefinition, match="there is no debug server"):
            manager.debug_address  # noqa: B018 - raises


async def test_a_task_is_shown_with_its_name_and_where_it_waits() -> None:
    async def wait_for_an_event() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(wait_for_an_event(), name="books")
    await asyncio.sleep(0)
    assert "\nbooks\n" in f"\n{debug.tasks()}"
    assert "wait_for_an_event" in debug.tasks()
    task.cancel()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("Host", "127.0.0.1:6060")], 200),
        ([("Host", "localhost:16060"), ("Origin", "http://localhost:16060")], 200),
        ([("Host", "attacker.example:6060")], 403),
        ([("Host", "127.0.0.1:6060"), ("Origin", "http://attacker.example")], 403),
        ([("Host", "127.0.0.1:6060"), ("Sec-Fetch-Site", "cross-site")], 403),
    ],
)
async def test_a_page_of_another_site_cannot_read_it(headers: list[tuple[str, str]], status: int) -> None:
    options = pt.ManagerOptions(debug_bind_address="127.0.0.1:0")
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        answer = await asked(manager.debug_address, "/debug/why?type=configmaps&name=a", headers)
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert ("header Host names another server" in answer or "are refused" in answer) == (status == 403)


async def test_metrics_and_probes_answer_under_any_name() -> None:
    options = pt.ManagerOptions(metrics_bind_address="127.0.0.1:0", health_probe_bind_address="127.0.0.1:0")
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        for address, path in ((manager.metrics_address, "/metrics"), (manager.health_probe_address, "/healthz")):
            assert (await asked(address, path, [("Host", "prometheus.example")])).startswith("HTTP/1.1 200 ")


async def asked(address: tuple[str, int], path: str, headers: list[tuple[str, str]]) -> str:
    """The answer to a request with just these headers."""
    reader, writer = await asyncio.open_connection(*address)
    lines = "".join(f"{name}: {value}\r\n" for name, value in (*headers, ("Connection", "close")))
    writer.write(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.decode()
