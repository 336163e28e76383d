"""`logs`: what reconcilers logged for an object, from the file beside the storage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pilotage.kit.arguments.reads import LogsArguments
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported
from pilotage.kit.console.terminal import DIM, RED, YELLOW
from pilotage.kit.printers.ages import moment
from pilotage.kit.printers.output import unknown_format
from pilotage.kit.printers.table import escaped
from pilotage.kit.recorded.logfile import older
from pilotage.kit.selection import selected
from pilotage.kit.session import CommandSession, name_of

_OWN = ("time", "level", "logger", "message", "exception", "controller", "controllerGroup", "controllerKind")
_HIDDEN = (*_OWN, "namespace", "name", "reconcileID")
_STYLES = {"error": RED, "warning": YELLOW}


async def run(session: CommandSession, options: LogsArguments) -> int:
    if not session.log_file:
        raise CommandError(
            "the log of reconciles is kept for a storage (--storage sqlite:PATH or etcd://HOST:PORT) and not for a "
            "server: see the log of the program that reconciles there"
        )
    if options.output not in ("", "text", "json"):
        raise unknown_format(options.output, ("text", "json"))
    chosen = selected(session, options.resources)
    if len(chosen) != 1 or not chosen[0].name:
        raise CommandError("give one object: TYPE NAME or TYPE/NAME")
    mapping, name = chosen[0].mapping, chosen[0].name
    namespace = session.namespace_of(mapping, "")
    begin = datetime.now(UTC) - timedelta(seconds=options.since) if options.since else None
    found = [
        line
        for line in _lines(session.log_file)
        if line.get("name") == name
        and (line.get("namespace") or "") == namespace
        and (line.get("controllerKind") in (None, mapping.gvk.kind))
        and (begin is None or moment(line.get("time")) >= begin)
    ]
    for line in found if options.tail is None else found[len(found) - min(options.tail, len(found)) :]:
        session.output.write(f"{_text(session, line) if options.output != 'json' else json.dumps(line)}\n")
    session.output.flush()
    if not found:
        session.errors.line(f"No logs found for {name_of(mapping, name)}.")
    return 0


def _lines(path: str) -> Iterator[dict[str, Any]]:
    for file in (Path(older(path)), Path(path)):
        text = ""
        with reported(f"cannot read the log {file}"), suppress(FileNotFoundError):
            text = file.read_text(encoding="utf-8", errors="replace")
        for line in text.splitlines():
            try:
                document = json.loads(line)
            except ValueError:
                continue  # the half of a line that a crash has left
            if isinstance(document, dict):
                yield document


def _text(session: CommandSession, line: dict[str, Any]) -> str:
    from pilotage.telemetry.lines import value_of

    level = str(line.get("level") or "")
    fields = " ".join(f"{key}={value_of(value)}" for key, value in line.items() if key not in _HIDDEN)
    time = session.output.styled(str(line.get("time") or ""), DIM)
    shown = session.output.styled(f"{level.upper():<7}", *([_STYLES[level]] if level in _STYLES else []))
    return " ".join(part for part in (time, shown, escaped(str(line.get("message") or "")), fields) if part)
