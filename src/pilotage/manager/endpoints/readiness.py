"""The manager's own readiness checks, beside those that users add."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from pilotage.http.health import Check, ping
from pilotage.manager.errors import CacheNotLive, ManagerStopped
from pilotage.manager.lifecycle import Lifecycle
from pilotage.manager.runnables import Group, GroupMember


def readiness(lifecycle: Lifecycle, added: Mapping[str, Check]) -> dict[str, Check]:
    """The readiness checks of the manager: it has started, the watches of its caches work, and its runnables are
    ready."""

    def started() -> None:
        if not lifecycle.ready:
            raise ManagerStopped("the manager is stopping" if lifecycle.stop_asked else "the manager has not started")

    checks: dict[str, Check] = {"started": started}
    for entry in lifecycle.groups.running():
        check = _check_of(entry)
        if check is not None:
            checks[_unused(entry.name, checks)] = check
    return {**checks, **(added or {"ping": ping})}


def _check_of(entry: GroupMember) -> Check | None:
    """A runnable's `ready`, or a cache's `live`: a value, or a function that returns it."""
    if entry.group is Group.WARM_UP:
        return None
    name = "live" if entry.group is Group.CACHES else "ready"
    if inspect.getattr_static(entry.runnable, name, None) is None:
        return None

    def check() -> object:
        found = getattr(entry.runnable, name)
        holds = found() if callable(found) else bool(found)
        if holds is False and callable(troubles := getattr(entry.runnable, "troubles", None)):
            raise CacheNotLive(troubles())
        return holds

    return check


def _unused(name: str, checks: Mapping[str, Check]) -> str:
    number = 2
    candidate = name
    while candidate in checks:
        candidate, number = f"{name}-{number}", number + 1
    return candidate
