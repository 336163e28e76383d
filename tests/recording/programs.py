"""Programs that are recorded, in virtual time."""

from __future__ import annotations

import random
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pilotage as pt
from pilotage.history import HistoryOptions, Reconcile
from pilotage.testing import loop
from pilotage.types.core.v1 import ConfigMap, Secret

FILE_BYTES = 2 * 2**20
"""Small: the folder of tests may be in memory."""


class GreetingSpec(pt.Model):
    text: str = "hello"


class GreetingStatus(pt.Model):
    seen: int = 0


@pt.resource(group="recording.pilotage.dev", version="v1")
class Greeting(pt.Resource):
    spec: GreetingSpec = GreetingSpec()
    status: GreetingStatus | None = None


class GreetingReconciler:
    """Writes a ConfigMap with the text, the time and random values."""

    def __init__(self, manager: pt.Manager) -> None:
        self.manager = manager
        self.client = manager.client

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Greeting).owns(ConfigMap).complete(self)

    async def reconcile(self, request: pt.Request) -> pt.Result:
        greeting = await self.client.get(Greeting, request)
        found = await self.client.find(ConfigMap, request)
        if found is not None and (found.data or {}).get("text") == self.text(greeting):
            return pt.Result()
        meta = pt.ObjectMeta(name=request.name, namespace=request.namespace)
        at = (self.manager.clock() + timedelta(seconds=random.randint(1, 60))).isoformat()
        data = {"text": self.text(greeting), "at": at, "uid": str(uuid.uuid4())}
        await pt.create_or_patch(self.client, ConfigMap(metadata=meta, data=data), owner=greeting)
        return pt.Result(requeue_after=60)

    def text(self, greeting: Greeting) -> str:
        return greeting.spec.text


class SecretReconciler(GreetingReconciler):
    """Copies a value of a Secret."""

    async def reconcile(self, request: pt.Request) -> pt.Result:
        secret = await self.client.get(Secret, "password", namespace=request.namespace)
        meta = pt.ObjectMeta(name=request.name, namespace=request.namespace)
        copied = Secret(metadata=meta, data={"copy": (secret.data or {})["password"]})
        await pt.create_or_patch(self.client, copied)
        return pt.Result()


Setup = Callable[[pt.Manager], object]
Act = Callable[[pt.Manager], Awaitable[None]]


async def greet(manager: pt.Manager) -> None:
    """Create three greetings, and change each twice."""
    client = manager.cluster.client.with_namespace("default")
    for name in ("a", "b", "c"):
        await client.create(Greeting(metadata=pt.ObjectMeta(name=name), spec=GreetingSpec(text="hello")))
    await manager.run_until_idle()
    for text in ("bye", "again"):
        for name in ("a", "b", "c"):
            await client.patch(Greeting, {"spec": {"text": text}}, name=name)
        await manager.run_until_idle()


def record(
    path: Path,
    setup: Setup = lambda manager: GreetingReconciler(manager).setup_with_manager(manager),
    act: Act = greet,
    **options: object,
) -> list[Reconcile]:
    """Record a program, and return its reconciles as it had them itself."""

    async def main() -> list[Reconcile]:
        history = HistoryOptions(file=str(path), **{"max_file_bytes": FILE_BYTES, **options})  # type: ignore[arg-type]  # as the caller writes them
        settings = pt.ManagerOptions(history=history, handle_signals=False)
        async with pt.Manager(pt.Cluster.embedded(), settings) as manager:
            await manager.cluster.install(Greeting)
            setup(manager)
            await act(manager)
        return [*manager.history.reconciles()]

    return loop.run(main())
