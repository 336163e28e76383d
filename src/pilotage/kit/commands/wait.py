"""`wait`: until objects have a condition or a value, exist, or are deleted."""

from __future__ import annotations

import re
from collections.abc import Callable

from pilotage.errors import PilotageError
from pilotage.kit.arguments.reads import WaitArguments
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.commands.get import chosen_by, list_options, listed, scope
from pilotage.kit.console.errors import CommandError, UsageError
from pilotage.kit.exits import raise_all
from pilotage.kit.printers.template import relaxed, value_text
from pilotage.kit.printers.written import Report
from pilotage.kit.selection import SelectedObjects
from pilotage.kit.session import CommandSession, decode
from pilotage.meta.documents import Document
from pilotage.meta.jsonpath import UnfitValueError
from pilotage.rest.request import APIRequest, ListOptions, Verb

Condition = Callable[[Document | None], bool]
"""Whether an object meets the condition. It gets None if the object does not exist."""

_PATH_AND_VALUE = re.compile(r"'?(\{.*\}|[^=]+)'?(?:=(.+))?", re.DOTALL)


async def run(session: CommandSession, options: WaitArguments) -> int:
    import asyncio  # `delete`, which may not wait, uses the rest of this module without an event loop

    if not options.condition:
        raise UsageError("specify --for: condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete")
    holds = condition_of(options.condition)
    awaited = options.condition.lower()
    must_exist = awaited not in ("create", "delete")
    report = Report(session, options)
    errors: list[PilotageError] = []
    deadline = asyncio.get_running_loop().time() + options.timeout if options.timeout else None
    chosen = await _chosen(session, options)
    attempts = Attempts(errors, len(chosen))
    for each in chosen:
        among = None if each.name else (scope(session, each.mapping, options), list_options(options))
        with attempts.one():
            existed = awaited != "delete" or await session.find(each.mapping, each.name, each.namespace)
            try:
                with session.errors.working(f"Waiting for {_shown(each)}"):
                    async with asyncio.timeout_at(deadline):
                        document = await wait_until(
                            session, each, holds, must_exist=must_exist, once=not deadline, among=among
                        )
            except TimeoutError:
                raise timed_out(each) from None
            if document is not None or existed:  # else nothing had to be waited for
                report.add(each.mapping, document or {"metadata": {"name": each.name}}, "condition met")
    raise_all(errors)
    return 0


async def _chosen(session: CommandSession, options: WaitArguments) -> list[SelectedObjects]:
    """The objects to wait for, by their names; objects that `--for=create` waits for may not exist yet, and then have
    no names."""
    errors: list[PilotageError] = []
    chosen = await chosen_by(session, options, errors)
    raise_all(errors)  # before the others are waited for, as in kubectl
    if all(each.name for each in chosen):
        return chosen
    found = await listed(session, options, chosen)
    if not found and options.condition.lower() == "create":
        return chosen
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
        if len(found) > 1:
            raise CommandError("given jsonpath expression matches more than one value")
        if found and isinstance(found[0], dict | list):
            raise CommandError("jsonpath leads to a nested object or list which is not supported")
        return bool(found) and value_text(found[0]) == value

    return holds


async def wait_until(
    session: CommandSession,
    each: SelectedObjects,
    holds: Condition,
    *,
    must_exist: bool = False,
    once: bool = False,
    among: tuple[str, ListOptions] | None = None,
) -> Document | None:
    """Wait until the condition is met; returns the object, or None if it does not exist then. Raises NotFound if the
    object `must_exist` and does not. With `once`, raises CommandError if the condition is not met now. `among` are the
    namespace and the options of a list, any object of which may meet the condition.
    """
    by_name = ListOptions(field_selector=f"metadata.name={each.name}")
    namespace, listing = among or (session.namespace_of(each.mapping, each.namespace), by_name)
    while True:
        items, version = await session.list(each.mapping, namespace, listing)
        document = items[0] if items else None
        if holds(document):
            return document
        if document is None and must_exist:
            await session.get(each.mapping, each.name, each.namespace)  # raises NotFound
        if once:
            raise CommandError(f"condition not met for {_shown(each)}")
        options = ListOptions(listing.label_selector, listing.field_selector, resource_version=version)
        request = APIRequest(Verb.WATCH, each.mapping.resource, namespace, options=options)
        async with session.transport.watch(request) as events:
            async for event in events:
                if event.type == "ERROR":
                    break  # the version is forgotten: list again
                document = None if event.type == "DELETED" else decode(event.object)
                if event.type != "BOOKMARK" and holds(document):
                    return document


def timed_out(each: SelectedObjects) -> CommandError:
    return CommandError(f"timed out waiting for the condition on {_shown(each)}")


def _shown(each: SelectedObjects) -> str:
    return f"{each.mapping.resource.resource}/{each.name}".rstrip("/")
