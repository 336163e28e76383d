"""The permissions that the API server has refused to the clients of this program, until they are granted."""

from __future__ import annotations

from collections.abc import Callable

from pilotage.errors import Forbidden, PilotageError
from pilotage.rest import APIRequest, Transport
from pilotage.rest.refusal import MissingPermission, granted, is_allowed, refused, review_request

_REMEMBERED = 256
"""Permissions that are remembered; an operator may be refused the same in each of many namespaces."""
_REVIEWED = 10
"""Permissions about which the server is asked at a time."""
_REVIEW_SECONDS = 5.0
_EVENT_VERBS = ("create", "patch")
"""The permissions of an event recorder, which creates events and patches repeated ones."""

Observer = Callable[[MissingPermission, bool], None]
"""Called with a permission that is missing (True), and when it is granted (False)."""


class Refusals:
    """The permissions that were refused to clients of a cluster. A permission counts as granted when a request that
    needs it succeeds, or when the server grants it in `review`.

    Requests on behalf of another user (`client.as_user`) do not count: the program itself needs no such permission. Nor
    do requests of informers and of leader election, which report missing permissions themselves.
    """

    def __init__(self) -> None:
        self._missing: dict[
            MissingPermission, MissingPermission
        ] = {}  # by the refused permission, with all verbs that are needed
        self._observers: list[Observer] = []
        self._reviewed_at = float("-inf")

    def __bool__(self) -> bool:
        return bool(self._missing)

    @property
    def missing(self) -> tuple[MissingPermission, ...]:
        """The permissions that are missing, in the order of their first refusal."""
        return tuple(self._missing.values())

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` when a permission is refused for the first time and when it is granted; the returned
        function ends it."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def note(self, request: APIRequest, error: Forbidden) -> None:
        """Record a request that was refused."""
        found = refused(error)
        if found is None or found in self._missing or len(self._missing) >= _REMEMBERED:
            return
        if not request.user.name or found.verbs == ("impersonate",):
            self._missing[found] = shown = found.with_verbs(_EVENT_VERBS) if found.resource == "events" else found
            self._notify(shown, True)

    def note_success(self, request: APIRequest) -> None:
        """Record a request that has succeeded."""
        for permission in granted(request):
            self._grant(permission)

    async def review(self, transport: Transport) -> None:
        """Ask the server whether it now grants the missing permissions, at most every few seconds."""
        import asyncio

        now = asyncio.get_running_loop().time()
        if not self._missing or now < self._reviewed_at + _REVIEW_SECONDS:
            return
        self._reviewed_at = now
        for permission in [*self._missing][:_REVIEWED]:
            try:
                answer = await transport.call(review_request(permission))
                if is_allowed(bytes(answer.body)):
                    self._grant(permission)
            except PilotageError:
                return  # unknown: the next request decides

    def _grant(self, permission: MissingPermission) -> None:
        if permission in self._missing:
            self._notify(self._missing.pop(permission), False)

    def _notify(self, permission: MissingPermission, missing: bool) -> None:
        for observer in tuple(self._observers):
            observer(permission, missing)
