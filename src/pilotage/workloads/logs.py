"""The logs of simulated containers: the lines that a test gives them, and those in the annotations of their Pod."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from datetime import datetime
from typing import NamedTuple

from pilotage.cache.event import InformerEvent
from pilotage.errors import BadRequest, InvalidDefinition
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.meta.scalars.times import Clock, MicroTime
from pilotage.rest.logs import LogOptions
from pilotage.types.core.v1 import Pod
from pilotage.workloads.pods.index import Pods
from pilotage.workloads.pods.view import PodView

ANNOTATION = "workloads.pilotage.dev/logs"
"""The lines that the first container of a Pod writes when it starts."""

_REASONS = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}
_MOST_LINES = 10_000
"""How many lines of a Pod are kept: the last ones."""


class Line(NamedTuple):
    """A line of a log."""

    time: datetime
    container: str
    """Empty: the first one of the Pod."""
    text: str


class Logs:
    """A `rest.logs.ContainerRuntime`."""

    no_connections = "there is no container: the Pod is simulated (simulated workloads)"

    def __init__(self, pods: Pods, clock: Clock) -> None:
        self._pods = pods
        self._clock = clock
        self._lines: dict[str, deque[Line]] = {}
        self._followers: dict[str, list[asyncio.Queue[Line | None]]] = {}
        pods.subscribe(self._note)

    def say(self, pod: str, text: str, *, namespace: str = "default", container: str = "") -> None:
        """Let a container write lines now. Raises InvalidDefinition for a Pod that does not exist."""
        view = self._pods.get(namespace, pod)
        if view is None:
            raise InvalidDefinition(f"there is no Pod {namespace}/{pod}")
        for line in (Line(self._clock(), container, each) for each in text.splitlines()):
            self._lines.setdefault(view.uid, deque(maxlen=_MOST_LINES)).append(line)
            for follower in self._followers.get(view.uid, ()):
                follower.put_nowait(line)

    def log(self, pod: Document, options: LogOptions) -> tuple[bytes, AsyncIterator[bytes] | None]:
        """The log of a container so far, and with `follow` what is written later. Raises BadRequest."""
        begin, end = _run(pod, options)
        lines = [Line(begin, "", text) for text in _annotated(pod)]
        lines += [line for line in self._lines.get(pod["metadata"]["uid"], ()) if _is_within(line.time, begin, end)]
        shown = [
            line
            for line in lines
            if _is_of(line, pod, options) and (options.since is None or line.time >= options.since)
        ]
        if options.tail_lines is not None:
            shown = shown[-options.tail_lines :] if options.tail_lines > 0 else []
        body = b"".join(_printed(line, options) for line in shown)
        is_over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        return body, None if not options.follow or options.previous or is_over else self._followed(pod, options)

    async def _followed(self, pod: Document, options: LogOptions) -> AsyncIterator[bytes]:
        """The lines from now on, until the Pod ends."""
        queue: asyncio.Queue[Line | None] = asyncio.Queue()
        followers = self._followers.setdefault(pod["metadata"]["uid"], [])
        followers.append(queue)
        try:
            while (line := await queue.get()) is not None:
                if _is_of(line, pod, options):
                    yield _printed(line, options)
        finally:
            followers.remove(queue)

    def _note(self, event: InformerEvent[Pod], before: PodView | None, after: PodView | None) -> None:
        """The log of a Pod ends with it, and is deleted with it."""
        if before is None or (after is not None and after.uid == before.uid and not after.is_finished):
            return
        for follower in self._followers.get(before.uid, ()):
            follower.put_nowait(None)
        if after is None or after.uid != before.uid:
            self._lines.pop(before.uid, None)


def _annotated(pod: Document) -> list[str]:
    text: str = (pod["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    return text.splitlines()


def _is_of(line: Line, pod: Document, options: LogOptions) -> bool:
    return (line.container or pod["spec"]["containers"][0]["name"]) == options.container


def _printed(line: Line, options: LogOptions) -> bytes:
    return (f"{MicroTime.of(line.time).format()} {line.text}\n" if options.timestamps else f"{line.text}\n").encode()


def _is_within(time: datetime, begin: datetime, end: datetime | None) -> bool:
    """Whether a line is of a run. The times of a status have whole seconds."""
    return time.replace(microsecond=0) >= begin and (end is None or time.replace(microsecond=0) <= end)


def _run(pod: Document, options: LogOptions) -> tuple[datetime, datetime | None]:
    """When the run of a container began and ended whose log is asked for. Raises BadRequest, as a kubelet answers."""
    status, name, container = pod.get("status") or {}, pod["metadata"]["name"], options.container
    kinds = ("containerStatuses", "initContainerStatuses")
    found = (one for kind in kinds for one in status.get(kind) or () if one["name"] == container)
    known: Document = next(found, {})
    state, last = known.get("state") or {}, (known.get("lastState") or {}).get("terminated")
    if options.previous:
        if last is None:
            raise BadRequest(f'previous terminated container "{container}" in pod "{name}" not found')
        return times.parse(last["startedAt"]), times.parse(last["finishedAt"])
    if (run := state.get("running")) is not None:
        return times.parse(run["startedAt"]), None
    if (run := state.get("terminated") or last) is not None:
        return times.parse(run["startedAt"]), times.parse(run["finishedAt"])
    reason = (state.get("waiting") or {}).get("reason", "ContainerCreating")
    raise BadRequest(f'container "{container}" in pod "{name}" is waiting to start: {_REASONS.get(reason, reason)}')
