"""What a person should look at: failing objects, hot loops, dead watches, missing permissions, and not leading."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from pilotage.controller.controller import ControllerStatistics
from pilotage.controller.request import Request
from pilotage.dashboard.gathering import Gathered
from pilotage.dashboard.state.follower import Follower
from pilotage.dashboard.values import Attention

MOST = 50
"""Items of each sort; the others are counted."""
_MOST_TEXT = 1000

NextOf = Callable[[str, Request], datetime | None]
"""When a controller reconciles a request again."""


def attention(found: Gathered, follower: Follower, next_of: NextOf) -> tuple[Attention, ...]:
    """Errors first, then warnings."""
    items = [*_of_program(found)]
    for name, controller in found.controllers.items():
        items += _failing(name, controller, follower, next_of)
        items += _hot(name, controller)
    return tuple(sorted(items, key=lambda item: item.level))


def _of_program(found: Gathered) -> Iterator[Attention]:
    for permission in found.missing:
        yield Attention("error", "missing permission", permission.removeprefix("missing permission: "))
    for watch in found.watches:
        if watch.trouble:
            yield Attention("error", f"watch of {watch.kind}", watch.trouble[:_MOST_TEXT], kind=watch.kind)
    if found.leader.state == "waiting":
        holder = found.leader.holder or "no replica"
        yield Attention("warning", "not leading", f"the leader lease is held by {holder}")


def _failing(name: str, state: ControllerStatistics, follower: Follower, next_of: NextOf) -> Iterator[Attention]:
    failing = [(request, each) for request, each in state.unfinished.items() if each.error]
    for request, each in failing[:MOST]:
        last = follower.last_run(name, request.namespace, request.name)
        yield Attention(
            level="error",
            title=f"{name} {request}",
            text=str(each)[:_MOST_TEXT],
            next=next_of(name, request),
            place=last.place if last is not None else "",
            kind=_kind(state),
            namespace=request.namespace,
            name=request.name,
            reconcile=last.number if last is not None else 0,
        )
    if len(failing) > MOST:
        yield Attention("error", name, f"{len(failing) - MOST} more objects fail", kind=_kind(state))


def _hot(name: str, state: ControllerStatistics) -> Iterator[Attention]:
    for request, sentence in [*state.hot.items()][:MOST]:
        yield Attention(
            level="warning",
            title=f"{name} {request}",
            text=sentence[:_MOST_TEXT],
            kind=_kind(state),
            namespace=request.namespace,
            name=request.name,
        )


def _kind(state: ControllerStatistics) -> str:
    return str(state.kind.group_kind) if state.kind is not None else ""
