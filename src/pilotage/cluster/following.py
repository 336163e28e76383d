"""Reading one's own writes: an informer, the writes that it has yet to see, and the wait until it has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pilotage.cache.informer import Informer
from pilotage.cluster.writes import Write, WriteTracker
from pilotage.errors import StaleCache
from pilotage.meta import objects
from pilotage.meta.kinds import GroupResource

_PRUNED_AT = 1000
"""Deletions that wait to be seen before it is looked whether they have been."""


class Following:
    """An informer, and what this program has written that it must show before it may be read.

    Writes to objects that the informer does not select are passed over, unless it still holds them: then it must let
    go of them first.
    """

    def __init__(self, informer: Informer[Any], resource: GroupResource, tracker: WriteTracker) -> None:
        self.informer = informer
        self._resource = resource
        selection = informer.options.selection
        self._selects = bool(informer.options.namespace or selection.label_selector or selection.field_selector)
        self._version = 0
        # What was written before anybody followed. Whether a selecting informer is to see it cannot be told any more.
        self._before = tracker.highest(resource)
        self._gone: dict[str, tuple[str, str]] = {}  # uid: namespace and name
        self.unfollow: Callable[[], None] = tracker.follow(resource, self._written)

    @property
    def behind(self) -> bool:
        """Whether the informer has yet to show something that was written: a read would have to wait."""
        number = _number(self.informer.resource_version)
        if self._version > number or (self._before > number and not self._selects):
            return True
        return any(self.informer.holds(uid, name=at[1], namespace=at[0]) for uid, at in self._gone.items())

    @property
    def is_current(self) -> bool:
        """Whether the informer surely shows every write so far; what is gone is looked for only by `caught_up`."""
        if self._gone:
            return False
        wanted = max(self._version, self._before)
        return not wanted or wanted <= _number(self.informer.resource_version)

    async def caught_up(self, seconds: float) -> None:
        """Wait until the informer shows every write so far; raises StaleCache when the time is over."""
        number = _number(self.informer.resource_version)
        if self._before > number:
            await self._see_what_was_before(seconds)
        if self._version <= number and not self._gone:
            return
        wanted = self._version
        try:
            async with asyncio.timeout(seconds):
                await self.informer.reached(wanted)
                for uid, (namespace, name) in [*self._gone.items()]:
                    await self.informer.released(uid, name=name, namespace=namespace)
                    self._gone.pop(uid, None)
        except TimeoutError:
            raise self._stale(wanted, seconds) from None

    async def _see_what_was_before(self, seconds: float) -> None:
        wanted, self._before = self._before, 0
        try:
            await self.informer.reached(wanted, timeout=seconds)
        except TimeoutError:
            if not self._selects:
                self._before = wanted
                raise self._stale(wanted, seconds) from None

    def _written(self, write: Write) -> None:
        if self._selects and not self._selected(write):
            if self.informer.holds(write.uid, name=write.name, namespace=write.namespace):
                self._let_go(write)
            return
        if write.gone:
            self._let_go(write)
        elif write.version > self._version:
            self._version = write.version

    def _let_go(self, write: Write) -> None:
        self._gone[write.uid] = write.namespace, write.name
        if len(self._gone) >= _PRUNED_AT:
            held = self.informer.holds
            self._gone = {uid: at for uid, at in self._gone.items() if held(uid, namespace=at[0], name=at[1])}

    def _selected(self, write: Write) -> bool:
        if not write.data:  # it is gone: only whether it is held matters
            return False
        header = objects.header(write.data)
        return self.informer.options.covers(namespace=header.namespace, name=header.name, labels=header.labels)

    def _stale(self, wanted: int, seconds: float) -> StaleCache:
        version = self.informer.resource_version
        missing = f"version {wanted}" if wanted > _number(version) else f"{len(self._gone)} deletions"
        return StaleCache(
            f"the cache of {self._resource} is at version {version or '0'} and has not seen this program's own writes "
            f"({missing}) within {seconds:g} s; try again later, or read with client.live, which asks the server",
            resource=str(self._resource),
            version=version,
            wanted=str(wanted),
        )


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
