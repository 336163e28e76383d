"""The lines about reconciles for people who watch a program: as few as suffice, and each names what happened."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

import pilotage as pt
from pilotage.history import HistoryOptions
from pilotage.types.core.v1 import ConfigMap, Secret

pytestmark = pytest.mark.virtual_time

FINALIZER = "tests.pilotage.dev/kept"
Function = Callable[[pt.Manager, pt.Request], Awaitable[pt.Result | None]]


def config(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"), data=data)


class Shown(list[str]):
    """The lines that were written, without times of day and durations."""

    def write(self, text: str) -> None:
        self.extend(re.sub(r"[0-9.e-]+ m?s\b", "TIME", line[9:]) for line in text.splitlines())


@asynccontextmanager
async def explained(
    function: Function, kind: Any = ConfigMap, only: str = ""
) -> AsyncIterator[tuple[pt.Client, Shown]]:
    """The client of another program, and the lines about the reconciles of the controller `c`."""
    options = pt.ManagerOptions(handle_signals=False, history=HistoryOptions(secret_fields=["data.password"]))
    async with pt.Manager(pt.Cluster.embedded("memory:"), options) as manager:
        pt.ControllerBuilder(manager).for_(kind).named("c").complete(lambda request: function(manager, request))
        shown = Shown()
        stop = manager.history.explain(shown.write, only)
        started = asyncio.create_task(manager.start())
        try:
            await asyncio.sleep(1)
            yield manager.cluster.client, shown
        finally:
            started.cancel()
            with suppress(asyncio.CancelledError):
                await started
            stop()


async def nothing(manager: pt.Manager, request: pt.Request) -> None:
    pass


async def test_a_write_has_its_cause_and_its_fields_and_the_event_of_it_is_one_line() -> None:
    async def sets_b(manager: pt.Manager, request: pt.Request) -> None:
        found = await manager.client.get(ConfigMap, request)
        if found.data["a"] != found.data.get("b"):
            await manager.client.patch(found, {"data": {"b": found.data["a"]}})

    async with explained(sets_b) as (other, shown):
        await other.create(config(a="1"))
        await asyncio.sleep(1)
        await other.patch(ConfigMap, {"data": {"a": "2"}}, name="a", namespace="default")
        await asyncio.sleep(1)
    assert shown == [
        "#1 c default/a",
        "because  it was created",
        "wrote    patch ConfigMap default/a: data.b: (none) → '1'",
        "result   done in TIME",
        "#2 c default/a because it was patched by #1 → wrote nothing (TIME)",
        "#3 c default/a",
        "because  it changed: data.a: '1' → '2'",
        "wrote    patch ConfigMap default/a: data.b: '1' → '2'",
        "result   done in TIME",
        "#4 c default/a because it was patched by #3 → wrote nothing (TIME)",
    ]


async def test_an_error_has_its_line_of_code_and_a_repeated_one_is_one_line() -> None:
    async def fails(manager: pt.Manager, request: pt.Request) -> None:
        if (await manager.client.get(ConfigMap, request)).data != {"a": "good"}:
            raise ValueError("bad text")

    async with explained(fails) as (other, shown):
        await other.create(config(a="bad"))
        await asyncio.sleep(0.012)
        await other.patch(ConfigMap, {"data": {"a": "good"}}, name="a", namespace="default")
        await asyncio.sleep(5)
    assert shown[:3] == ["#1 c default/a", "because  it was created", "error    ValueError: bad text (TIME)"]
    assert re.fullmatch(r" +at .*test_narrative\.py:[0-9]+ in .*fails", shown[3])
    assert shown[4] == "#2 c default/a error again, as #1: ValueError: bad text (TIME)"
    assert shown[-3:] == [
        "because  #2 failed: ValueError: bad text",
        "and      it changed: data.a: 'bad' → 'good'",
        "result   wrote nothing (TIME)",
    ]


async def test_an_object_that_was_looked_for_and_not_found_is_named_unless_it_was_created_then() -> None:
    async def looks(manager: pt.Manager, request: pt.Request) -> None:
        if request.name == "a":
            await manager.client.find(ConfigMap, "missing", namespace="default")
            await pt.create_or_patch(manager.client, config("b"))

    async with explained(looks, only="default/a") as (other, shown):
        await other.create(config())
        await asyncio.sleep(1)
    assert shown == [
        "#1 c default/a",
        "because  it was created",
        "missing  ConfigMap default/missing",
        "wrote    create ConfigMap default/b",
        "result   done in TIME",
    ]


async def test_many_merged_causes_are_folded() -> None:
    gate = asyncio.Event()

    async def waits(manager: pt.Manager, request: pt.Request) -> None:
        await gate.wait()

    async with explained(waits) as (other, shown):
        await other.create(config())
        await asyncio.sleep(0.1)
        for number in range(9):
            await other.patch(ConfigMap, {"data": {"n": str(number)}}, name="a", namespace="default")
        await asyncio.sleep(0.1)
        gate.set()
        await asyncio.sleep(0.1)
    assert shown[1:] == [
        "#2 c default/a",
        "because  it changed: data.n: (none) → '0'",
        "and      it changed: data.n: '0' → '1'",
        "and      it changed: data.n: '1' → '2'",
        "and      6 more: ConfigMap changed (6)",
        "result   wrote nothing (TIME)",
    ]


async def test_a_requeue_is_a_cause_when_it_is_due_and_not_before() -> None:
    async def later(manager: pt.Manager, request: pt.Request) -> pt.Result:
        return pt.Result(requeue_after=60)

    async with explained(later) as (other, shown):
        await other.create(config())
        await asyncio.sleep(1)
        await other.patch(ConfigMap, {"data": {"n": "1"}}, name="a", namespace="default")
        await asyncio.sleep(61)
    assert shown == [
        "#1 c default/a because it was created → wrote nothing (TIME), again in TIME",
        "#2 c default/a because it changed: data.n: (none) → '1' → wrote nothing (TIME), again in TIME",
        "#3 c default/a because #2 returned requeue_after=60 → wrote nothing (TIME), again in TIME",
    ]


async def test_a_deletion_and_the_update_that_ends_it_are_named_as_what_they_are() -> None:
    async def finalizes(manager: pt.Manager, request: pt.Request) -> None:
        found = await manager.client.find(ConfigMap, request)
        if found is not None and found.metadata.deletion_timestamp is not None:
            pt.remove_finalizer(found, FINALIZER)
            await manager.client.update(found)

    async with explained(finalizes) as (other, shown):
        made = config()
        pt.add_finalizer(made, FINALIZER)
        await other.create(made)
        await asyncio.sleep(1)
        await other.delete(made)
        await asyncio.sleep(1)
    assert shown[2].startswith("because  it changed: metadata.deletionTimestamp: (none) → ")
    assert shown[3:] == [
        f"wrote    update ConfigMap default/a: metadata.finalizers[0]: '{FINALIZER}' → (none)",
        "result   done in TIME",
        "#3 c default/a because it was deleted by #2 → wrote nothing (TIME)",
    ]


async def test_an_event_that_leads_to_a_request_twice_is_one_cause() -> None:
    async def both(obj: ConfigMap) -> list[pt.Request]:
        return [pt.Request("a", "default")] * 2

    async with pt.Manager(pt.Cluster.embedded("memory:")) as manager:
        shown = Shown()
        stop = manager.history.explain(shown.write)
        builder = pt.ControllerBuilder(manager).named("c").watches(ConfigMap, pt.enqueue_requests_from(both))
        builder.complete(lambda request: nothing(manager, request))
        await manager.cluster.client.create(config("b"))
        await manager.run_until_idle(timeout=10)
        stop()
    assert shown[-1:] == ["#1 c default/a because ConfigMap default/b existed at the start → wrote nothing (TIME)"]


async def test_a_recorded_event_and_a_failed_write_are_lines() -> None:
    async def records(manager: pt.Manager, request: pt.Request) -> None:
        found = await manager.client.get(ConfigMap, request)
        manager.event_recorder_for("tests").event(found, "Warning", "Odd", "the text is \x1b[31mred")
        with suppress(pt.NotFound):
            await manager.client.patch(ConfigMap, {"data": {}}, name="missing", namespace="default")

    async with explained(records) as (other, shown):
        await other.create(config())
        await asyncio.sleep(1)
    assert shown[:4] == [
        "#1 c default/a",
        "because  it was created",
        "event    Warning Odd: the text is \\u001b[31mred",
        'failed   patch ConfigMap default/missing: sent {"data":{}}: NotFound: configmaps "missing" not found',
    ]


async def test_secret_values_are_not_shown() -> None:
    async def copies(manager: pt.Manager, request: pt.Request) -> None:
        found = await manager.client.get(ConfigMap, request)
        meta = pt.ObjectMeta(name="copy", namespace="default")
        await pt.create_or_patch(manager.client, Secret(metadata=meta, string_data={"key": found.data["password"]}))

    async with explained(copies) as (other, shown):
        await other.create(config(password="swordfish"))
        await asyncio.sleep(1)
        await other.patch(ConfigMap, {"data": {"password": "flounder"}}, name="a", namespace="default")
        await asyncio.sleep(1)
    text = "\n".join(shown)
    assert "create Secret default/copy: " in text
    assert "data.password: 'hash " in text
    assert "swordfish" not in text
    assert "flounder" not in text


async def test_new_and_removed_fields_of_one_parent_are_together() -> None:
    async with explained(nothing) as (other, shown):
        await other.create(config())
        await asyncio.sleep(1)
        await other.patch(ConfigMap, {"data": {"a": "1", "b": "2"}}, name="a", namespace="default")
        await asyncio.sleep(1)
        await other.patch(ConfigMap, {"data": {"a": None, "b": None, "c": "3"}}, name="a", namespace="default")
        await asyncio.sleep(1)
    new, both = "data: (none) → {a: '1', b: '2'}", "data: {a: '1', b: '2'} → (none), data.c: (none) → '3'"
    assert shown[1:] == [
        f"#2 c default/a because it changed: {new} → wrote nothing (TIME)",
        f"#3 c default/a because it changed: {both} → wrote nothing (TIME)",
    ]


async def test_of_a_new_object_the_fields_that_the_server_adds_are_counted() -> None:
    async def makes(manager: pt.Manager, request: pt.Request) -> None:
        meta = pt.ObjectMeta(name="copy", namespace="default")
        await pt.create_or_patch(manager.client, Secret(metadata=meta, string_data={"key": "swordfish"}))

    async with explained(makes) as (other, shown):
        await other.create(config())
        await asyncio.sleep(1)
    assert re.fullmatch(
        r"wrote    create Secret default/copy: data\.key: 'hash [0-9a-f]+', and 1 field set by the server", shown[2]
    )
