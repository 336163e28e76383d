"""The loops of the server, with time that does not pass by itself."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import pytest

from pilotage.errors import Forbidden, NotFound, StorageError
from pilotage.kubernetes.core.loops.events import EVENT_LIFETIME, last_seen
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.server.loops import rounds
from pilotage.server.loops.rounds import HISTORY_COMMITS, HISTORY_SECONDS, HistoryCompaction
from pilotage.storage.interface import Operation, Put, Snapshot
from pilotage.storage.memory import MemoryStorage
from pilotage.testing.loop import VirtualLoop
from tests.seeds import seeds

from ..registries import (
    CONFIG_MAPS,
    DEFINITIONS,
    EVENTS,
    NAMESPACES,
    SECRETS,
    WIDGETS,
    Api,
    Pausing,
    definition,
    opened,
    registry_context,
    widget,
)

HOLD = "x.example.com/hold"


async def settled() -> None:
    """Run everything that can run without time passing."""
    await asyncio.sleep(0.01)


@pytest.mark.virtual_time
async def test_a_namespace_that_is_deleted_is_emptied_and_goes() -> None:
    async with opened() as api:
        await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        await api.create(DEFINITIONS, definition())
        await api.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, "mine")
        await api.create(SECRETS, {"metadata": {"name": "one"}}, "mine")
        await api.create(WIDGETS, widget("one"), "mine")
        await api.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, "default")
        await api.delete(NAMESPACES, "mine")
        await settled()
        with pytest.raises(NotFound):
            await api.get(NAMESPACES, "mine")
        assert await api.names(CONFIG_MAPS) == ["one"], "the one in the other namespace"
        assert await api.names(SECRETS) + await api.names(WIDGETS) == []


@pytest.mark.virtual_time
async def test_an_object_with_a_finalizer_holds_its_namespace() -> None:
    async with opened() as api:
        await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        await api.create(CONFIG_MAPS, {"metadata": {"name": "one", "finalizers": [HOLD]}}, "mine")
        await api.delete(NAMESPACES, "mine")
        await settled()
        status = (await api.get(NAMESPACES, "mine"))["status"]
        assert status["phase"] == "Terminating"
        assert [(one["type"], one["status"], one["message"]) for one in status["conditions"][3:]] == [
            (
                "NamespaceContentRemaining",
                "True",
                "Some resources are remaining: configmaps. has 1 resource instances",
            ),
            (
                "NamespaceFinalizersRemaining",
                "True",
                f"Some content in the namespace has finalizers remaining: {HOLD} in 1 resource instances",
            ),
        ]
        assert "deletionTimestamp" in (await api.get(CONFIG_MAPS, "one", "mine"))["metadata"]
        with pytest.raises(Forbidden):
            await api.create(CONFIG_MAPS, {"metadata": {"name": "two"}}, "mine")
        await api.patch(CONFIG_MAPS, "one", {"metadata": {"finalizers": None}}, "mine")
        await settled()
        with pytest.raises(NotFound):
            await api.get(NAMESPACES, "mine")


@pytest.mark.virtual_time
async def test_a_definition_that_is_deleted_takes_its_objects_along() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        await api.create(WIDGETS, widget("one"), "default")
        await api.create(WIDGETS, widget("held", metadata={"name": "held", "finalizers": [HOLD]}), "default")
        await api.delete(DEFINITIONS, "widgets.test.example.com")
        await settled()
        assert await api.names(WIDGETS) == ["held"]
        conditions = (await api.get(DEFINITIONS, "widgets.test.example.com"))["status"]["conditions"]
        assert conditions[-1]["reason"] == "InstanceDeletionInProgress"
        await api.patch(WIDGETS, "held", {"metadata": {"finalizers": None}}, "default")
        await settled()
        with pytest.raises(NotFound):
            await api.get(DEFINITIONS, "widgets.test.example.com")
        await api.create(DEFINITIONS, definition())
        assert await api.names(WIDGETS) == [], "a definition of the same name begins with nothing"


@pytest.mark.virtual_time
async def test_what_was_left_half_done_is_finished_at_the_next_start() -> None:
    storage = MemoryStorage()
    async with opened(storage) as api:
        await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        await api.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, "mine")
    await api.delete(NAMESPACES, "mine")  # no background loops run any more
    async with opened(storage) as again:
        await settled()
        with pytest.raises(NotFound):
            await again.get(NAMESPACES, "mine")


@pytest.mark.virtual_time
async def test_names_that_become_free_go_to_who_waited_for_them() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        await api.create(DEFINITIONS, definition("gadgets"))
        name = "gadgets.test.example.com"
        assert (await api.get(DEFINITIONS, name))["status"]["conditions"][1]["status"] == "False"
        await api.delete(DEFINITIONS, "widgets.test.example.com")
        await settled()
        assert (await api.get(DEFINITIONS, name))["status"]["conditions"][1]["status"] == "True"


@pytest.mark.virtual_time
async def test_events_go_an_hour_after_they_were_last_seen() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with opened(clock=loop.now) as api:
        subject = {"kind": "Pod", "name": "x", "namespace": "default"}
        for name in ("once", "again"):
            await api.create(EVENTS, {"metadata": {"name": name}, "involvedObject": subject}, "default")
        await asyncio.sleep(EVENT_LIFETIME.total_seconds() - 60)
        assert await api.names(EVENTS) == ["again", "once"]
        seen = loop.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        await api.patch(EVENTS, "again", {"lastTimestamp": seen, "count": 2}, "default")
        await asyncio.sleep(120)
        assert await api.names(EVENTS) == ["again"]
        await asyncio.sleep(EVENT_LIFETIME.total_seconds())
        assert await api.names(EVENTS) == []


def test_a_time_in_the_future_keeps_no_event_alive() -> None:
    now = datetime(2024, 1, 1, 12, tzinfo=UTC)
    event = {"metadata": {"creationTimestamp": "2024-01-01T10:00:00Z"}, "eventTime": "2999-01-01T00:00:00.000000Z"}
    assert last_seen(event, now) == now - timedelta(hours=2)
    assert last_seen(event | {"lastTimestamp": "2024-01-01T13:30:00+02:00"}, now) == now - timedelta(minutes=30)


async def test_history_is_kept_for_a_while() -> None:
    storage = MemoryStorage()
    history = HistoryCompaction(registry_context(storage))
    await storage.commit(Put("a", b""))
    first = storage.revision
    assert history.target(0.0) == storage.oldest
    await storage.commit(Put("a", b""))
    assert history.target(HISTORY_SECONDS - 1) == storage.oldest
    assert history.target(HISTORY_SECONDS) == first, "what was there at the beginning is old enough now"


async def test_no_more_than_so_much_history_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert HISTORY_COMMITS == 100_000
    monkeypatch.setattr(rounds, "HISTORY_COMMITS", 5)
    storage = MemoryStorage()
    for _ in range(20):
        await storage.commit(Put("a", b""))
    assert HistoryCompaction(registry_context(storage)).target(0.0) == storage.revision - 5


@pytest.mark.virtual_time
async def test_history_is_forgotten_while_the_server_runs() -> None:
    async with opened() as api:
        version = await api.version(CONFIG_MAPS)
        for name in ("a", "b"):
            await api.create(CONFIG_MAPS, {"metadata": {"name": name}}, "default")
        await asyncio.sleep(HISTORY_SECONDS + 120)
        async with api.watch(CONFIG_MAPS, resource_version=version) as events:
            assert (await anext(events))[1]["reason"] == "Expired"


class Flaky(MemoryStorage):
    """Fails to list, a given number of times."""

    failures = 0

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        if self.failures:
            self.failures -= 1
            raise StorageError("the disk is on fire")
        return await super().list(prefix, start=start, limit=limit, revision=revision)


@pytest.mark.virtual_time
async def test_a_loop_that_fails_is_logged_once_and_started_again(caplog: pytest.LogCaptureFixture) -> None:
    storage = Flaky()
    async with opened(storage) as api:
        await settled()
        await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        await api.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, "mine")
        storage.failures = 3
        with caplog.at_level(logging.INFO, "pilotage.server"):
            await api.delete(NAMESPACES, "mine")
            await asyncio.sleep(10)
        with pytest.raises(NotFound):
            await api.get(NAMESPACES, "mine")
        assert caplog.text.count("the disk is on fire") == 1
        assert caplog.text.count("Background loop runs again") == 1


async def filled(api: Api, namespace: str, writer: str) -> list[Document]:
    made: list[Document] = []
    while True:
        try:
            document = {"metadata": {"name": f"{writer}-{len(made)}"}}
            made.append(await api.create(CONFIG_MAPS, document, namespace))
        except (Forbidden, NotFound):
            return made
        await asyncio.sleep(0)


class Dawdling(Pausing):
    """Commits slowly, so that other writes can happen between a decision and its commit."""

    async def commit(self, *operations: Operation) -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        if len(operations) > 1:  # a create, which has conditions
            await asyncio.sleep(loop.random.random() / 10)
        return await super().commit(*operations)


@seeds(3, 10)
def test_nothing_slips_into_a_namespace_that_is_being_deleted(seed: int) -> None:
    from pilotage.testing import loop

    loop.run(_no_orphans(), seed=seed)


async def _no_orphans() -> None:
    async with opened(Dawdling()) as api:
        await api.create(NAMESPACES, {"metadata": {"name": "mine"}})
        async with asyncio.TaskGroup() as tasks:
            for writer in "abc":
                tasks.create_task(filled(api, "mine", writer))
            await asyncio.sleep(0.2)
            await api.delete(NAMESPACES, "mine")
        await settled()
        with pytest.raises(NotFound):
            await api.get(NAMESPACES, "mine")
        assert await api.names(CONFIG_MAPS) == []


@seeds(3, 10)
def test_nothing_slips_in_behind_a_definition_that_is_being_deleted(seed: int) -> None:
    from pilotage.testing import loop

    loop.run(_no_objects_without_a_definition(), seed=seed)


async def _widgets(api: Api, writer: str) -> None:
    for number in range(1000):
        try:
            await api.create(WIDGETS, widget(f"{writer}-{number}"), "default")
        except (Forbidden, NotFound):
            return
        await asyncio.sleep(0)


async def _no_objects_without_a_definition() -> None:
    async with opened(Pausing()) as api:
        await api.create(DEFINITIONS, definition())
        async with asyncio.TaskGroup() as tasks:
            for writer in "abc":
                tasks.create_task(_widgets(api, writer))
            for _ in range(20):
                await asyncio.sleep(0)
            await api.delete(DEFINITIONS, "widgets.test.example.com")
        await settled()
        snapshot = await api.registry.context.storage.list("/default/test.example.com/")
        assert list(snapshot.entries) == []


PODS = GroupVersionResource("", "v1", "pods")


async def deleted_pod(api: Api, name: str, node: str) -> None:
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
    await api.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")
    await api.delete(PODS, name, "default")


@pytest.mark.virtual_time
async def test_a_pod_on_a_node_that_does_not_exist_is_removed_after_its_grace_period() -> None:
    storage = MemoryStorage()
    async with opened(storage) as api:
        await deleted_pod(api, "gone", "nowhere")
        await storage.commit(Put("/default/core/nodes/here", b"{}"))
        await deleted_pod(api, "kept", "here")
        await asyncio.sleep(28)
        assert await api.names(PODS) == ["gone", "kept"]
        assert not api.registry.busy(), "time has to pass, nothing else"
        await asyncio.sleep(4)
        assert await api.names(PODS) == ["kept"], "the kubelet of a node removes its pods"
