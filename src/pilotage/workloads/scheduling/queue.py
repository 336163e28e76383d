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


class _Unfit:
    """Pods that are alike and fit nowhere, and why."""

    __slots__ = ("keys", "reason")

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.keys: dict[Key, None] = {}


class Queue:
    """Hands out Pods by priority, then in the order of arrival. Of Pods that are alike and fit nowhere, one is tried
    after a change, and the next one only if it fits, or all if there is a new reason why it does not."""

    def __init__(self) -> None:
        self._waiting: dict[Key, PodInfo] = {}
        self._heap: list[tuple[int, int, Key]] = []
        self._heaped: set[Key] = set()
        self._unfit: dict[Likeness, _Unfit] = {}
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

    def note_unfit(self, pod: PodInfo, reason: str) -> None:
        """A Pod fits nowhere as things are."""
        if self._waiting.get(pod.key) is not pod:
            return
        alike = self._unfit.setdefault(likeness(pod), _Unfit(reason))
        if alike.reason != reason:
            alike.reason = reason
            for key in alike.keys:
                if key != pod.key:
                    self._push(self._waiting[key])
        alike.keys[pod.key] = None

    def note_fit(self, pod: PodInfo) -> None:
        """A Pod has a node, and waits no longer: perhaps the next one that is like it fits, too."""
        self.remove(pod.key)
        if (alike := self._unfit.get(likeness(pod))) is not None:
            self._push(self._waiting[next(iter(alike.keys))])

    def wake(self) -> bool:
        """Something has changed: try one of each kind of Pods that fit nowhere. Whether there are Pods to try."""
        for alike in self._unfit.values():
            self._push(self._waiting[next(iter(alike.keys))])
        return bool(self._heap)

    def _push(self, pod: PodInfo) -> None:
        if pod.key not in self._heaped:
            self._heaped.add(pod.key)
            heapq.heappush(self._heap, (-pod.priority, next(self._arrivals), pod.key))

    def _drop_unfit(self, pod: PodInfo) -> None:
        if (alike := self._unfit.get(kind := likeness(pod))) is not None:
            alike.keys.pop(pod.key, None)
            if not alike.keys:
                del self._unfit[kind]
