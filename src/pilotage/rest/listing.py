"""The interface under every reflector: lists a collection, and watches it from that version on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pilotage.meta.bounds.amounts import Seconds, store_seconds
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.values import Value
from pilotage.rest.answers import Expected
from pilotage.rest.request import APIRequest, Form, ListOptions, Verb
from pilotage.rest.response import Page, WatchEvent
from pilotage.rest.transport import SILENCE_SECONDS as SILENCE_SECONDS
from pilotage.rest.transport import Transport

EMBEDDED_SILENCE_SECONDS = 10.0
"""The same for the embedded API server, which sends a bookmark every three seconds."""

BOOKMARK_SECONDS_ANNOTATION = "pilotage.dev/bookmark-seconds"
"""On a bookmark: how often the server sends one, from which a client over HTTP computes its deadline."""


class BackoffOptions(Value, frozen=True):
    """The waits between retries of a list or a watch that failed: client-go's numbers, in seconds."""

    first: float = 0.8
    """The first wait."""
    limit: float = 30.0
    """The longest wait, with its jitter."""
    factor: float = 2.0
    """Each wait is the one before multiplied by this."""
    jitter: float = 1.0
    """The largest random share that is added to a wait: with 1.0, a wait of 2 s becomes one of 2 to 4 s."""
    reset_after: float = 120.0
    """After this time without a failure the next wait is `first` again. A watch that has delivered something new and
    can be resumed begins with `first`, too."""
    relist: BackoffOptions | None = None
    """The waits before another list of a server whose versions expire at once; None: the same."""

    if TYPE_CHECKING:  # accepts more types than it stores

        def __init__(
            self,
            first: Seconds = 0.8,
            limit: Seconds = 30.0,
            factor: float = 2.0,
            jitter: float = 1.0,
            reset_after: Seconds = 120.0,
            relist: BackoffOptions | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        store_seconds(self, "first", "limit", "reset_after")


class ListerWatcher(Protocol):
    """One collection of objects: of a kind, in a namespace or in all of them."""

    @property
    def silence_seconds(self) -> float:
        """How long a live watch may be silent."""

    @property
    def streaming(self) -> bool:
        """Whether a watch may begin with the whole collection (`send_initial_events`); False where a list is better."""

    async def list(self, options: ListOptions) -> Page:
        """The collection, or a page of it. Raises ApiError and ConnectionLost."""

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Changes after `options.resource_version`. Open, and its errors raised, when the block is entered."""


@runtime_checkable
class Paced(Protocol):
    """A lister-watcher with a backoff of its own, such as one on a local socket."""

    @property
    def backoff(self) -> BackoffOptions: ...


@runtime_checkable
class Recounting(Protocol):
    """A lister-watcher whose server may start its versions from the beginning after a restart."""

    @property
    def recounts(self) -> bool:
        """Whether versions may start again: then two objects with equal versions may differ."""


class RestListerWatcher(Value, frozen=True):
    """A collection of an API server, behind a transport."""

    transport: Transport
    resource: GroupVersionResource
    namespace: str = ""
    form: Form = Form.OBJECT
    silence_seconds: float = SILENCE_SECONDS
    streaming: bool = True
    user_agent: str = ""
    gvk: GroupVersionKind | None = None
    """The kind of the objects; a list of another kind raises UnexpectedAnswer. None: not checked."""

    async def list(self, options: ListOptions) -> Page:
        page = await self.transport.list(self._request(Verb.LIST, options))
        if self.gvk is not None:
            Expected(self.gvk, self.form).check_page(page)
        return page

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self.transport.watch(self._request(Verb.WATCH, options))

    def _request(self, verb: Verb, options: ListOptions) -> APIRequest:
        return APIRequest(
            verb=verb,
            resource=self.resource,
            namespace=self.namespace,
            form=self.form,
            options=options,
            user_agent=self.user_agent,
        )
