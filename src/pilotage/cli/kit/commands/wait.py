"""`wait`: until objects have a condition or a value, exist, or are deleted."""

from __future__ import annotations

import argparse
import asyncio
import re

from pilotage.cli.errors import CommandError, UsageError
from pilotage.cli.kit.commands.get import chosen_by, listed
from pilotage.cli.kit.commands.until import Condition, timed_out, wait_until
from pilotage.cli.kit.commands.written import Report
from pilotage.cli.kit.exits import raise_all
from pilotage.cli.kit.printers.template import relaxed, value_text
from pilotage.cli.kit.selection import SelectedObjects
from pilotage.cli.kit.session import CommandSession
from pilotage.errors import PilotageError
from pilotage.meta.documents import Document
from pilotage.meta.jsonpath import UnfitValueError

_PATH_AND_VALUE = re.compile(r"'?(\{.*\}|[^=]+)'?(?:=(.+))?", re.DOTALL)


async def run(session: CommandSession, options: argparse.Namespace) -> int:
    if not options.condition:
        raise UsageError("specify --for: condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete")
    holds = condition_of(options.condition)
    awaited = options.condition.lower()
    must_exist = awaited not in ("create", "delete")
    report = Report(session, options)
    errors: list[PilotageError] = []
    deadline = asyncio.get_running_loop().time() + options.timeout if options.timeout else None
    for each in await _chosen(session, options):
        try:
            existed = awaited != "delete" or await session.find(each.mapping, each.name, each.namespace)
            with session.errors.working(f"Waiting for {each.mapping.resource.resource}/{each.name}"):
                async with asyncio.timeout_at(deadline):
                    document = await wait_until(session, each, holds, must_exist=must_exist, once=not deadline)
        except (PilotageError, TimeoutError) as error:
            errors.append(timed_out(each) if isinstance(error, TimeoutError) else error)
            continue
        if document is None and not existed:
            continue  # nothing had to be waited for
        shown = document or {"metadata": {"name": each.name}}
        report.add(each.mapping, shown, "condition met")
    raise_all(errors)
    return 0


async def _chosen(session: CommandSession, options: argparse.Namespace) -> list[SelectedObjects]:
    chosen = await chosen_by(session, options)
    if all(each.name for each in chosen):
        return chosen
    found = await listed(session, options, chosen)
    if not found and options.condition.lower() != "delete":
        raise CommandError("no matching resources found")
    return found


def condition_of(text: str) -> Condition:
    """The condition of `--for`. Raises CommandError."""
    if text.lower() == "delete":
        return lambda document: document is None
    if text.lower() == "create":
        return lambda document: document is not None
    if text.startswith("condition="):
        name, _, status = text.removeprefix("condition=").partition("=")
        if not name:
            raise CommandError("the name of the condition is missing, as in --for=condition=Ready")
        return lambda document: document is not None and _has_condition(document, name, status or "true")
    if text.startswith("jsonpath="):
        return _jsonpath(text.removeprefix("jsonpath="))
    raise CommandError(f'unrecognized condition: "{text}"')


def _has_condition(document: Document, name: str, status: str) -> bool:
    for condition in (document.get("status") or {}).get("conditions") or ():
        if str(condition.get("type")).lower() != name.lower():
            continue
        observed = condition.get("observedGeneration")
        if observed is not None and observed < document["metadata"].get("generation", 0):
            return False
        return str(condition.get("status")).lower() == status.lower()
    return False


def _jsonpath(text: str) -> Condition:
    if not text:
        raise CommandError("jsonpath expression cannot be empty")
    match = _PATH_AND_VALUE.fullmatch(text)
    if match is None:
        raise CommandError(
            "jsonpath wait has to have a value after equal sign, as in --for=jsonpath='{.status.phase}'=Running"
        )
    parsed, value = relaxed(match[1].strip("'\"")), (match[2] or "").strip("'\"")

    def holds(document: Document | None) -> bool:
        try:
            found = parsed.find(document) if document is not None else []
        except UnfitValueError:
            found = []
        if not value:
            return bool(found)
        return len(found) == 1 and value_text(found[0]) == value

    return holds
