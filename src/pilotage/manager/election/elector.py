"""Leader election: one of several replicas holds a lease and works, the others stand by.

The holder renews the lease every `retry_period`. A replica that has not seen it change for the lease's duration takes
it. Only the *rate* of the local clock matters: times in the lease are never compared with the local time.

Fencing: leadership ends `renew_deadline` after the last successful renewal was *sent*, not after its response. The
response may be late, and other replicas count the duration from the write. From then on every write that carries the
`fence` of the elector is refused before it is sent, whether or not the loop has had time to cancel the controllers; and
the embedded API server refuses writes that were sent earlier and arrive after another replica has taken the lease.
"""

from __future__ import annotations

import asyncio
import math
import random
import socket
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pilotage.client.conflicts import retry_on_conflict
from pilotage.cluster.fencing import fenced
from pilotage.errors import Conflict, PilotageError
from pilotage.manager.election.leasecandidate import Candidacy
from pilotage.manager.election.reachability import Reachability
from pilotage.manager.election.resourcelock import JITTER, LeaderElectionRecord, LeaseTimings, ResourceLock
from pilotage.manager.election.tenure import Tenure
from pilotage.manager.errors import LeaderElectionLost
from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.meta.scalars.times import Clock, MicroTime, system_clock
from pilotage.rest import Fence
from pilotage.rest.refusal import MissingPermission
from pilotage.tasks import cancel_all, is_set_within, loop_time
from pilotage.telemetry.logs import logger
from pilotage.telemetry.metrics import REGISTRY

log = logger("pilotage.leaderelection")

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

_MASTER = REGISTRY.gauge("leader_election_master_status", "1 while this process is the leader.", ("name",))

LEASE_VERBS = ("create", "get", "update", "watch")
"""What a candidate does with its Lease."""

RunElection = Callable[[Coroutine[Any, Any, Any]], Coroutine[Any, Any, None]]
"""Runs a coroutine of an election, and waits for its end."""


async def run_here(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Run the election on the loop of the caller."""
    await coroutine


@dataclass(frozen=True, slots=True)
class LeaderCallbacks:
    """Called when the leadership changes. They must return at once; what they raise is logged."""

    on_started_leading: Callable[[], None] | None = None
    """This replica leads now."""
    on_stopped_leading: Callable[[], None] | None = None
    """This replica has led and no longer does. It is not called for one that has never led."""
    on_new_leader: Callable[[str], None] | None = None
    """Another identity leads, which may be this replica."""


@dataclass(frozen=True, slots=True)
class ElectorClocks:
    """Where an elector gets times and random numbers from."""

    clock: Clock = system_clock
    """The times that are written to the lease; nothing is decided by them."""
    now: Callable[[], float] | None = None
    """The clock of deadlines: the running loop's, unless the lease is renewed in another thread than the one that reads
    `is_leader`."""
    chooser: random.Random | None = None
    """Spreads the attempts of standbys."""


class LeaderElector:
    """One candidate for a lease.

        elector = LeaderElector(LeaseLock(cluster.client, "default", "backup", cluster=cluster))
        await elector.run(back_up)

    A program may have several, each with a lease of its own. `run` is all that most programs need. `acquire` returns
    when this candidate leads; `renew` renews the lease and ends with LeaderElectionLost.
    """

    def __init__(
        self,
        lock: ResourceLock,
        timings: LeaseTimings | None = None,
        *,
        identity: str = "",
        clocks: ElectorClocks | None = None,
        obstacle: Callable[[], str] = lambda: "",
        callbacks: LeaderCallbacks | None = None,
        candidacy: Candidacy | None = None,
    ) -> None:
        """`identity` is the holder that is written to the lease: by default the host name and a UUID. `callbacks` are
        called when the leadership changes. `clocks` replaces the clocks and the random numbers. `obstacle` is called
        before each renewal and returns why this process must stop leading; empty: it may lead. With a `candidacy` the
        API server chooses the leader: this candidate is published under its name, and never takes the lease by
        itself."""
        self.identity = candidacy.name if candidacy is not None else identity or new_identity()
        self._candidacy = candidacy
        self._published: asyncio.Future[None] | None = None
        self._lock = lock
        self._timings = timings or LeaseTimings()
        clocks = clocks or ElectorClocks()
        self._clock = clocks.clock
        self._now = clocks.now or loop_time
        self._callbacks = callbacks or LeaderCallbacks()
        self._random = clocks.chooser or random.Random()  # noqa: S311 - spreads attempts, not for security
        self._observed: LeaderElectionRecord | None = None
        self._observed_at = -math.inf
        self._current = False  # whether the lock still has the record that was last written or read
        self._changed = asyncio.Event()  # set when a watch has observed another record
        reachability = Reachability(log.bind(lease=lock.name), "the leader lease", LEASE_VERBS)
        self._tenure = Tenure(lock.name, self._timings, reachability, self._now, obstacle)
        self._leading = False
        self._fence = Fence(check=self._check)
        self.has_led = False
        """Whether this process leads or has led."""

    @property
    def is_leader(self) -> bool:
        """Whether this process may act as the leader now."""
        return self._leading and not self._tenure.is_over

    @property
    def deadline(self) -> float:
        """When leadership ends unless it is renewed, in the seconds of `now`."""
        return self._tenure.deadline

    @property
    def lease(self) -> str:
        """The name of the lease."""
        return self._lock.name

    @property
    def leader(self) -> str:
        """The identity of the current leader, as last seen."""
        return self._observed.holder_identity if self._observed else ""

    @property
    def missing_permission(self) -> MissingPermission | None:
        """The permission without which the lease cannot be read or written; None where it can."""
        return self._tenure.missing_permission

    @property
    def fence(self) -> Fence:
        """What writes of the current leadership must carry (`pilotage.cluster.fencing`)."""
        return self._fence

    async def run(
        self,
        lead: Callable[[], Coroutine[Any, Any, object]],
        *,
        release_on_cancel: bool = False,
        run_election: RunElection = run_here,
    ) -> None:
        """Acquire the lease, and run `lead` while this candidate holds it; returns when `lead` does.

        Every write that `lead` starts, through any client, is refused once the lease is lost. Then `lead` is cancelled
        and awaited, and LeaderElectionLost is raised. The lease is renewed until `lead` has ended, also when `run` is
        cancelled. `release_on_cancel` releases the lease after that, so that another replica takes it at once; without
        it the lease expires. `run_election` runs what acquires and renews the lease: on this loop, or on another one.
        """
        await run_election(self.acquire())
        renewing = asyncio.ensure_future(run_election(self.renew()))
        with fenced(self._fence):
            leading = asyncio.ensure_future(lead())
        try:
            await asyncio.wait([renewing, leading], return_when=asyncio.FIRST_COMPLETED)
        finally:
            # In this order: the lease is renewed until the work under it has ended.
            interrupted = await _cancel(leading)
            lost = renewing.done()
            interrupted = await _cancel(renewing) or interrupted
            if release_on_cancel and not lost:
                await run_election(self.release())
        if interrupted:
            raise asyncio.CancelledError
        if lost:
            renewing.result()
        leading.result()

    async def campaign(self, acquired: Callable[[], object]) -> None:
        """Acquire the lease, call `acquired`, and renew the lease. Raises LeaderElectionLost when it is lost."""
        await self.acquire()
        acquired()
        await self.renew()

    async def acquire(self) -> None:
        """Try until this process leads."""
        log.info("Attempting to acquire leader lease", lease=self._lock.name, identity=self.identity)
        watching = asyncio.ensure_future(self._watch())
        if self._candidacy is not None:
            self._published = asyncio.ensure_future(self._candidacy.run())
        try:
            while not await self._try() or self._tenure.is_over:
                await self._pause()
        except BaseException:
            await self._withdraw()
            raise
        finally:
            await cancel_all(watching)
        self._begin_leading()

    async def _withdraw(self) -> None:
        """In a coordinated election: withdraw the candidate."""
        published, self._published = self._published, None
        if published is not None and self._candidacy is not None:
            await _cancel(published)
            await self._candidacy.withdraw()

    async def _pause(self) -> None:
        """Wait until the next attempt: for a retry period and its jitter, or until the lease expires. A lease that is
        released meanwhile is requested at once."""
        begun, period = self._now(), self._timings.retry_period
        until = begun + period * (1 + self._random.random() * JITTER)
        changed = False
        while True:
            expiry, now = self._expiry(), self._now()
            if changed and expiry <= now:
                return
            end = min(until, expiry) if expiry > begun else until  # expired: the last attempt has failed
            self._changed.clear()
            changed = await is_set_within(self._changed, end - now if end > now else period / 20)
            if not changed:
                return

    async def _watch(self) -> None:
        """Observe the lease as it changes, so that its expiry is known to the moment. Where a watch is not possible,
        the attempts observe it."""
        changes = getattr(self._lock, "changes", None)
        while changes is not None:
            try:
                async with changes() as records:
                    async for record in records:
                        if record != self._observed:
                            self._see(record)
                            self._changed.set()
            except Exception as error:  # forbidden, not served, a bug of a custom lock: an election needs no watch
                log.debug("Cannot watch the leader lease", lease=self._lock.name, error=error)
            await asyncio.sleep(self._timings.retry_period)

    async def renew(self) -> None:
        """Renew the lease; raises LeaderElectionLost when it is lost or could not be renewed in time."""
        try:
            while True:
                # A new timeout for each renewal: the deadline moves with every success.
                async with self._tenure.remaining():
                    await self._renew_once()
        except TimeoutError:
            raise self._end_leadership(self._tenure.end_reason()) from None
        finally:
            self._leading = False
            _MASTER.labels(self._lock.name).set(0)
            self._notify(self._callbacks.on_stopped_leading)
            await self._withdraw()

    async def release(self) -> bool:
        """Release the lease, if this process holds it, so that another replica takes it at once; returns whether it was
        released."""
        try:
            async with asyncio.timeout(self._timings.renew_deadline):
                # A late renewal of our own may arrive between the read and the write.
                return await retry_on_conflict(self._release)
        except (PilotageError, OSError, TimeoutError) as error:
            log.warning(
                "Failed to release the leader lease; another replica can acquire it when it expires",
                error=error or type(error).__name__,
            )
            return False

    async def _release(self) -> bool:
        # Read first, as client-go does: another replica may hold the lease by now.
        record = await self._lock.get()
        if record is None or record.holder_identity != self.identity:
            return False
        await self._lock.update(self._released(record))
        log.info("Released the leader lease", lease=self._lock.name)
        return True

    def check(self, tolerance: Seconds = 20.0) -> None:
        """A health check: raises if this process leads but its lease is overdue by more than `tolerance`."""
        overdue = self._now() - self._observed_at - self._timings.lease_duration
        if self._leading and overdue > seconds(tolerance, "tolerance"):
            raise LeaderElectionLost(f"the lease {self._lock.name} expired {overdue:.1f} s ago and was not renewed")

    def _begin_leading(self) -> None:
        assert self._observed is not None
        fence_of = getattr(self._lock, "fence", None)
        self._fence = fence_of(self._observed, self._check) if fence_of is not None else Fence(check=self._check)
        self._leading = self.has_led = True
        _MASTER.labels(self._lock.name).set(1)
        log.info("Successfully acquired lease", lease=self._lock.name, identity=self.identity)
        self._notify(self._callbacks.on_started_leading)

    def _check(self) -> None:
        """Refuse a write of a former leader."""
        if not self.is_leader:
            raise self._tenure.refusal()

    def _notify(self, callback: Callable[..., None] | None, *arguments: str) -> None:
        try:
            if callback is not None:
                callback(*arguments)
        except Exception:  # the election must not end because of its observers
            log.exception("Callback of the leader election failed", lease=self._lock.name)

    async def _renew_once(self) -> None:
        while True:
            await asyncio.sleep(self._timings.retry_period)
            if hindrance := self._tenure.hindrance():
                raise self._end_leadership(hindrance)
            held = await self._try()
            if held:
                return
            if held is False:
                preferred = self._observed.preferred_holder if self._observed is not None else ""
                raise self._end_leadership(
                    f"the API server prefers {preferred}" if preferred else f"it is held by {self.leader}"
                )

    async def _try(self) -> bool | None:
        """One attempt to acquire or renew the lease: whether it is held; None if it cannot be read or written."""
        held = await self._tenure.attempt(self._acquire_or_renew())
        if held is None:
            self._current = False
        return held

    async def _renew_assigned(self) -> bool:
        """Renew a lease that the API server has assigned to this candidate, unless it prefers another one."""
        found = await self._lock.get()
        if found is not None and found != self._observed:
            self._see(found)
        if found is None or not self._is_ours(found) or found.preferred_holder or not self._valid():
            return False
        await self._write(self._record(found))
        return True

    async def _acquire_or_renew(self) -> bool:
        if self._candidacy is not None:
            return await self._renew_assigned()
        if self._observed is not None and self._current and self._is_ours(self._observed) and self._valid():
            # Without a read: a renewal is one request, which meets a conflict if another replica has written since.
            try:
                await self._write(self._record(self._observed))
                return True
            except Conflict:
                pass  # another replica has written it: read it again
        found = await self._lock.get()
        if found is None:
            # The lease was deleted: a leader that creates it again continues its term.
            await self._write(self._record(self._observed if self._leading else None), create=True)
            return True
        if found != self._observed:
            self._see(found)
        self._current = True
        # `_valid` counts from when this replica saw the record change, as in client-go: clocks of hosts may differ.
        if found.holder_identity and not self._is_ours(found) and self._valid():
            return False
        await self._write(self._record(found))
        return True

    async def _write(self, record: LeaderElectionRecord, *, create: bool = False) -> None:
        sent = self._now()
        self._current = False  # if the answer is lost, it is not known which record the lock has: it must be read
        await (self._lock.create(record) if create else self._lock.update(record))
        self._current = True
        self._see(record)
        self._tenure.extend(sent)

    def _see(self, record: LeaderElectionRecord) -> None:
        if record.holder_identity != self.leader and record.holder_identity:
            log.info("New leader elected", lease=self._lock.name, identity=record.holder_identity)
            self._notify(self._callbacks.on_new_leader, record.holder_identity)
        self._observed = record
        self._observed_at = self._now()

    def _valid(self) -> bool:
        """Whether the lease is valid: its duration has not passed since it was last seen to change."""
        return self._now() < self._expiry()

    def _expiry(self) -> float:
        """When the lease expires unless it is seen to change; the time of a lease without a holder has passed."""
        if self._observed is None:
            return math.inf
        if not self._observed.holder_identity:
            return -math.inf
        duration = self._observed.lease_duration_seconds or self._timings.lease_duration
        return self._observed_at + duration

    def _is_ours(self, record: LeaderElectionRecord) -> bool:
        return record.holder_identity == self.identity

    def _record(self, old: LeaderElectionRecord | None) -> LeaderElectionRecord:
        """What to write over `old`: a renewal if it is ours, else a change of the holder."""
        now = MicroTime.of(self._clock())
        # The API has whole seconds, and refuses 0. Rounded up, so that no replica takes the lease too early.
        seconds = max(1, math.ceil(self._timings.lease_duration))
        if old is None:
            return LeaderElectionRecord(self.identity, seconds, now, now)
        if self._is_ours(old):
            return replace(old, lease_duration_seconds=seconds, renew_time=now)
        return replace(
            old,
            holder_identity=self.identity,
            lease_duration_seconds=seconds,
            acquire_time=now,
            renew_time=now,
            leader_transitions=old.leader_transitions + 1,
        )

    def _released(self, record: LeaderElectionRecord) -> LeaderElectionRecord:
        now = MicroTime.of(self._clock())
        # client-go's values. The count of transitions stays, because the fence of the next leader must differ from
        # ours.
        return replace(record, holder_identity="", lease_duration_seconds=1, acquire_time=now, renew_time=now)

    def _end_leadership(self, why: str) -> LeaderElectionLost:
        self._leading = False
        log.error("Leader election lost", lease=self._lock.name, reason=why)
        return LeaderElectionLost(f"leader election lost: {self._lock.name}: {why}")


async def _cancel(task: asyncio.Future[Any]) -> bool:
    """Cancel a task and wait for its end, even if the caller is cancelled: the lease must be renewed until the work
    under it has ended. Returns whether the caller was cancelled meanwhile."""
    task.cancel()
    interrupted = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            interrupted = True
    if not task.cancelled():
        task.exception()  # else asyncio would log it when the caller has an error of its own
    return interrupted


def new_identity() -> str:
    """Host name, underscore and a UUID, so that processes on one host differ."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def in_cluster_namespace(file: Path = NAMESPACE_FILE) -> str:
    """The namespace of the Pod that this process runs in; empty outside a Pod."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
