"""One member of a group of replicas that share the work: it renews its lease, reads the leases of the other members,
and hands keys over.

The loop may run in another thread than the workers, so that a blocked event loop does not lose the lease. The state
that both use is protected by one lock.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from pilotage.errors import NotFound, PilotageError
from pilotage.manager.election.reachability import Reachability
from pilotage.manager.election.resourcelock import LeaseTimings
from pilotage.manager.election.tenure import Tenure
from pilotage.manager.errors import LeaderElectionLost
from pilotage.manager.shards.ownership import Member, Observations, Ownership
from pilotage.rest import Fence
from pilotage.rest.refusal import MissingPermission
from pilotage.telemetry.logs import logger
from pilotage.telemetry.metrics import REGISTRY

log = logger("pilotage.shards")

_LEASE_VERBS = ("create", "delete", "get", "list", "update")

_MEMBERS = REGISTRY.gauge("pilotage_shards_members", "Replicas that share the work, as this one sees them.", ("group",))


class MemberStore(Protocol):
    """Where the members of a group publish that they are alive, and their views."""

    @property
    def name(self) -> str: ...

    def fence(self, check: Callable[[], None]) -> Fence: ...

    async def join(self) -> None:
        """Become a member, with an empty view."""

    async def renew(self, view: frozenset[str]) -> None:
        """Renew the lease of this member, and publish a view. Raises LeaderElectionLost if the member was removed."""

    async def members(self) -> Sequence[Member]:
        """All members, not older than the call."""

    async def remove(self, member: Member) -> bool:
        """Remove a member, if it is still at this version; returns whether it was removed."""

    async def leave(self) -> None:
        """Stop being a member."""


class ShardMember:
    """A member from `join` to `leave`. `run` must run meanwhile. `begin`, `end` and `owns` are for workers."""

    def __init__(
        self,
        store: MemberStore,
        group: str,
        me: str,
        timings: LeaseTimings,
        *,
        now: Callable[[], float],
        obstacle: Callable[[], str] = lambda: "",
    ) -> None:
        """`now` is the clock of deadlines. `obstacle` is called before each renewal and returns why this process must
        give up its lease; empty: it may keep it."""
        self.group = group
        reachability = Reachability(log.bind(group=group), "the leases of the shards", _LEASE_VERBS)
        self._tenure = Tenure(store.name, timings, reachability, now, obstacle)
        self.fence = store.fence(self._tenure.check)
        self.changed: Callable[[], object] = lambda: None
        """Called when this member may own other keys than before, in the thread of `run`."""
        self._store = store
        self._timings = timings
        self._now = now
        self._lock = threading.Lock()  # for the three below
        self._ownership = Ownership(me)
        self._active: Counter[str] = Counter()
        self._wake: Callable[[], object] = lambda: None
        self._observations = Observations()

    # for workers

    def begin(self, key: str) -> bool:
        """Begin to work on a key, if this member owns it; then `end` must be called."""
        with self._lock:
            if self._tenure.is_over or not self._ownership.owns(key):
                return False
            self._active[key] += 1
            return True

    def end(self, key: str) -> None:
        """The work on a key has ended."""
        with self._lock:
            self._active[key] -= 1
            if not self._active[key]:
                del self._active[key]
            waits = self._ownership.wanted != self._ownership.published
            wake = self._wake
        if waits:
            wake()

    def owns(self, key: str) -> bool:
        """Whether this member may work on a key now."""
        return not self._tenure.is_over and self._ownership.owns(key)

    @property
    def missing_permission(self) -> MissingPermission | None:
        """The permission without which the leases cannot be read or written; None where they can."""
        return self._tenure.missing_permission

    @property
    def handover_finished(self) -> bool:
        """Whether all members have published the view of this one."""
        ownership = self._ownership
        return ownership.confirmed and all(
            view == ownership.wanted for view in (ownership.published, *ownership.others.values())
        )

    @property
    def members(self) -> frozenset[str]:
        """The members that this one divides the keys among."""
        return self._ownership.wanted.members

    # the loop

    async def run(self) -> None:
        """Join the group, renew the lease and watch the other members. Raises LeaderElectionLost when the lease is
        lost."""
        woken = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._wake = lambda: loop.call_soon_threadsafe(woken.set)
        await self._join()
        try:
            while True:
                async with self._tenure.remaining():
                    renewed = await self._attempt()
                    if not renewed:
                        await asyncio.sleep(self._timings.retry_period)
                if renewed:
                    await self._pause(woken)
        except TimeoutError:
            raise self._lost(self._tenure.end_reason()) from None
        finally:
            self._tenure.end()
            self._wake = lambda: None

    async def leave(self) -> None:
        """Delete the lease, after the last work has ended, so that other members take over at once."""
        try:
            async with asyncio.timeout(self._timings.renew_deadline):
                await self._store.leave()
        except (PilotageError, OSError, TimeoutError) as error:
            log.warning("Failed to leave the shards; the lease expires", group=self.group, error=error)

    async def _join(self) -> None:
        while True:
            sent = self._now()
            if await self._tenure.attempt(self._join_once()):
                self._tenure.extend(sent)
                log.info("Joined the shards", group=self.group, lease=self._store.name)
                return
            await asyncio.sleep(self._timings.retry_period)

    async def _join_once(self) -> bool:
        await self._store.join()
        return True

    async def _pause(self, woken: asyncio.Event) -> None:
        """Until the next renewal; shorter if a view waits for the last work on keys that move."""
        woken.clear()
        if self._is_due():
            return
        try:
            async with asyncio.timeout(self._timings.retry_period):
                while not self._is_due():
                    await woken.wait()
                    woken.clear()
        except TimeoutError:
            pass

    def _is_due(self) -> bool:
        """Whether another view can be published now."""
        with self._lock:
            ownership = self._ownership
            return ownership.wanted != ownership.published and ownership.may_publish(self._active)

    async def _attempt(self) -> bool:
        """Renew, publish and read once; returns whether it succeeded."""
        if hindrance := self._tenure.hindrance():
            raise self._lost(hindrance)
        try:
            return bool(await self._tenure.attempt(self._renew_and_read(), final=(LeaderElectionLost,)))
        except LeaderElectionLost as error:
            raise self._lost(str(error)) from None

    async def _renew_and_read(self) -> bool:
        await self._renew()
        await self._read()
        return True

    async def _renew(self) -> None:
        with self._lock:
            ownership = self._ownership
            # Nothing begins on keys that move while they are drained: `owns` looks at both views.
            view = ownership.wanted if ownership.may_publish(self._active) else ownership.published
        sent = self._now()
        await self._store.renew(view.members)
        was_late = self._tenure.is_over
        self._tenure.extend(sent)
        with self._lock:
            self._ownership = self._ownership.after_publishing(view)
        if was_late:
            self.changed()  # workers may have been refused a moment ago

    async def _read(self) -> None:
        members = list(await self._store.members())
        for expired in self._observations.observe(members, self._now()):
            if expired.name != self._ownership.me and await self._store.remove(expired):
                log.info("Took over from a member whose lease has expired", group=self.group, member=expired.name)
                members.remove(expired)
        with self._lock:
            before = self._ownership
            if before.me not in {member.name for member in members}:
                raise NotFound(f"the lease {self._store.name} was deleted")  # the next renewal notices it, too
            self._ownership = before.after_reading(members)
            after = self._ownership
        if after.wanted != before.wanted:
            _MEMBERS.labels(self.group).set(len(members))
            log.info("Shard members changed", group=self.group, members=len(members))
        if after != before:
            self.changed()

    def _lost(self, why: str) -> LeaderElectionLost:
        self._tenure.end()
        log.error("Left the shards", group=self.group, reason=why)
        return LeaderElectionLost(f"the shards {self.group}: {self._store.name}: {why}")
