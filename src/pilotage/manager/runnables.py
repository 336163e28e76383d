"""Runnables: what a manager runs, and which of its groups each belongs to."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pilotage.errors import InvalidDefinition
from pilotage.meta.kinds import GroupKind, GroupVersionKind
from pilotage.meta.values import Value

if TYPE_CHECKING:
    from pilotage.history.why.situation import ControllerState


class Group(StrEnum):
    """Groups that start and stop together. A runnable may set its group in the attribute `runnable_group`."""

    HTTP_SERVERS = "http-servers"
    WEBHOOKS = "webhooks"
    DEFINITIONS = "definitions"
    CACHES = "caches"
    OTHERS = "others"
    WARM_UP = "warm-up"
    LEADER_ELECTION = "leader-election"


START_ORDER = (
    Group.HTTP_SERVERS,
    Group.WEBHOOKS,
    Group.DEFINITIONS,
    Group.CACHES,
    Group.OTHERS,
    Group.WARM_UP,
)
"""The start order; then the election, then LEADER_ELECTION. Servers start before caches: a list may need a conversion
webhook of this program, and the kubelet must not restart a program that still fills a large cache. CRDs are installed
between the two: with the webhook that converts their objects, and before they are listed."""

STOP_ORDER = (
    Group.WARM_UP,
    Group.OTHERS,
    Group.LEADER_ELECTION,
    Group.CACHES,
    Group.DEFINITIONS,
    Group.WEBHOOKS,
    Group.HTTP_SERVERS,
)
"""The stop order: users of the caches stop before the caches, and probes are answered until the end."""


class Runnable(Protocol):
    """Something that runs: `start` returns when it is cancelled or has nothing left to do.

    It may also have (all optional):

    - `needs_leader_election: bool`, True if absent: whether it runs only in the leader;
    - `async warm_up()`: run before the election is won, so that the failover is fast;
    - `stop_accepting()`: called when a shutdown begins, before anything is cancelled;
    - `idle(horizon: float) -> bool`: whether there is nothing to do now or in the next `horizon` seconds;
    - `busy(horizon: float) -> Sequence[str]`: why it is not idle, as sentences for the message of NotIdle;
    - `ready`: a bool, or a function that returns one or raises: part of the manager's readiness while it runs;
    - `async wait_started()`, with a `runnable_group`: the next group starts when it returns;
    - `name: str`: its name in logs.
    """

    async def start(self) -> None: ...


@runtime_checkable
class CacheLike(Protocol):
    """A cache: runs until cancelled, and can be waited for until it is synced."""

    async def run(self) -> None: ...

    async def wait_for_sync(self) -> object: ...


class Repeated(Value, frozen=True):
    """A request that a controller reconciles repeatedly."""

    controller: str
    namespace: str
    name: str
    reconciles: int


@runtime_checkable
class ReconcilingRunnable(Protocol):
    """A controller, as runs until idle and runs for one object need it."""

    @property
    def kind(self) -> GroupVersionKind | None:
        """The kind of its requests; None if they are not objects of one kind."""

    def reconcile_object(self, name: str, namespace: str = "") -> None:
        """Add a request for an object, as if it had changed."""

    def failing(self, horizon: float) -> Sequence[str]:
        """The requests that have failed, if nothing is left to do but to retry them; else none."""

    def repeated(self) -> Sequence[Repeated]:
        """The requests that were reconciled very often since the count began."""

    def count_reconciles(self, stalled: Callable[[], None] | None) -> None:
        """Count from now on how often each request is reconciled; None: stop counting."""


@runtime_checkable
class ExplainableRunnable(Protocol):
    """A controller that reports what it does with an object."""

    @property
    def kind(self) -> GroupVersionKind | None:
        """The kind of its requests; None if they are not objects of one kind."""

    def state_of(self, kind: GroupKind, name: str, namespace: str) -> ControllerState | None:
        """What it does with an object of a kind; None if it does not watch the kind."""


AnyRunnable = Runnable | CacheLike | Callable[[], Awaitable[None]]

Start = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The optional members of a runnable. They are looked up here and nowhere else, once, when it is added."""

    idle: Callable[[float], bool] = lambda horizon: True
    busy: Callable[[float], Sequence[str]] = lambda horizon: ()
    """Why it is not idle."""
    stop_accepting: Callable[[], object] = lambda: None
    stop: Callable[[float | None], Awaitable[bool]] | None = None
    """Stops it in order; None: it is cancelled."""
    ready: Callable[[], object] | None = None
    """Part of the manager's readiness: of a cache, whether its watches are live."""
    troubles: Callable[[], Mapping[str, str]] | None = None
    """Why it is not ready."""
    unsynced: Callable[[], Sequence[str]] = lambda: ()
    """The kinds that its start waits for."""
    controller: ReconcilingRunnable | None = None
    """The runnable, if it is a controller."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A runnable in one group."""

    group: Group
    name: str
    run: Start
    runnable: object
    ready: Callable[[], Awaitable[object]] | None = None
    """Awaited before the next group starts, for runnables that were added before the start."""
    hooks: Hooks = Hooks()


def group_members(runnable: AnyRunnable) -> list[GroupMember]:
    """The entries of a runnable. One that warms up has two: its warm-up and its start."""
    name = name_of(runnable)
    run = _start_of(runnable)
    group, ready = _group_of(runnable, name)
    hooks = _hooks_of(runnable, name, "live" if group is Group.CACHES else "ready")
    found = [GroupMember(group, name, run, runnable, ready, hooks)]
    warm_up = getattr(runnable, "warm_up", None) if ready is None else None
    if warm_up is not None:
        warming = replace(hooks, ready=None, stop_accepting=Hooks().stop_accepting)
        run = _coroutine_function(warm_up)
        found.append(GroupMember(Group.WARM_UP, f"{name} warm-up", run, runnable, hooks=warming))
    return found


def _group_of(runnable: AnyRunnable, name: str) -> tuple[Group, Callable[[], Awaitable[object]] | None]:
    """The group of a runnable, and what is awaited before the next group starts."""
    if isinstance(group := getattr(runnable, "runnable_group", None), str):
        return _group(group, name), getattr(runnable, "wait_started", None)
    if isinstance(runnable, CacheLike):
        return Group.CACHES, runnable.wait_for_sync
    needed = getattr(runnable, "needs_leader_election", True)
    needs_leader_election = needed() if callable(needed) else needed
    return Group.LEADER_ELECTION if needs_leader_election else Group.OTHERS, None


def _hooks_of(runnable: object, name: str, ready: str) -> Hooks:
    """`ready` names the member that is part of readiness: a value, or a function that returns it."""

    def is_ready() -> object:
        found = getattr(runnable, ready)
        return found() if callable(found) else bool(found)

    found: dict[str, Any] = {"busy": lambda horizon: (f"{name} has work to do",)}
    for member in ("idle", "busy", "stop_accepting", "troubles", "unsynced"):
        if callable(function := getattr(runnable, member, None)):
            found[member] = function
    if inspect.iscoroutinefunction(stop := getattr(runnable, "stop", None)):
        found["stop"] = stop
    if inspect.getattr_static(runnable, ready, None) is not None:  # not read yet: a property may raise
        found["ready"] = is_ready
    return Hooks(**found, controller=runnable if isinstance(runnable, ReconcilingRunnable) else None)


def name_of(runnable: object) -> str:
    """The name of a runnable in logs and errors."""
    name = getattr(runnable, "name", None)
    if isinstance(name, str) and name:
        return name
    if inspect.isroutine(runnable):
        return runnable.__qualname__
    return type(runnable).__name__


def _group(group: str, name: str) -> Group:
    try:
        return Group(group)
    except ValueError:
        raise InvalidDefinition(
            f"{name} has the unknown runnable_group {group!r}; use one of {', '.join(Group)}"
        ) from None


def _start_of(runnable: AnyRunnable) -> Start:
    start = getattr(runnable, "start", None)
    if start is None and isinstance(runnable, CacheLike):
        start = runnable.run
    if start is None and callable(runnable):
        start = runnable
    if not callable(start):
        raise InvalidDefinition(
            f"{runnable!r} cannot be run: a runnable has `async def start(self)`, or is an async function without "
            "arguments"
        )
    return _coroutine_function(start)


def _coroutine_function(function: Callable[[], Awaitable[None]]) -> Start:
    async def run() -> None:
        result: object = function()
        if not inspect.isawaitable(result):
            raise InvalidDefinition(f"{name_of(function)} is not async; a runnable's functions must be")
        await result

    return run
