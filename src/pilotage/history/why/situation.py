"""The situation of one object in a program now, as plain data: what decides whether it is reconciled."""

from __future__ import annotations

from datetime import datetime

from pilotage.history.stories import Cause, Reconcile
from pilotage.meta.values import Value


class ControllerState(Value, frozen=True, omit_defaults=True, kw_only=True):
    """What a controller that watches the kind of the object does with the object."""

    name: str
    kind: str = ""
    """The kind that it reconciles; empty if its requests are not objects of one kind."""
    relation: str = "for"
    """How it watches the kind of the object: `for`, `owns` or `watches`."""
    waits_for: str = ""
    """Why it has not started, as a sentence."""
    is_stopped: bool = False
    needs_leader: bool = False
    running: float | None = None
    """The seconds for which a reconcile of the object has been running; None: none runs."""
    place: str = ""
    """The line of the program at which it is."""
    due: float | None = None
    """The seconds until the request is due; None: it is not on the queue."""
    ahead: int = 0
    """Requests that are ready and go first."""
    workers: int = 1
    tries: int = 0
    """Reconciles in a row that failed, or returned `requeue`; 0: the request is not retried."""
    error: str = ""
    """The last error of a request that is retried."""
    queued: str = ""
    """What put the request on the queue, as a sentence, where it is no event."""
    is_elsewhere: bool = False
    """Whether another replica works on the object, with shards."""
    replicas: int = 0
    """The replicas that share the work, with shards."""
    trouble: str = ""
    """Why events of its sources wait, as a sentence: a handler that fails, a period of a debounce."""


class Finalizer(Value, frozen=True, omit_defaults=True):
    """A finalizer, and the client that set it, as the managed fields name it."""

    name: str
    manager: str = ""


class HistoryState(Value, frozen=True, omit_defaults=True, kw_only=True):
    """How far a history reaches."""

    enabled: bool = True
    begins: datetime | None = None
    """When its oldest reconcile ran, if older ones were dropped; None: it has all."""
    last: Reconcile | None = None
    """The last reconcile of the object."""
    loop: Reconcile | None = None
    """The latest reconcile of the object that wrote and was caused by its own writes."""
    dropped: tuple[Cause, ...] = ()
    """The latest events of the object that led to no request, the oldest first."""


class LeadershipState(Value, frozen=True, omit_defaults=True, kw_only=True):
    """Whether this replica leads."""

    leads: bool = True
    lease: str = ""
    leader: str = ""
    """The identity of the leader, as last seen."""


class Situation(Value, frozen=True, omit_defaults=True, kw_only=True):
    """One object in a program."""

    kind: str
    namespace: str = ""
    name: str = ""
    now: datetime
    exists: bool | None = None
    """None: not known."""
    unread: str = ""
    """Why it is not known whether the object exists."""
    is_filtered: bool = False
    """Whether it exists, and the cache of its kind does not have it."""
    watched: tuple[str, ...] = ()
    """The namespaces in which its kind is watched; empty: all."""
    elsewhere: tuple[str, ...] = ()
    """Other namespaces that have an object with this name."""
    deleted: datetime | None = None
    """When its deletion was requested."""
    finalizers: tuple[Finalizer, ...] = ()
    owners: tuple[str, ...] = ()
    """Its owners, as `kind/name`."""
    controllers: tuple[ControllerState, ...] = ()
    """The controllers that watch its kind."""
    others: tuple[str, ...] = ()
    """The other controllers, as `name (Kind)`."""
    start: str = ""
    """Why the program has not started, or that it stops, as a sentence; empty while it runs."""
    leadership: LeadershipState = LeadershipState()
    watch: str = ""
    """Why the watch of the kind delivers nothing now, as a sentence."""
    history: HistoryState = HistoryState()

    @property
    def title(self) -> str:
        """`Database default/main`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"
