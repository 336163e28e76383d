"""Reading: get, find, list and watch, in each of the three forms of an object."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Never

from pilotage.client.session import Session, add_subject
from pilotage.client.watching import WatchedEvent, watched
from pilotage.errors import NotFound
from pilotage.errors.keywords import refuse_positional
from pilotage.meta.bounds.amounts import Seconds, count, optional_whole_seconds
from pilotage.meta.forms import Kind, KindOf, O, ObjectKey, key_of
from pilotage.meta.objectlist import ObjectList
from pilotage.meta.selectors.selection import Fields, Labels, field_text, selector_text
from pilotage.rest import ListOptions, Verb


class Reader:
    """Reads from the API server. A kind is a class, a GroupVersionKind (returns Unstructured), or `metadata_only` of
    either (returns PartialObjectMetadata). Each caller gets objects of its own."""

    _session: Session

    async def get(
        self,
        kind: KindOf[O],
        name: str | ObjectKey,
        *misplaced: Never,
        namespace: str = "",
        resource_version: str = "",
    ) -> O:
        """The object, as it is now; raises NotFound. With a `resource_version`, one that is not older than that.

        A reconciler's request can be passed as the name and the namespace: `get(Database, request)`.
        """
        if misplaced:
            refuse_positional("get", (kind, name), misplaced)
        namespace, key = key_of(name, namespace)
        found: O = await self._get(kind, key, namespace, resource_version)
        return found

    async def _get(self, kind: Kind, name: str, namespace: str, resource_version: str) -> Any:
        subject = await self._session.subject(kind, namespace, name)
        options = ListOptions(resource_version=resource_version)
        request = self._session.request(subject, verb=Verb.GET, name=name, options=options)
        return subject.kind.read((await self._session.call(subject, request)).body)

    async def find(self, kind: KindOf[O], name: str | ObjectKey, *misplaced: Never, namespace: str = "") -> O | None:
        """As `get`, but None if the object does not exist. A kind that is not served is still an error."""
        refuse_positional("find", (kind, name), misplaced)
        try:
            return await self.get(kind, name, namespace=namespace)
        except NotFound:
            return None

    async def list(
        self,
        kind: KindOf[O],
        *misplaced: Never,
        namespace: str = "",
        labels: Labels = None,
        fields: Fields = None,
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
    ) -> ObjectList[O]:
        """The objects of a kind, in one namespace or in all, as one snapshot.

        `labels` and `fields` are selectors. With a `limit` it is one page; pass its `continue_token` for the next one,
        which is of the same snapshot. `resource_version` and `resource_version_match` (Exact, NotOlderThan) name an
        older snapshot.
        """
        refuse_positional("list", (kind,), misplaced)
        options = ListOptions(
            label_selector=selector_text(labels),
            field_selector=field_text(fields),
            limit=count(limit, "limit"),
            continue_token=continue_token,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
        )
        return await self._list(kind, namespace, options)

    async def _list(self, kind: Kind, namespace: str, options: ListOptions) -> ObjectList[Any]:
        subject = await self._session.collection(kind, namespace)
        page = await self._session.list(subject, self._session.request(subject, verb=Verb.LIST, options=options))
        return ObjectList(
            page.items,
            subject.kind.expected.checked(subject.kind.read),
            resource_version=page.resource_version,
            continue_token=page.continue_token,
            remaining_item_count=page.remaining_item_count,
        )

    def watch(
        self,
        kind: KindOf[O],
        *misplaced: Never,
        namespace: str = "",
        labels: Labels = None,
        fields: Fields = None,
        resource_version: str = "",
        allow_bookmarks: bool = False,
        timeout_seconds: Seconds | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchedEvent[O]]]:
        """Changes after `resource_version` (a list's), for the length of the block.

        Without a version the watch begins with an ADDED event for each object there is. With the selectors `labels` and
        `fields`, an object that begins to match is ADDED, and one that no longer matches is DELETED. With
        `allow_bookmarks` there are BOOKMARK events, too. The iterator ends when the server ends the watch, which it
        does from time to time, at the latest after `timeout_seconds`; it raises Gone if the server no longer has the
        version: then list again.
        """
        refuse_positional("watch", (kind,), misplaced)
        options = ListOptions(
            label_selector=selector_text(labels),
            field_selector=field_text(fields),
            resource_version=resource_version,
            allow_watch_bookmarks=allow_bookmarks,
            timeout_seconds=optional_whole_seconds(timeout_seconds, "timeout_seconds"),
        )
        return self._watch(kind, namespace, options)

    @asynccontextmanager
    async def _watch(
        self, kind: Kind, namespace: str, options: ListOptions
    ) -> AsyncIterator[AsyncIterator[WatchedEvent[Any]]]:
        subject = await self._session.collection(kind, namespace)
        request = self._session.request(subject, verb=Verb.WATCH, options=options)
        async with (
            self._session.watch(subject, request) as lines,
            aclosing(watched(lines, subject.kind, lambda error: add_subject(error, subject))) as events,
        ):
            yield events
