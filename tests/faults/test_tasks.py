"""Every task of a program is supervised: one that dies is replaced, or the program ends with an error."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

import pilotage as pt
from pilotage.cluster import Cluster
from pilotage.testing import loop as virtual
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap, Event, Secret

OPTIONS = pt.ManagerOptions(
    leader_election=True,
    leader_election_id="tasks",
    leader_election_namespace="default",
    graceful_shutdown_timeout=5,
    handle_signals=False,
)
LONG = 100.0
"""Seconds after which a program that still runs must do all its work: longer than any wait between retries."""
TASKS = {
    "caches: Cache",
    "informer of v1, Kind=ConfigMap",
    "leader-election: tasks",
    "manager: campaign",
    "manager: leader election",
    "resync of v1, Kind=ConfigMap",
    "tasks sources",
    "tasks worker 0",
    "timer source: every 10 s",
    "webhook registration",
}
"""Some of the tasks that must be among those that are tried."""
REPLACED = {"collect", "contents", "events", "history", "pods", "protect", "quotas", "roles", "storage", "terminate"}
"""Those that are started again: loops of the embedded server, and the writer of events. They die together."""


@dataclass
class Program:
    """A manager that leads, with controllers on every kind of source."""

    manager: pt.Manager
    running: asyncio.Task[None]
    channel: asyncio.Queue[ConfigMap] = field(default_factory=asyncio.Queue)
    reconciled: list[str] = field(default_factory=list)

    async def check(self) -> None:
        """Raise if something that a task is for does not happen any more."""
        client = self.manager.cluster.client.with_namespace("default")
        renewed = (await client.get(Lease, "tasks")).spec
        self.reconciled.clear()
        self.channel.put_nowait(_config_map("by-channel"))
        secret = await client.create(Secret(metadata=pt.ObjectMeta(name="secret")))
        assert secret.metadata.labels == {"seen": "yes"}, "the webhook is not called"
        owned = _config_map("owned")
        pt.set_controller_reference(secret, owned)
        await client.create(owned)
        await asyncio.sleep(30)
        assert set(self.reconciled) == {"by-channel", "by-secret", "by-timer", "by-function", "owned"}
        assert (await client.get(ConfigMap, "owned")).data == {"reconciled": "yes"}
        assert [one.involved_object.name for one in await client.list(Event)] == ["owned"]
        assert (await client.get(Lease, "tasks")).spec != renewed
        assert self.manager.cache.live
        await client.delete(Secret, "secret")
        await asyncio.sleep(30)
        assert await client.find(ConfigMap, "owned") is None, "dependents are not collected"


class Labelling:
    """A webhook."""

    async def default(self, obj: Secret) -> None:
        obj.metadata.labels["seen"] = "yes"


def _config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"))


@asynccontextmanager
async def program() -> AsyncIterator[Program]:
    async with pt.Manager(Cluster.embedded(), OPTIONS) as manager:
        made = Program(manager, asyncio.ensure_future(asyncio.sleep(0)))
        client, recorder = manager.client, manager.event_recorder_for("tasks")

        async def reconcile(request: pt.Request) -> None:
            made.reconciled.append(request.name)
            found = await client.find(ConfigMap, request)
            if found is not None and not found.data:
                await client.patch(found, {"data": {"reconciled": "yes"}})
                recorder.event(found, "Normal", "Reconciled", "it was reconciled")

        async def feed(queue: pt.WorkQueue[pt.Request]) -> None:
            while True:
                await asyncio.sleep(7)
                queue.add(pt.Request("by-function", "default"))

        builder = pt.ControllerBuilder(manager).for_(ConfigMap).named("tasks")
        builder.watches(Secret, pt.enqueue_requests_from(lambda _: [pt.Request("by-secret", "default")]))
        builder.watches_raw_source(pt.Timer(10, pt.Request("by-timer", "default")))
        builder.watches_raw_source(pt.Channel(made.channel, pt.enqueue_request_for_object))
        builder.watches_raw_source(pt.controller.Func(feed))
        builder.complete(reconcile)
        pt.WebhookBuilder(manager).for_(Secret).with_defaulter(Labelling()).complete()
        made.running = asyncio.ensure_future(manager.start())
        await manager.elected.wait()
        await asyncio.sleep(5)
        try:
            yield made
        finally:
            made.running.cancel()
            await asyncio.wait([made.running])


def others() -> list[asyncio.Task[Any]]:
    """All tasks but the running one, in an order that is the same in every run."""
    found = asyncio.all_tasks() - {asyncio.current_task()}
    return sorted(found, key=lambda task: int(task.get_name().partition("-")[2]) if _unnamed(task) else -1)


def _unnamed(task: asyncio.Task[Any]) -> bool:
    return task.get_name().startswith("Task-")


def cancel(task: asyncio.Task[Any]) -> bool:
    return task.cancel()


def fail(task: asyncio.Task[Any]) -> bool:
    """Make what the task waits for fail; False where it waits for another task, which is tried itself."""
    waits_for = task._fut_waiter  # type: ignore[attr-defined]  # asyncio has no other way
    if not isinstance(waits_for, asyncio.Future) or isinstance(waits_for, asyncio.Task) or waits_for.done():
        return False
    waits_for.set_exception(RuntimeError("injected"))
    return True


async def story(victims: Collection[tuple[str, int]], harm: Callable[[asyncio.Task[Any]], bool]) -> str:
    """The state of a program after some of its tasks were made to fail, each given by its name and its number."""
    async with program() as made:
        tasks = numbered(made)
        if not any(harm(tasks[victim]) for victim in victims):  # all of them, not the first
            return "nothing"
        await asyncio.sleep(LONG)
        if made.running.done():
            error = None if made.running.cancelled() else made.running.exception()
            assert error is not None, "the program ended without an error"
            return f"ended: {error}"
        await made.check()
        return "works"


def numbered(made: Program) -> dict[tuple[str, int], asyncio.Task[Any]]:
    """The tasks of a program. One of each kind is enough, and those without a name are parts of others."""
    found: dict[tuple[str, int], asyncio.Task[Any]] = {}
    for task in others():
        name = task.get_name()
        if not _unnamed(task) and "Secret" not in name and "0x" not in name and task is not made.running:
            found[name, sum(known == name for known, _ in found)] = task
    return found


async def names() -> list[tuple[str, int]]:
    async with program() as made:
        found = [*numbered(made)]
        await made.check()
        return found


@pytest.mark.covers("F23")
@pytest.mark.parametrize("harm", [cancel, fail], ids=lambda harm: harm.__name__)
def test_a_task_that_dies_is_replaced_or_ends_the_program_with_an_error(
    harm: Callable[[asyncio.Task[Any]], bool], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    found = virtual.run(names())
    assert {name for name, _ in found} >= TASKS | REPLACED
    together = [victim for victim in found if victim[0] in REPLACED]
    assert virtual.run(story(together, harm)) == "works"
    outcomes = {victim: virtual.run(story([victim], harm)) for victim in found if victim not in together}
    assert {outcome.partition(":")[0] for outcome in outcomes.values()} <= {"nothing", "works", "ended"}
    assert outcomes["tasks worker 0", 0].startswith("ended: ")


@pytest.mark.covers("F23")
def test_a_task_of_a_plain_group_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pilotage.controller.sources.runningsources.OwnedTasks", asyncio.TaskGroup)
    with pytest.raises(AssertionError, match="by-timer"):
        virtual.run(story([("timer source: every 10 s", 0)], cancel))
