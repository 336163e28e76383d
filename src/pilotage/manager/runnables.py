"""Runnables: what a manager runs, and which of its groups each belongs to."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from pilotage.errors import InvalidDefinition


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


AnyRunnable = Runnable | CacheLike | Callable[[], Awaitable[None]]

Start = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A runnable in one group."""

    group: Group
    name: str
    run: Start
    runnable: object
    ready: Callable[[], Awaitable[object]] | None = None
    """Awaited before the next group starts, for runnables that were added before the start."""


def group_members(runnable: AnyRunnable) -> list[GroupMember]:
    """The entries of a runnable. One that warms up has two: its warm-up and its start."""
    name = name_of(runnable)
    run = _start_of(runnable)
    if isinstance(group := getattr(runnable, "runnable_group", None), str):
        return [GroupMember(_group(group, name), name, run, runnable, getattr(runnable, "wait_started", None))]
    if isinstance(runnable, CacheLike):
        return [GroupMember(Group.CACHES, name, run, runnable, runnable.wait_for_sync)]
    found = [GroupMember(_place(runnable), name, run, runnable)]
    warm_up = getattr(runnable, "warm_up", None)
    if warm_up is not None:
        found.append(GroupMember(Group.WARM_UP, f"{name} warm-up", _coroutine_function(warm_up), runnable))
    return found


def name_of(runnable: object) -> str:
    """The name of a runnable in logs and errors."""
    name = getattr(runnable, "name", None)
    if isinstance(name, str) and name:
        return name
    if inspect.isroutine(runnable):
        return runnable.__qualname__
    return type(runnable).__name__


def _place(runnable: object) -> Group:
    needed = getattr(runnable, "needs_leader_election", True)
    return Group.LEADER_ELECTION if (needed() if callable(needed) else needed) else Group.OTHERS


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
