"""What the page is made from: the parts of a manager, as plain data at one moment."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pilotage.cache.informer import Informer
from pilotage.client.config import without_secrets
from pilotage.controller.controller import Controller, ControllerStatistics
from pilotage.controller.request import Request
from pilotage.dashboard.values import Leader, Program, Watch
from pilotage.history.history import History
from pilotage.history.records import Cause
from pilotage.manager.manager import Manager
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import MetadataOnly
from pilotage.reflector.intake import Item
from pilotage.version import installed_version

if TYPE_CHECKING:
    from pilotage.manager.lifecycle import Lifecycle


@dataclass(frozen=True, slots=True)
class Gathered:
    """The state of a manager at one moment, beside its history."""

    now: float
    leader: Leader
    shards: tuple[str, ...] = ()
    controllers: Mapping[str, ControllerStatistics] = field(default_factory=dict)
    watches: tuple[Watch, ...] = ()
    missing: tuple[str, ...] = ()
    """The missing permissions, as sentences."""


class Sources:
    """Reads a manager. `now` is the time of its loop."""

    def __init__(self, manager: Manager, lifecycle: Lifecycle, now: Callable[[], float], name: str = "") -> None:
        self._manager = manager
        self._lifecycle = lifecycle
        self.now = now
        self._started = manager.clock()
        self._members = -1
        self._named: dict[str, Controller] = {}
        self._name = name or manager.cluster.user_agent.partition("/")[0]

    @property
    def history(self) -> History:
        return self._manager.history

    @property
    def program(self) -> Program:
        cluster = self._manager.cluster
        return Program(
            name=self._name,
            pid=os.getpid(),
            version=installed_version("source"),
            started=self._started,
            python=platform.python_version(),
            storage=without_secrets(cluster.server_url) if cluster.server_url else "an API server in this process",
        )

    def time_of(self, moment: float) -> datetime:
        """The time of day of a moment of the loop."""
        history = self.history
        if history.anchor is not None:
            return history.time_of(moment)
        return self._manager.clock() + timedelta(seconds=moment - self.now())

    def moment_of(self, time: datetime) -> float:
        """The moment of the loop of a time of day."""
        return self.now() + (time - self.time_of(self.now())).total_seconds()

    def gather(self) -> Gathered:
        """The state now."""
        now = self.now()
        return Gathered(
            now=now,
            leader=self._leader(),
            shards=tuple(sorted(self._manager.shards.members)) if self._manager.shards is not None else (),
            controllers={each.name: each.statistics() for each in self.controllers()},
            watches=tuple(_watch(each, now) for each in self._informers()),
            missing=tuple(str(each) for each in self._manager.missing_permissions),
        )

    def due(self, controller: str, request: Request) -> float | None:
        """The seconds until a controller reconciles a request; None if it is not on its queue."""
        found = self._controllers_by_name().get(controller)
        return found.queue.due(request) if found is not None else None

    def class_of(self, kind: GroupVersionKind) -> type | None:
        """The class of a kind, where the program has one."""
        kinds = (each.options.kind for each in self._informers() if each.options.gvk == kind)
        return next((each for each in kinds if isinstance(each, type)), None)

    def _controllers_by_name(self) -> dict[str, Controller]:
        members = self._lifecycle.groups.entries()
        if len(members) != self._members:
            self._members = len(members)
            self._named = {each.name: each for each in self.controllers()}
        return self._named

    def controllers(self) -> list[Controller]:
        found = (entry.runnable for entry in self._lifecycle.groups.entries())
        return [*dict.fromkeys(each for each in found if isinstance(each, Controller))]

    def objects(self) -> Iterator[tuple[GroupVersionKind, Sequence[Item]]]:
        """The objects of the caches, by kind; objects of which a cache has the metadata alone come last."""
        for informer in sorted(self._informers(), key=lambda each: isinstance(each.options.kind, MetadataOnly)):
            for store in informer.stores.values():
                yield informer.options.gvk, store.items()

    def changes(self) -> int:
        """How many events the caches have received."""
        return sum(each.statistics().events for each in self._informers())

    def waiting(self) -> Iterator[Cause]:
        """The causes of the requests that are on the queues."""
        return (cause for each in self.controllers() for cause in each.queue.timed_notes())

    def _informers(self) -> list[Informer[object]]:
        caches = [self._manager.cache, *(member.cache for member in self._manager.clusters)]
        return [one for cache in caches for informer in cache.informers() for one in informer.informers]

    def _leader(self) -> Leader:
        elector = self._lifecycle.elector
        if elector is None:
            return Leader("off")
        return Leader("leading" if elector.is_leader else "waiting", elector.leader)


def _watch(informer: Informer[object], now: float) -> Watch:
    contact, namespace = informer.last_contact, informer.options.namespace
    kind = str(informer.options.gvk.group_kind)
    return Watch(
        kind=f"{kind} in {namespace}" if namespace else kind,
        objects=informer.statistics().objects,
        version=informer.resource_version,
        fresh=round(max(0.0, now - contact), 3) if contact is not None else None,
        live=informer.live and informer.has_synced,
        trouble=informer.trouble(),
    )
