"""The manager's own readiness checks, beside those that users add."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.http.health import Check, ping
from pilotage.manager.errors import CacheNotLive, ManagerStopped
from pilotage.manager.lifecycle import Lifecycle
from pilotage.manager.runnables import GroupMember


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
    ready, troubles = entry.hooks.ready, entry.hooks.troubles
    if ready is None or troubles is None:
        return ready

    def check() -> object:
        holds = ready()
        if holds is False:
            raise CacheNotLive(troubles())
        return holds

    return check


def _unused(name: str, checks: Mapping[str, Check]) -> str:
    number = 2
    candidate = name
    while candidate in checks:
        candidate, number = f"{name}-{number}", number + 1
    return candidate
