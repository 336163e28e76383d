"""`get -w`: the objects as they are, then each change, until Ctrl-C."""

from __future__ import annotations

from itertools import chain

from pilotage.errors import Gone
from pilotage.kit.commands.get import list_options, scope
from pilotage.kit.console.errors import CommandError
from pilotage.kit.printers.documents import kind_of, without_managed_fields
from pilotage.kit.printers.output import is_table, printer_of
from pilotage.kit.printers.table import TablePrinter
from pilotage.kit.printers.template import value_text
from pilotage.kit.selection import SelectedObjects
from pilotage.kit.session import CommandSession, decode
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.answers import watch_error
from pilotage.rest.request import APIRequest, Form, ListOptions, Verb
from pilotage.rest.response import WatchEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from pilotage.kit.arguments.reads import GetArguments
else:
    Protocol = object


async def watch(session: CommandSession, options: GetArguments, chosen: list[SelectedObjects]) -> int:
    """Print the objects and their changes. Ends when the server ends the watch, or with Ctrl-C."""
    if len(chosen) != 1:
        raise CommandError("you may only specify a single resource type")
    if options.sort_by:
        session.errors.line("warning: --watch requested, --sort-by will be ignored for watch events received")
    mapping, name = chosen[0].mapping, chosen[0].name
    listing = list_options(options)
    if name:
        listing = ListOptions(field_selector=f"metadata.name={name}")
        await session.get(mapping, name, chosen[0].namespace)  # one that does not exist is an error at once
    shown: WatchPrinter
    if is_table(options.output):
        printer = TablePrinter(options, kind_of(mapping.gvk), namespaced=mapping.namespaced)
        shown = _Lines(session, printer, options.output_watch_events)
    else:
        shown = _Objects(session, options)
    namespace = session.namespace_of(mapping, chosen[0].namespace) if name else scope(session, mapping, options)
    watching = Watching(session, mapping, namespace, listing, shown)
    await watching.watch(await watching.list(shown=not options.watch_only))
    return 0


class WatchPrinter(Protocol):
    """Prints the objects or Tables of a watch."""

    form: Form

    def show(self, event: str, document: Document) -> None: ...


class Watching:
    """Lists, watches, and lists again when the server no longer has the history since the last event."""

    def __init__(
        self, session: CommandSession, mapping: RESTMapping, namespace: str, listing: ListOptions, shown: WatchPrinter
    ) -> None:
        self._session = session
        self._request = APIRequest(Verb.LIST, mapping.resource, namespace, form=shown.form, options=listing)
        self._mapping = mapping
        self._shown = shown

    async def watch(self, version: str) -> None:
        """Print each change after a version."""
        while True:
            try:
                version = await self._watch(version)
            except Gone:
                version = await self.list(shown=True)

    async def list(self, *, shown: bool) -> str:
        """The version of the objects as they are now; print them if they are to be `shown`."""
        items, version = await self._session.list(self._mapping, self._request.namespace, self._request.options)
        if shown:
            if self._shown.form is Form.TABLE:
                tables = self._session.tables(self._mapping, self._request.namespace, self._request.options)
                for table in [each async for each in tables]:
                    self._shown.show("ADDED", table)
            else:
                for item in items:
                    self._shown.show("ADDED", item)
        return version

    async def _watch(self, version: str) -> str:
        old = self._request.options
        options = ListOptions(
            old.label_selector,
            old.field_selector,
            resource_version=version,
            allow_watch_bookmarks=True,
            frequent_bookmarks=False,
        )
        request = APIRequest(
            Verb.WATCH, self._request.resource, self._request.namespace, form=self._shown.form, options=options
        )
        async with self._session.transport.watch(request) as events:
            async for event in events:
                version = self._take(event) or version
        return version

    def _take(self, event: WatchEvent) -> str:
        if event.type == "ERROR":
            raise watch_error(event.object)
        document: Document = decode(event.object)
        if event.type != "BOOKMARK":
            self._shown.show(event.type, document)
        rows = [row.get("object") or {} for row in document.get("rows") or ()]
        versions = [(each.get("metadata") or {}).get("resourceVersion") for each in chain([document], rows)]
        return next((version for version in versions if version), "")


class _Lines:
    """Rows of a table."""

    form = Form.TABLE

    def __init__(self, session: CommandSession, printer: TablePrinter, with_events: bool) -> None:
        self._session, self._printer, self._with_events = session, printer, with_events

    def show(self, event: str, table: Document) -> None:
        for line in self._printer.lines(table, event if self._with_events else ""):
            self._session.output.line(line)


class _Objects:
    """Whole objects, one after the other; with `--output-watch-events`, each beside the type of its change."""

    form = Form.OBJECT

    def __init__(self, session: CommandSession, options: GetArguments) -> None:
        self._session = session
        self._format = options.output.partition("=")[0]
        self._managed_fields: bool = options.show_managed_fields
        self._with_events: bool = options.output_watch_events and self._format != "name"
        self._printer = printer_of(
            options.output, headers=not options.no_headers, managed_fields=options.show_managed_fields
        )
        self._separator = ""

    def show(self, event: str, document: Document) -> None:
        text = self._text(event, document) if self._with_events else self._printer([document], False)
        self._session.output.write(f"{self._separator}{text}")
        self._session.output.flush()
        self._separator = "---\n" if self._format == "yaml" else ""

    def _text(self, event: str, document: Document) -> str:
        shown = document if self._managed_fields else without_managed_fields(document)
        if self._format != "json":
            return self._printer([{"type": event, "object": shown}], False)
        return f'{{"type":"{event}","object":{value_text(shown)}}}\n'  # in one line, and in this order, as kubectl
