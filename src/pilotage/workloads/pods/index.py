"""All Pods of the API server as controllers see them, by controller, by node and by namespace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from pilotage.cache.event import InformerEvent
from pilotage.cluster.cachedclient import CachedClient
from pilotage.types.core.v1 import Pod
from pilotage.workloads.pods.view import PodView, view_of

Key = tuple[str, str]
K = TypeVar("K")
Listener = Callable[[InformerEvent[Pod], PodView | None, PodView | None], None]
"""Called with an event, and the view of its Pod before and after it."""


class Pods:
    """Views of all Pods, kept up to date by the events of an informer.

    The handler is added before the sources of the controllers, so each event is here before a controller sees it.
    """

    def __init__(self, client: CachedClient) -> None:
        self._client = client
        self._all: dict[Key, PodView] = {}
        self._controlled: dict[str, dict[Key, PodView]] = {}
        self._on_node: dict[str, dict[Key, PodView]] = {}
        self._in_namespace: dict[str, dict[Key, PodView]] = {}
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        """Call a function with each event, after it is in the index. It must not block."""
        self._listeners.append(listener)

    async def current(self) -> None:
        """Wait until these are the Pods as this program has written them."""
        await self._client.wait_for_writes(Pod)

    def get(self, namespace: str, name: str) -> PodView | None:
        return self._all.get((namespace, name))

    def __len__(self) -> int:
        return len(self._all)

    def all(self) -> Collection[PodView]:
        return self._all.values()

    def controlled_by(self, uid: str) -> list[PodView]:
        """The Pods whose controller has this uid; with an empty uid, the Pods without a controller."""
        return list(self._controlled.get(uid, {}).values())

    def count_controlled_by(self, uid: str) -> int:
        """The number of Pods whose controller has this uid."""
        return len(self._controlled.get(uid, ()))

    def on_node(self, name: str) -> list[PodView]:
        """The Pods that are assigned to a node; with an empty name, the Pods that are not scheduled."""
        return list(self._on_node.get(name, {}).values())

    def in_namespace(self, namespace: str) -> list[PodView]:
        return list(self._in_namespace.get(namespace, {}).values())

    def orphans(self, namespace: str) -> list[PodView]:
        """The Pods of a namespace that no object controls."""
        return [pod for pod in self.controlled_by("") if pod.namespace == namespace]

    def note(self, event: InformerEvent[Pod]) -> None:
        """Take over an event of the informer."""
        key = event.namespace, event.name
        before = self._all.pop(key, None)
        view = view_of(event.new_data) if event.new_data is not None else None
        if view is not None:
            self._all[key] = view
        for index, value_of in (
            (self._controlled, _controller),
            (self._on_node, _node),
            (self._in_namespace, _namespace),
        ):
            _move(index, key, before, view, value_of(before) if before else None, value_of(view) if view else None)
        for listener in self._listeners:
            listener(event, before, view)


def _controller(pod: PodView) -> str:
    return pod.controller_uid


def _node(pod: PodView) -> str:
    return pod.node


def _namespace(pod: PodView) -> str:
    return pod.namespace


def _move(
    index: dict[str, dict[Key, PodView]],
    key: Key,
    before: PodView | None,
    view: PodView | None,
    old: str | None,
    new: str | None,
) -> None:
    if before is not None and old is not None and old != new:
        group = index[old]
        del group[key]
        if not group:
            del index[old]
    if view is not None and new is not None:
        index.setdefault(new, {})[key] = view


def matching(pods: Iterable[PodView], labels: dict[str, str]) -> list[PodView]:
    """The Pods that have all these labels."""
    return [pod for pod in pods if all(pod.labels.get(name) == value for name, value in labels.items())]
