"""The gate of a controller whose manager has shards: it admits requests for keys of this replica, and keeps the others
until their keys are handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pilotage.controller.request import Request
from pilotage.manager.shards.shards import Shards
from pilotage.rest import Fence
from pilotage.workqueue import WorkQueue

KEPT_SECONDS = 120.0
"""How long a request for an object that does not exist is kept: its owner has reconciled it by then."""
_FIRST_CHECK = 1024


class Gate:
    """Asks the shards about each request. `exists` returns whether the object of a request exists."""

    def __init__(self, shards: Shards, exists: Callable[[Request], bool]) -> None:
        self._shards = shards
        self._exists = exists
        self._kept: dict[Request, float] = {}  # when each was last kept
        self._limit = _FIRST_CHECK

    @property
    def fence(self) -> Fence:
        return self._shards.fence

    @property
    def handover_finished(self) -> bool:
        """Whether no key is being handed over."""
        return self._shards.handover_finished

    @property
    def kept(self) -> int:
        """The number of requests that wait for their keys."""
        return len(self._kept)

    @property
    def replicas(self) -> int:
        """The number of replicas that share the work."""
        return len(self._shards.members)

    def owns(self, request: Request) -> bool:
        """Whether this replica works on a request."""
        return self._shards.owns(str(request))

    @contextmanager
    def passing(self, request: Request) -> Iterator[bool]:
        """A block of work on a request; False if another replica works on it. Then the request is kept."""
        key = str(request)
        if not self._shards.begin(key):
            self._keep(request)
            yield False
            return
        try:
            yield True
        finally:
            self._shards.end(key)

    @contextmanager
    def feeding(self, queue: WorkQueue[Request]) -> Iterator[None]:
        """Add requests to the queue when their keys are handed over to this replica."""

        def release() -> None:
            for request in [request for request in self._kept if self._shards.owns(str(request))]:
                del self._kept[request]
                queue.add(request)

        unsubscribe = self._shards.subscribe(release)
        try:
            yield
        finally:
            unsubscribe()

    def _keep(self, request: Request) -> None:
        now = asyncio.get_running_loop().time()
        self._kept[request] = now
        if len(self._kept) > self._limit:
            for old in [one for one, since in self._kept.items() if now - since > KEPT_SECONDS]:
                if not self._exists(old):
                    del self._kept[old]
            self._limit = max(_FIRST_CHECK, 2 * len(self._kept))
