"""A collection with scripted answers, which records the requests."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

import msgspec

from pilotage.errors import ApiError
from pilotage.reflector.change import Change
from pilotage.reflector.reflector import INITIAL_EVENTS_END
from pilotage.rest.request import ListOptions
from pilotage.rest.response import Page, WatchEvent

Step = WatchEvent | Exception | float
"""An event, an error, or seconds to wait."""


class End(Exception):
    """The server ends the watch."""


def document(name: str, version: int, *, namespace: str = "default", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": str(version)}
    metadata |= more.pop("metadata", {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def config_map(name: str, version: int, *, namespace: str = "default", **more: Any) -> bytes:
    return msgspec.json.encode(document(name, version, namespace=namespace, **more))


def page(*names: str, version: int, continue_token: str = "") -> Page:
    return Page([config_map(name, version) for name in names], str(version), continue_token)


def added(name: str, version: int, **more: Any) -> WatchEvent:
    return WatchEvent("ADDED", memoryview(config_map(name, version, **more)))


def modified(name: str, version: int, **more: Any) -> WatchEvent:
    return WatchEvent("MODIFIED", memoryview(config_map(name, version, **more)))


def deleted(name: str, version: int, **more: Any) -> WatchEvent:
    return WatchEvent("DELETED", memoryview(config_map(name, version, **more)))


def bookmark(version: int, *, end: bool = False, annotations: dict[str, str] | None = None) -> WatchEvent:
    metadata: dict[str, Any] = {"resourceVersion": str(version), "annotations": dict(annotations or {})}
    if end:
        metadata["annotations"][INITIAL_EVENTS_END] = "true"
    return WatchEvent("BOOKMARK", msgspec.json.encode({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}))


def error(refusal: ApiError) -> WatchEvent:
    return WatchEvent("ERROR", msgspec.json.encode(refusal.status.document()))


class Scripted:
    """A ListerWatcher with scripted answers. A list without a script is empty, a watch without one sends nothing."""

    def __init__(
        self,
        lists: Iterable[Page | Exception] = (),
        watches: Iterable[Sequence[Step]] = (),
        *,
        streaming: bool = False,
        silence_seconds: float = 75.0,
    ) -> None:
        self.lists = deque(lists)
        self.watches = deque(watches)
        self.streaming = streaming
        self.silence_seconds = silence_seconds
        self.listed: list[ListOptions] = []
        self.watched: list[ListOptions] = []
        self.asked: list[tuple[str, str]] = []
        """The requests, in order: "list" or "watch", and the version."""
        self.times: list[float] = []
        self.open = 0

    async def list(self, options: ListOptions) -> Page:
        self._note("list", options)
        self.listed.append(options)
        answer = self.lists.popleft() if self.lists else Page([], "1")
        if isinstance(answer, Exception):
            raise answer
        return answer

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._watch(options)

    @asynccontextmanager
    async def _watch(self, options: ListOptions) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self._note("watch", options)
        self.watched.append(options)
        steps = self.watches.popleft() if self.watches else ()
        if steps and isinstance(steps[0], Exception) and not isinstance(steps[0], End):
            raise steps[0]
        self.open += 1
        try:
            async with aclosing(_played(steps)) as events:
                yield events
        finally:
            self.open -= 1

    def _note(self, verb: str, options: ListOptions) -> None:
        self.asked.append((verb, options.resource_version))
        self.times.append(asyncio.get_running_loop().time())


async def _played(steps: Sequence[Step]) -> AsyncGenerator[WatchEvent, None]:
    for step in steps:
        if isinstance(step, WatchEvent):
            yield step
        elif isinstance(step, End):
            return
        elif isinstance(step, Exception):
            raise step
        else:
            await asyncio.sleep(step)
    await asyncio.Event().wait()


async def taken(stream: AsyncGenerator[Change, None], until: Callable[[list[Change]], bool]) -> list[Change]:
    """The items of a stream until there are enough of them; then the stream is closed."""
    found: list[Change] = []
    async with aclosing(stream), asyncio.timeout(3600):
        async for change in stream:
            found.append(change)
            if until(found):
                break
    return found
