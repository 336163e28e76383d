"""Rows of the list of objects, with what the last reconcile of each did; and one object as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import msgspec

from pilotage.controller.controller import ControllerStatistics
from pilotage.controller.request import Request
from pilotage.dashboard.attention import NextOf
from pilotage.dashboard.gathering import Gathered, Sources
from pilotage.dashboard.state.follower import Follower, LastRun
from pilotage.dashboard.state.objects import Key, ObjectIndex, Placed
from pilotage.dashboard.state.past import Timed, events_since
from pilotage.dashboard.values import GPURow, ObjectDetail, ObjectRow, Owner, State, Version
from pilotage.errors import DecodeError
from pilotage.history.runs import Run
from pilotage.meta.kinds import GroupKind, GroupVersionKind

MOST_RECONCILES = 100
MOST_VERSIONS = 200
_MOST_TEXT = 300


class RowMaker:
    """Makes rows at one moment. `next_of` is when a controller reconciles a request again."""

    def __init__(
        self, found: Gathered, follower: Follower, next_of: NextOf, time_of: Callable[[float], datetime], now: datetime
    ) -> None:
        self._follower = follower
        self._next_of = next_of
        self._time_of = time_of
        self._now = now
        self._controllers: dict[GroupKind, list[str]] = {}
        self._states: Mapping[str, ControllerStatistics] = found.controllers
        for name, state in found.controllers.items():
            if state.kind is not None:
                self._controllers.setdefault(state.kind.group_kind, []).append(name)

    def row(self, placed: Placed) -> ObjectRow:
        facts = placed.facts
        controllers = self._controllers.get(facts.kind.group_kind, ())
        request = Request(facts.name, facts.namespace)
        last = self._last(controllers, request)
        due = [time for name in controllers if (time := self._next_of(name, request)) is not None]
        owner = Owner(facts.owner_kind, facts.namespace, facts.owner_name) if facts.owner_name else None
        return ObjectRow(
            kind=str(facts.kind.group_kind),
            api_version=facts.kind.api_version,
            namespace=facts.namespace,
            name=facts.name,
            version=facts.version,
            age=round((self._now - facts.created).total_seconds(), 3) if facts.created is not None else None,
            state=self._state(controllers, request, last, facts.state),
            conditions=facts.conditions,
            owner=owner,
            depth=placed.depth,
            runs=last.runs if last is not None else 0,
            last=last.number if last is not None else 0,
            last_result=(last.error or last.result)[:_MOST_TEXT] if last is not None else "",
            last_at=self._time_of(last.began) if last is not None else None,
            next=min(due, default=None),
        )

    def _last(self, controllers: Iterable[str], request: Request) -> LastRun | None:
        found = (self._follower.last_run(name, request.namespace, request.name) for name in controllers)
        return max((last for last in found if last is not None), key=lambda last: last.number, default=None)

    def _state(self, controllers: Iterable[str], request: Request, last: LastRun | None, own: State) -> State:
        if last is not None and last.error:
            return State("failing", "error")
        if any(request in self._states[name].hot for name in controllers):
            return State("hot", "warn")
        return own


def detail(sources: Sources, key: Key, row: ObjectRow, data: bytes, runs: Iterable[Run], moment: float) -> ObjectDetail:
    """One object with its document, its reconciles and its versions up to a moment."""
    stories = sources.history.stories
    kind, namespace, name = key
    own = [
        run
        for run in runs
        if run.began <= moment
        and run.request.name == name
        and run.request.namespace == namespace
        and run.controller.kind is not None
        and run.controller.kind.group_kind == kind.group_kind
    ]
    return ObjectDetail(
        row=row,
        document=document(sources, kind, data),
        reconciles=tuple(stories.reconcile(run) for run in reversed(own[-MOST_RECONCILES:])),
        versions=versions(sources, key, events_since(sources.history, sources.waiting()), moment),
    )


def document(sources: Sources, kind: GroupVersionKind, data: bytes) -> dict[str, object]:
    """An object as it may be shown, without managed fields; empty if it cannot be read."""
    try:
        found = {"apiVersion": kind.api_version, "kind": kind.kind} | sources.history.stories.document_of(kind, data)
    except (DecodeError, msgspec.DecodeError):
        return {}
    if isinstance(metadata := found.get("metadata"), dict):
        metadata.pop("managedFields", None)
    return found


def versions(sources: Sources, key: Key, events: Iterable[Timed], moment: float = math.inf) -> tuple[Version, ...]:
    """The versions of an object that the history has, up to a moment, the newest first."""
    kind, namespace, name = key
    found: dict[tuple[str, str], Version] = {}
    for at, note in events:
        of = note.origin.kind
        is_resync = note.is_unchanged and not note.is_in_initial_list
        is_own = (note.namespace, note.name) == (namespace, name)
        if not is_own or at > moment or of is None or of.group_kind != kind.group_kind or is_resync:
            continue
        cause = sources.history.stories.event(at, note)
        version = Version(cause.at, cause.version, cause.type, cause.changes, cause.reconcile)
        found.setdefault((cause.version, note.type), version)
    newest = sorted(found.values(), key=lambda version: version.at, reverse=True)
    return tuple(newest[:MOST_VERSIONS])


def gpu_rows(index: ObjectIndex, maker: RowMaker, node: str) -> tuple[GPURow, ...]:
    """The GPUs among the objects, which the Device API of this node has."""
    rows = []
    for placed in index.order:
        if placed.facts.kind.kind == "GPU":
            row = maker.row(placed)
            rows.append(GPURow(row.kind, row.name, _uuid(placed.facts.data), row.state, row.conditions, node))
    return tuple(rows)


class _GPUSpec(msgspec.Struct):
    uuid: str = ""


class _GPU(msgspec.Struct):
    spec: _GPUSpec = msgspec.field(default_factory=_GPUSpec)


_GPU_DECODER = msgspec.json.Decoder(_GPU)


def _uuid(data: bytes) -> str:
    try:
        return _GPU_DECODER.decode(data).spec.uuid
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
