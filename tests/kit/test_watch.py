"""`get -w` and `events --watch`: what is there, then what changes."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

import pilotage as pt
from pilotage.kit.arguments import COMMANDS
from pilotage.kit.console.terminal import Terminal
from pilotage.kit.execution import checked_function
from pilotage.kit.routes.embedded import PrintingTransport
from pilotage.kit.session import CommandSession
from pilotage.meta.mapping.mapper import RESTMapper
from tests.kit.tools import Todo, TodoSpec


class Lines(io.StringIO):
    """A stream whose lines can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: asyncio.Queue[str] = asyncio.Queue()

    def write(self, text: str) -> int:
        for line in text.splitlines():
            self.waiting.put_nowait(line)
        return len(text)


@asynccontextmanager
async def watching(cluster: pt.Cluster, line: str) -> AsyncIterator[Lines]:
    """The lines of a command that runs until it is stopped."""
    lines = Lines()
    terminal = Terminal(lines)
    transport = PrintingTransport(cluster.transport, cluster.registry)
    session = CommandSession(transport, RESTMapper(await transport.resources()), "default", terminal, terminal)
    name, *words = line.split()
    parser = argparse.ArgumentParser()
    COMMANDS[name].add(parser)
    task = asyncio.create_task(_run(name, session, parser.parse_args(words)))
    try:
        yield lines
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _run(name: str, session: CommandSession, parsed: argparse.Namespace) -> None:
    options = COMMANDS[name].typed(parsed)
    await checked_function(COMMANDS[name], options)(session, options)


def todo(name: str, text: str) -> Todo:
    return Todo(metadata=pt.ObjectMeta(name=name, namespace="default"), spec=TodoSpec(text=text))


@pytest.mark.virtual_time
async def test_a_table_is_followed_by_a_row_for_each_change() -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Todo)
        milk = await cluster.client.create(todo("milk", "one"))
        async with watching(cluster, "get todos -w --output-watch-events") as lines:
            assert await lines.waiting.get() == "EVENT      NAME   TEXT   PHASE"
            assert await lines.waiting.get() == "ADDED      milk   one    "
            milk.spec.text = "two"
            milk = await cluster.client.update(milk)
            assert await lines.waiting.get() == "MODIFIED   milk   two    "
            await cluster.client.delete(milk)
            assert await lines.waiting.get() == "DELETED    milk   two    "


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("jsonpath={.type}:{.object.spec.text}", ["ADDED:one", "MODIFIED:two"]),
        ("custom-columns=T:.type,N:.object.metadata.name", ["T       N", "ADDED   milk", "MODIFIED   milk"]),
        ("name", ["todo.todo.example.com/milk", "todo.todo.example.com/milk"]),
    ],
)
@pytest.mark.virtual_time
async def test_the_type_of_each_change_is_in_every_format(output: str, lines: list[str]) -> None:
    assert await changes(f"get todos -w --output-watch-events -o {output}") == lines


@pytest.mark.virtual_time
async def test_the_type_of_each_change_is_beside_the_object_in_json_and_yaml() -> None:
    first, second = map(json.loads, await changes("get todos -w --output-watch-events -o json"))
    assert [first["type"], second["type"]] == ["ADDED", "MODIFIED"]
    assert second["object"]["spec"]["text"] == "two"
    assert "managedFields" not in second["object"]["metadata"]
    text = await changes("get todos -w --output-watch-events -o yaml")
    assert (text[0], text.count("---"), text[-1]) == ("object:", 1, "type: MODIFIED")


async def changes(line: str) -> list[str]:
    """What a command prints about an object and a change of it."""
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Todo)
        milk = await cluster.client.create(todo("milk", "one"))
        async with watching(cluster, line) as lines:
            await asyncio.sleep(1)
            milk.spec.text = "two"
            await cluster.client.update(milk)
            await asyncio.sleep(1)
            return [lines.waiting.get_nowait() for _ in range(lines.waiting.qsize())]


@pytest.mark.virtual_time
async def test_only_changes_of_one_object_are_shown() -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Todo)
        milk = await cluster.client.create(todo("milk", "one"))
        async with watching(cluster, "get todo milk --watch-only -o jsonpath={.spec.text}") as lines:
            await asyncio.sleep(1)
            await cluster.client.create(todo("eggs", "other"))
            milk.spec.text = "two"
            await cluster.client.update(milk)
            assert await lines.waiting.get() == "two"


@pytest.mark.virtual_time
async def test_events_are_followed() -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Todo)
        milk = await cluster.client.create(todo("milk", "one"))
        recorder = cluster.event_recorder_for("test")
        recorder.event(milk, "Normal", "Bought", "at the corner")
        async with watching(cluster, "events --for todo/milk --watch --types=Normal") as lines:
            assert (await lines.waiting.get()).split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
            assert "Bought" in await lines.waiting.get()
            recorder.event(milk, "Warning", "Sour", "not shown")
            recorder.event(milk, "Normal", "Drunk", "all of it")
            assert "Drunk" in await lines.waiting.get()
