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
