"""What a command prints about an object that it has written: `todo.example.com/milk created`, or the object."""

from __future__ import annotations

import argparse

from pilotage.cli.kit.session import Session, name_of
from pilotage.cli.terminal import GREEN
from pilotage.meta.documents import Document
from pilotage.meta.mapper import RESTMapping

_DRY_RUN = {"": "", "none": "", "client": " (dry run)", "server": " (server dry run)"}


def print_written(
    session: Session, options: argparse.Namespace, mapping: RESTMapping, document: Document, outcome: str
) -> None:
    """One line, or the object in the format of `-o`."""
    if not options.output:
        name = name_of(mapping, document["metadata"].get("name") or "")
        done = session.output.styled(outcome, *(() if outcome == "unchanged" else (GREEN,)))
        session.output.line(f"{name} {done}{_DRY_RUN[getattr(options, 'dry_run', '')]}")
        return
    from pilotage.cli.kit.printers.output import printer_of

    session.output.write(printer_of(options.output)([document], False))
    session.output.flush()


def is_server_dry_run(options: argparse.Namespace) -> bool:
    return bool(options.dry_run == "server")
