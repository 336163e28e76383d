"""The Pods that wait for a node: those to try next, in the order of their priority, and those that fit nowhere."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from itertools import count

from pilotage.workloads.scheduling.placement import Key, PodInfo

Likeness = tuple[Hashable, ...]


def likeness(pod: PodInfo) -> Likeness:
    """Equal for Pods that fit on the same nodes."""
    return pod.namespace, pod.requirements, tuple(pod.labels.items()), pod.claims


class Queue:
    """Hands out Pods by priority, then in the order of arrival. Of Pods that are alike and fit nowhere, one is tried
    after a change, and the others only if it fits."""

    def __init__(self) -> None:
        self._waiting: dict[Key, PodInfo] = {}
        self._heap: list[tuple[int, int, Key]] = []
        self._heaped: set[Key] = set()
        self._unfit: dict[Likeness, dict[Key, None]] = {}
        self._arrivals = count()

    def __len__(self) -> int:
        return len(self._waiting)

    def get(self, key: Key) -> PodInfo | None:
        """A Pod that waits."""
        return self._waiting.get(key)

    def add(self, pod: PodInfo) -> None:
        """Try a Pod, in the state that is given."""
        self.remove(pod.key)
        self._waiting[pod.key] = pod
        self._push(pod)

    def remove(self, key: Key) -> bool:
        """Forget a Pod. Whether it waited."""
        pod = self._waiting.pop(key, None)
        if pod is None:
            return False
        self._heaped.discard(key)
        self._drop_unfit(pod)
        return True

    def pop(self) -> PodInfo | None:
        """The next Pod to try. It waits until it is removed."""
        while self._heap:
            *_, key = heapq.heappop(self._heap)
            if key in self._heaped:
                self._heaped.remove(key)
                return self._waiting[key]
        return None

    def note_unfit(self, pod: PodInfo) -> None:
        """A Pod fits nowhere as things are."""
        if pod.key in self._waiting:
            self._unfit.setdefault(likeness(pod), {})[pod.key] = None

    def wake(self) -> bool:
        """Something has changed: try one of each kind of Pods that fit nowhere. Whether there are any."""
        for keys in self._unfit.values():
            self._push(self._waiting[next(iter(keys))])
        return bool(self._heap)

    def wake_like(self, pod: PodInfo) -> None:
        """Try all that are like a Pod, which fits now, or for which there is a new reason why it does not."""
        for key in self._unfit.pop(likeness(pod), ()):
            self._push(self._waiting[key])

    def _push(self, pod: PodInfo) -> None:
        if pod.key not in self._heaped:
            self._heaped.add(pod.key)
            heapq.heappush(self._heap, (-pod.priority, next(self._arrivals), pod.key))

    def _drop_unfit(self, pod: PodInfo) -> None:
        if (alike := self._unfit.get(kind := likeness(pod))) is not None:
            alike.pop(pod.key, None)
            if not alike:
                del self._unfit[kind]
