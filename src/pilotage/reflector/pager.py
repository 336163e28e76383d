"""Lists in pages, taken together: client-go's rules for which version to ask for and when to ask for pages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from pilotage.errors import Gone, PilotageError, UnexpectedAnswer
from pilotage.meta import objects
from pilotage.reflector.change import Replaced, Undecodable
from pilotage.reflector.intake import Intake, Item
from pilotage.rest.listing import ListerWatcher
from pilotage.rest.request import ListOptions
from pilotage.rest.response import Bytes, Page

_BREATH = 500
"""Objects taken in before others on the loop get their turn."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list as it came: what could be read of it, and what could not."""

    replaced: Replaced
    undecodable: list[Undecodable]
    paged: bool


@dataclass(slots=True)
class Pager:
    """Lists a whole collection. Remembers whether the server gave pages where it need not have."""

    source: ListerWatcher
    intake: Intake
    page_size: int = 500
    _pages_anyway: bool = field(default=False)

    async def collect(self, options: ListOptions) -> Listing:
        """The collection at `options.resource_version`: `"0"` any, `""` the newest, else not older than that.

        A list at a version above 0 is not paged, because a server would answer it from storage and not from memory,
        unless it has given pages for `"0"`, and so has no memory to answer from.
        """
        version = options.resource_version
        limit = self.page_size if version in ("", "0") or self._pages_anyway else 0
        try:
            listing = await self._pages(replace(options, limit=limit))
        except _PageExpired as error:
            if limit == 0:
                raise error.gone from None
            listing = await self._pages(replace(options, limit=0))
        if version == "0" and listing.paged:
            self._pages_anyway = True
        return listing

    async def _pages(self, options: ListOptions) -> Listing:
        items: list[Item] = []
        undecodable: list[Undecodable] = []
        page = await self.source.list(options)
        version, paged = page.resource_version, bool(page.continue_token)
        while True:
            await self._take_in(page, items, undecodable)
            if not page.continue_token:
                return Listing(Replaced(items, version), undecodable, paged)
            following = replace(options, continue_token=page.continue_token, resource_version="")
            try:
                page = await self.source.list(following)
            except Gone as error:
                raise _PageExpired(error) from None

    async def _take_in(self, page: Page, items: list[Item], undecodable: list[Undecodable]) -> None:
        for number, data in enumerate(page.items, start=1):
            try:
                items.append(self.intake.item(data))
            except UnexpectedAnswer:
                raise  # such a list says nothing about what is gone
            except PilotageError as error:
                undecodable.append(unread(data, error))
            if number % _BREATH == 0:
                await asyncio.sleep(0)


class _PageExpired(Exception):
    """A page after the first one has expired: the whole list is to be asked for in one."""

    def __init__(self, gone: Gone) -> None:
        self.gone = gone
        super().__init__(str(gone))


def unread(data: Bytes, error: PilotageError) -> Undecodable:
    """The report of an object that cannot be read, with as much of its name as there is."""
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
