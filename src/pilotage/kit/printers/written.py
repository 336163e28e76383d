"""What a command prints about the objects that it has written: `todo.example.com/milk created`, or the objects."""

from __future__ import annotations

from pilotage.kit.arguments.flags import Arguments
from pilotage.kit.console.terminal import GREEN
from pilotage.kit.printers.documents import UNNAMED
from pilotage.kit.session import CommandSession, name_of
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pilotage.kit.printers.output import Printer

DRY_RUN = {"none": "", "client": " (dry run)", "server": " (server dry run)"}
"""The suffix of an outcome, by the value of `--dry-run`."""


class Report:
    """Prints one object after the other: a line for each, or the object in the format of `-o`."""

    def __init__(self, session: CommandSession, options: Arguments) -> None:
        self._session = session
        self._suffix = DRY_RUN[options.dry_run]
        self._printer = object_printer(options)
        self._separator = "---\n" if options.output == "yaml" else ""
        self._several = False

    def add(self, mapping: RESTMapping, document: Document, outcome: str, *, dry_run: bool = True) -> None:
        """Print an object that was written. `dry_run=False`: kubectl does not mention a dry run here."""
        if self._printer is None:
            name = name_of(mapping, document["metadata"].get("name") or UNNAMED)
            done = self._session.output.styled(outcome, *(() if outcome == "unchanged" else (GREEN,)))
            self._session.report(f"{name} {done}{self._suffix if dry_run else ''}\n")
            return
        self._session.report((self._separator if self._several else "") + self._printer([document], False))
        self._several = True


def object_printer(options: Arguments) -> Printer | None:
    """The printer of whole objects for the format of `-o`, if there is one. Raises CommandError for an unknown one."""
    if not options.output:
        return None
    from pilotage.kit.printers.output import OBJECT_FORMATS, printer_of

    return printer_of(options.output, formats=OBJECT_FORMATS)
