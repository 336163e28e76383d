"""Waiting until an object meets a condition, or is deleted."""

from __future__ import annotations

from collections.abc import Callable

from pilotage.cli.errors import CommandError
from pilotage.cli.kit.selection import SelectedObjects
from pilotage.cli.kit.session import CommandSession, decode
from pilotage.meta.documents import Document
from pilotage.rest.request import APIRequest, ListOptions, Verb

Condition = Callable[[Document | None], bool]
"""Whether an object meets the condition. It gets None if the object does not exist."""


async def wait_until(
    session: CommandSession, each: SelectedObjects, holds: Condition, *, must_exist: bool = False, once: bool = False
) -> Document | None:
    """Wait until the condition is met; returns the object, or None if it does not exist then. Raises NotFound if the
    object `must_exist` and does not. With `once`, raises CommandError if the condition is not met now.
    """
    namespace, selector = session.place(each.mapping, each.namespace), f"metadata.name={each.name}"
    while True:
        items, version = await session.list(each.mapping, namespace, ListOptions(field_selector=selector))
        document = items[0] if items else None
        if holds(document):
            return document
        if document is None and must_exist:
            await session.get(each.mapping, each.name, each.namespace)  # raises NotFound
        if once:
            raise CommandError(f"condition not met for {each.mapping.resource.resource}/{each.name}")
        options = ListOptions(field_selector=selector, resource_version=version)
        request = APIRequest(Verb.WATCH, each.mapping.resource, namespace, options=options)
        async with session.transport.watch(request) as events:
            async for event in events:
                if event.type == "ERROR":
                    break  # the version is forgotten: list again
                document = None if event.type == "DELETED" else decode(event.object)
                if event.type != "BOOKMARK" and holds(document):
                    return document


def timed_out(each: SelectedObjects) -> CommandError:
    return CommandError(f"timed out waiting for the condition on {each.mapping.resource.resource}/{each.name}")
