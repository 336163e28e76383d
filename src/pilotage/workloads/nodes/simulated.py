"""The nodes that this process simulates: which are alive, and since when a lost node is silent."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from pilotage.meta.scalars.times import Clock

LEASES = "kube-node-lease"
"""The namespace of the Leases of nodes."""
Subscriber = Callable[[str], None]
"""Called with the name of a node that is new, was lost or has recovered."""


class SimulatedNodes:
    """A simulated node sends no heartbeats: its last heartbeat is now while it is alive, else the time of its loss."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lost: dict[str, datetime] = {}
        self._names: set[str] = set()
        self._subscribers: list[Subscriber] = []

    @property
    def names(self) -> Collection[str]:
        return self._names

    def add(self, name: str) -> None:
        """Simulate a node from now on."""
        if name not in self._names:
            self._names.add(name)
            self._notify(name)

    def remove(self, name: str) -> None:
        """Its Node object was deleted."""
        self._names.discard(name)
        self._lost.pop(name, None)

    def is_alive(self, name: str) -> bool:
        """Whether a simulated node runs; False for a node that is not simulated."""
        return name in self._names and name not in self._lost

    def last_heartbeat(self, name: str) -> datetime | None:
        """When a simulated node was alive last; None for a node that is not simulated, which has Leases."""
        return self._lost.get(name, self._clock()) if name in self._names else None

    def lose(self, name: str) -> None:
        """The node stops: it sends no heartbeats, and its Pods change no more."""
        self._lost.setdefault(name, self._clock())
        self._notify(name)

    def recover(self, name: str) -> None:
        self._lost.pop(name, None)
        self._notify(name)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call a function with each node that is new, is lost or recovers."""
        self._subscribers.append(subscriber)

    def _notify(self, name: str) -> None:
        for subscriber in self._subscribers:
            subscriber(name)
