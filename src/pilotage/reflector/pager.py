"""Lists in pages: client-go's rules for which version to request and when to request pages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from msgspec.structs import replace

from pilotage.errors import Gone, PilotageError, UnexpectedAnswer
from pilotage.meta import objects
from pilotage.reflector.change import Replaced, Undecodable
from pilotage.reflector.intake import Intake, Item
from pilotage.rest.listing import ListerWatcher
from pilotage.rest.request import ListOptions
from pilotage.rest.response import Bytes, Page

_YIELD_AFTER = 500
"""Objects that are processed before other tasks of the event loop run."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list: the objects that could be decoded, and those that could not."""

    replaced: Replaced
    undecodable: list[Undecodable]
    paged: bool


@dataclass(slots=True)
class Pager:
    """Lists a whole collection. Remembers whether the server returned pages although its watch cache could answer."""

    lister_watcher: ListerWatcher
    intake: Intake
    page_size: int = 500
    _pages_anyway: bool = field(default=False)

    async def collect(self, options: ListOptions) -> Listing:
        """List the collection at `options.resource_version`: `"0"` any, `""` the newest, else not older than that.

        A list at a version above 0 is not paged: a server would read its pages from storage and not from its watch
        cache. One that has returned pages for `"0"` has no watch cache, and is asked for pages.
        """
        version = options.resource_version
        limit = self.page_size if version in ("", "0") or self._pages_anyway else 0
        try:
            listing = await self._list_pages(replace(options, limit=limit))
        except _PageExpired as error:
            if limit == 0:
                raise error.gone from None
            listing = await self._list_pages(replace(options, limit=0))
        if version == "0" and listing.paged:
            self._pages_anyway = True
        return listing

    async def _list_pages(self, options: ListOptions) -> Listing:
        items: list[Item] = []
        failures: list[Undecodable] = []
        page = await self.lister_watcher.list(options)
        version, paged = page.resource_version, bool(page.continue_token)
        while True:
            await self._add(page, items, failures)
            if not page.continue_token:
                return Listing(Replaced(items, version), failures, paged)
            try:
                # The token has the version of the first page, and a server refuses a request with both.
                page = await self.lister_watcher.list(
                    replace(options, continue_token=page.continue_token, resource_version="")
                )
            except Gone as error:
                # Not Gone, which would mean that the version of the list has expired: only the token of this page has
                # (client-go's pager has the same rule).
                raise _PageExpired(error) from None

    async def _add(self, page: Page, items: list[Item], failures: list[Undecodable]) -> None:
        for number, data in enumerate(page.items, start=1):
            try:
                items.append(self.intake.item(data))
            except UnexpectedAnswer:
                raise  # an object that is missing from such a list need not have been deleted
            except PilotageError as error:
                failures.append(undecodable(data, error))
            if number % _YIELD_AFTER == 0:
                await asyncio.sleep(0)  # reading thousands of objects takes long, and other tasks must run meanwhile


class _PageExpired(Exception):
    """A page after the first one has expired: the list must be requested again, without pages."""

    def __init__(self, gone: Gone) -> None:
        self.gone = gone
        super().__init__(str(gone))


def undecodable(data: Bytes, error: PilotageError) -> Undecodable:
    """The report of an object that cannot be decoded, with its name if the metadata can be read."""
    try:
        metadata = objects.read(data).get("metadata")
    except PilotageError:
        metadata = None
    names = metadata if isinstance(metadata, dict) else {}
    namespace, name = names.get("namespace"), names.get("name")
    return Undecodable(
        error,
        namespace if isinstance(namespace, str) else "",
        name if isinstance(name, str) else "",
    )
