"""`events`: prints the events of one object or of all, and watches for new ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pilotage.kit.arguments.reads import EventsArguments
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.terminal import YELLOW
from pilotage.kit.printers.ages import interval, last_seen
from pilotage.kit.printers.output import OBJECT_FORMATS, printer_of
from pilotage.kit.printers.table import Columns, cell_text
from pilotage.kit.selection import selected
from pilotage.kit.session import CommandSession
from pilotage.kit.watching import Watching
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.rest.request import Form, ListOptions


async def run(session: CommandSession, options: EventsArguments) -> int:
    types = {word.lower() for each in options.types for word in each.split(",") if word}
    if unknown := types - {"normal", "warning"}:
        raise CommandError(f"invalid --types {unknown.pop()}: must be Normal or Warning")
    about = await _about(session, options)
    mapping = session.mapper.mapping_for("events")
    namespace = "" if options.all_namespaces else session.namespace
    listed, version = await session.list(mapping, namespace)
    wanted = partial(_is_wanted, types, about)
    found = sorted(filter(wanted, listed), key=last_seen)
    shown = _Events(session, options, wanted)
    if found:
        shown.show_all(found)
    elif not options.watch:
        where = "." if options.all_namespaces else f" in {session.namespace} namespace."
        session.errors.line(f"No events found{where}")
    if options.watch:
        await Watching(session, mapping, namespace, ListOptions(), shown).watch(version)
    return 0


def _is_wanted(types: set[str], about: Document | None, event: Document) -> bool:
    """Whether an event is printed."""
    if types and str(event.get("type")).lower() not in types:
        return False
    if about is None:
        return True
    involved, metadata = event.get("involvedObject") or {}, about["metadata"]
    wanted = about["kind"], metadata["name"], metadata.get("namespace") or ""
    return (involved.get("kind"), involved.get("name"), involved.get("namespace") or "") == wanted


class _Events:
    """Prints events as a table, or in the format of `-o`."""

    form = Form.OBJECT

    def __init__(self, session: CommandSession, options: EventsArguments, wanted: Callable[[Document], bool]) -> None:
        self._session, self._options, self._wanted = session, options, wanted
        self._columns = Columns()
        self._headed = options.no_headers
        self._printer = printer_of(options.output, formats=OBJECT_FORMATS) if options.output else None

    def show(self, event: str, document: Document) -> None:
        if event != "DELETED" and self._wanted(document):
            self.show_all([document])

    def show_all(self, events: list[Document]) -> None:
        if self._printer is not None:
            self._session.output.write(self._printer(events, len(events) > 1))
        else:
            warning = self._session.output.styled("Warning", YELLOW)
            for line in self._columns.lines(self._rows(events)):
                self._session.output.write(f"{line.replace('Warning', warning, 1)}\n")
        self._session.output.flush()

    def _rows(self, events: list[Document]) -> list[list[str]]:
        everywhere, now = self._options.all_namespaces, times.system_clock()
        rows: list[list[str]] = []
        if not self._headed:
            self._headed = True
            rows.append([*(["NAMESPACE"] if everywhere else []), "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"])
        for event in events:
            involved = event.get("involvedObject") or {}
            cells = [
                interval(event, now),
                event.get("type") or "",
                event.get("reason") or "",
                f"{involved.get('kind') or ''}/{involved.get('name') or ''}",
                (event.get("message") or "").strip(),
            ]
            rows.append([*([event["metadata"].get("namespace") or ""] if everywhere else []), *map(cell_text, cells)])
        return rows


async def _about(session: CommandSession, options: EventsArguments) -> Document | None:
    if not options.about:
        return None
    chosen = selected(session, [options.about]) if "/" in options.about else []
    if len(chosen) != 1 or not chosen[0].name:
        raise CommandError("--for must be in resource/name form")
    found = await session.find(chosen[0].mapping, chosen[0].name)
    if found is not None:
        return found
    metadata = {"name": chosen[0].name, "namespace": session.namespace_of(chosen[0].mapping, "")}
    return {"kind": chosen[0].mapping.gvk.kind, "metadata": metadata}  # deleted: its events may still be there
