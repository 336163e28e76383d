"""The read barrier: a read from an informer waits until it shows what this program has written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from pilotage.cache.informer import Informer
from pilotage.cluster.writes import PendingWrite, WriteTracker
from pilotage.errors import StaleCache
from pilotage.meta import objects
from pilotage.meta.kinds import GroupResource
from pilotage.meta.text.counts import counted
from pilotage.meta.values import Value

_PRUNED_AT = 1000
"""The number of outdated objects above which those that the informer has updated are dropped."""


class _Outdated(NamedTuple):
    """An object that an informer must not show: in a version older than `before`, or (None) in any version."""

    namespace: str
    name: str
    before: int | None
    at: float
    """The loop's time of the write."""


class UnseenWrite(Value, frozen=True):
    """A write that an informer does not show yet. `name` is empty for a write before the informer existed."""

    namespace: str
    name: str
    version: int
    """0 where the object was deleted."""
    seconds: float
    """How long ago it was written."""

    def __str__(self) -> str:
        change = f"resource version {self.version}" if self.version else "deleted"
        if not self.name:
            return f"an object ({change}), written at least {self.seconds:.3g} s ago"
        return (
            f"{self.namespace + '/' if self.namespace else ''}{self.name} ({change}), written {self.seconds:.3g} s ago"
        )


class ReadBarrier:
    """An informer, and the writes of this program that it must show before it may be read.

    Writes to objects that the informer does not select, or may not select, count only while it has them: it must
    remove them, or show them as written. Writes to a server that has lost its storage since then, and whose resource
    versions start again, are not waited for: no watch will ever report them.
    """

    def __init__(self, informer: Informer[Any], resource: GroupResource, tracker: WriteTracker) -> None:
        self.informer = informer
        self._resource = resource
        self._tracker = tracker
        self._setbacks = informer.setbacks
        selection = informer.options.selection
        self._selects = bool(informer.options.namespace or selection.label_selector or selection.field_selector)
        self._version = 0
        self._newest = ("", "", 0.0)  # namespace and name of what was written with that version, and when
        # Writes before this barrier existed. Whether a selecting informer should see them is not known.
        self._before = tracker.highest(resource)
        self._since = asyncio.get_running_loop().time()
        self._outdated: dict[str, _Outdated] = {}  # by uid
        self.close: Callable[[], None] = tracker.subscribe(resource, self._note)

    @property
    def behind(self) -> bool:
        """Whether a read would have to wait for a write."""
        self._forget_lost_writes()
        number = _number(self.informer.resource_version)
        if self._version > number or (self._before > number and not self._selects):
            return True
        return any(self._is_held(uid, outdated) for uid, outdated in self._outdated.items())

    def newest_unseen(self) -> UnseenWrite | None:
        """The newest write that the informer does not show yet; None where it shows all."""
        if not self.behind:
            return None
        now, number = asyncio.get_running_loop().time(), _number(self.informer.resource_version)
        if self._version > number:
            namespace, name, at = self._newest
            return UnseenWrite(namespace, name, self._version, now - at)
        for uid, outdated in self._outdated.items():
            if self._is_held(uid, outdated):
                return UnseenWrite(outdated.namespace, outdated.name, outdated.before or 0, now - outdated.at)
        return UnseenWrite("", "", self._before, now - self._since)

    @property
    def is_current(self) -> bool:
        """Whether it is certain that the informer shows every write so far; only `wait` looks for outdated objects."""
        self._forget_lost_writes()
        if self._outdated:
            return False
        wanted = max(self._version, self._before)
        return not wanted or wanted <= _number(self.informer.resource_version)

    async def wait(self, seconds: float) -> None:
        """Wait until the informer shows every write so far; raises StaleCache after `seconds`."""
        self._forget_lost_writes()
        number = _number(self.informer.resource_version)
        if self._before > number:
            await self._wait_for_earlier_writes(seconds)
        if self._version <= number and not self._outdated:
            return
        # As of now: writes that are made during the wait belong to later callers.
        wanted = self._version
        try:
            async with asyncio.timeout(seconds):
                await self.informer.wait_for_version(wanted)
                # A copy: writes of other tasks add to the dict during the waits.
                for uid, (namespace, name, before, _) in [*self._outdated.items()]:
                    await self.informer.wait_for_release(uid, name=name, namespace=namespace, before=before)
                    self._outdated.pop(uid, None)
        except TimeoutError:
            raise self._stale(wanted, seconds) from None

    async def _wait_for_earlier_writes(self, seconds: float) -> None:
        # Whether a selecting informer should see them is not known: it is waited for once, and after that not again.
        wanted, self._before = self._before, 0
        try:
            await self.informer.wait_for_version(wanted, timeout=seconds)
        except TimeoutError:
            if not self._selects:
                self._before = wanted
                raise self._stale(wanted, seconds) from None

    def _forget_lost_writes(self) -> None:
        if self._setbacks != self.informer.setbacks:
            self._setbacks = self.informer.setbacks
            self._version = self._before = 0
            self._outdated.clear()
            self._tracker.forget(self._resource)

    def _note(self, write: PendingWrite) -> None:
        if self._selects and not self._selected(write):
            # Not waited for by version: no event of an object that it does not select will reach the informer.
            if self.informer.holds(write.uid, name=write.name, namespace=write.namespace):
                self._outdate(write)
            return
        if write.gone:
            self._outdate(write)
        elif write.version > self._version:
            self._version = write.version
            self._newest = (write.namespace, write.name, asyncio.get_running_loop().time())

    def _outdate(self, write: PendingWrite) -> None:
        before = None if write.gone else write.version
        known = self._outdated.get(write.uid)
        if known is not None and (known.before is None or (before is not None and known.before > before)):
            return  # responses may arrive in another order than the writes
        now = asyncio.get_running_loop().time()
        self._outdated[write.uid] = _Outdated(write.namespace, write.name, before, now)
        if len(self._outdated) >= _PRUNED_AT:
            self._outdated = {uid: one for uid, one in self._outdated.items() if self._is_held(uid, one)}

    def _is_held(self, uid: str, outdated: _Outdated) -> bool:
        namespace, name, before, _ = outdated
        return self.informer.holds(uid, name=name, namespace=namespace, before=before)

    def _selected(self, write: PendingWrite) -> bool:
        if not write.data:  # then it matters only whether it is held
            return False
        header = objects.header(write.data)
        return self.informer.options.covers(namespace=header.namespace, name=header.name, labels=header.labels)

    def _stale(self, wanted: int, seconds: float) -> StaleCache:
        version = self.informer.resource_version
        missing = (
            f"version {wanted}"
            if wanted > _number(version)
            else f"deleted or changed: {counted(len(self._outdated), 'object')}"
        )
        return StaleCache(
            f"the cache of {self._resource} is at version {version or '0'} and has not seen this program's own writes "
            f"({missing}) within {seconds:g} s; retry later, or read from the server with client.api_reader",
            resource=str(self._resource),
            version=version,
            wanted=str(wanted),
        )


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
