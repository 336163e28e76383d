"""Fakes for the interfaces of a controller: an informer, a cache and a manager, without a server."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pilotage.cache.cache import Cache
from pilotage.cache.informer import Informer
from pilotage.cache.listeners import Registration
from pilotage.cache.options import InformerOptions
from pilotage.cluster import Cluster
from pilotage.controller import Controller, Event, Request, Source
from pilotage.manager.manager import Manager
from pilotage.manager.options import ControllerDefaults, ManagerOptions
from pilotage.meta.forms import Kind
from pilotage.meta.models import Model, ObjectMeta, OwnerReference, Resource, resource
from pilotage.rest.listing import ListerWatcher
from pilotage.telemetry.metrics import REGISTRY
from pilotage.workqueue import WorkQueue


class WidgetSpec(Model):
    size: int = 1


@resource(group="demo.pilotage.dev", version="v1")
class Widget(Resource):
    spec: WidgetSpec


@resource(group="demo.pilotage.dev", version="v1", scope="Cluster")
class Fleet(Resource):
    pass


@resource(group="demo.pilotage.dev", version="v1")
class Part(Resource):
    pass


def widget(name: str = "a", namespace: str = "default", *, version: str = "1", **metadata: Any) -> Widget:
    made = ObjectMeta(name=name, namespace=namespace, resource_version=version, **metadata)
    return Widget(metadata=made, spec=WidgetSpec())


def owner(
    kind: str, name: str, *, group: str = "demo.pilotage.dev/v1", controller: bool | None = None
) -> OwnerReference:
    return OwnerReference(api_version=group, kind=kind, name=name, uid=f"uid-{name}", controller=controller)


class FakeInformer(Informer[Any]):
    """Notifies its listeners of the events of a test; synced when the test says so."""

    def __init__(self, *objects: Any, synced: bool = True, kind: Kind = Widget) -> None:
        super().__init__(_no_server, InformerOptions(kind))
        self.listeners: list[Callable[[Any], None]] = []
        self._objects = objects
        self._synced = asyncio.Event()
        self.sync_error: Exception | None = None
        if synced:
            self._synced.set()

    def add_event_handler(self, listener: Callable[[Any], None], /) -> Registration:  # type: ignore[override]  # all it needs
        self.listeners.append(listener)
        for obj in self._objects:
            listener(Event.create(obj, is_in_initial_list=True)._change)
        return _Registration(self, listener)

    async def wait_for_sync(self) -> None:
        await self._synced.wait()
        if self.sync_error is not None:
            raise self.sync_error

    def sync(self) -> None:
        self._synced.set()

    def tell(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event._change)


class _Registration(Registration):
    def __init__(self, informer: FakeInformer, listener: Callable[[Any], None]) -> None:
        self._informer = informer
        self.listener = listener
        self.backlog = None

    def remove(self) -> None:
        self._informer.listeners.remove(self.listener)


class FakeCache(Cache):
    """Returns informers by kind, and counts the calls. An exception among `failures` is raised, once."""

    def __init__(self, informers: dict[Any, FakeInformer] | None = None, failures: Sequence[Exception] = ()) -> None:
        super().__init__(_no_lister_watcher)
        self.fakes = informers if informers is not None else {}
        self.failures = [*failures]
        self.asked: Counter[Any] = Counter()

    async def informer_for(self, kind: Any, *, block_until_synced: bool = False) -> FakeInformer:
        self.asked[kind] += 1
        if self.failures:
            raise self.failures.pop(0)
        return self.fakes.setdefault(kind, FakeInformer(kind=kind))


async def _no_server() -> ListerWatcher:
    raise AssertionError("a fake informer does not run")


async def _no_lister_watcher(options: InformerOptions) -> ListerWatcher:
    raise AssertionError("a fake cache has fake informers")


class FakeManager(Manager):
    """Collects what is added to it, and has a cache of fake informers."""

    def __init__(self, defaults: ControllerDefaults | None = None) -> None:
        super().__init__(Cluster.none(), ManagerOptions(controller=defaults or ControllerDefaults()))
        self.fake_cache = FakeCache()
        self.added: list[Any] = []

    @property
    def cache(self) -> Any:
        return self.fake_cache

    def add(self, runnable: Any, /) -> None:
        self.added.append(runnable)


class Feed(Source):
    """A source that puts requests on the queue when a test says so."""

    def __init__(self, *requests: str) -> None:
        self.requests = requests
        self.started = 0
        self.stopped = 0
        self.queue: WorkQueue[Request] | None = None

    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        self.started += 1
        self.queue = queue
        for name in self.requests:
            queue.add(Request(name))

    def stop(self) -> None:
        self.stopped += 1

    def __str__(self) -> str:
        return "feed"


@asynccontextmanager
async def running(controller: Controller) -> AsyncIterator[asyncio.Task[None]]:
    """The controller, running for the length of a block."""
    task = asyncio.ensure_future(controller.start())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


def metric(name: str, **labels: str) -> float:
    """A metric's value; 0 where it is not there."""
    for _, samples in REGISTRY.collect():
        for sample in samples:
            if sample.name == name and dict(sample.labels) == labels:
                return sample.value
    return 0.0
