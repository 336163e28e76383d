"""Waiting until objects are deleted: finalizers may take their time."""

from __future__ import annotations

import asyncio

from pilotage.cli.errors import CommandError
from pilotage.cli.kit.naming import kind_of
from pilotage.cli.kit.selection import SelectedObjects
from pilotage.cli.kit.session import CommandSession
from pilotage.rest.request import APIRequest, ListOptions, Verb

FOREVER = 7 * 24 * 3600.0


async def wait_gone(session: CommandSession, deleted: list[tuple[SelectedObjects, str]], timeout: float) -> None:
    """Wait until none of the objects exists with its uid. `timeout` 0 is without a limit. Raises CommandError."""
    for each, uid in deleted:
        shown = f'{kind_of(each.mapping.gvk)} "{each.name}"'
        try:
            async with asyncio.timeout(timeout or FOREVER):
                with session.errors.working(f"Waiting until {shown} is deleted"):
                    await _wait(session, each, uid)
        except TimeoutError:
            raise CommandError(
                f"timed out waiting for the condition on {each.mapping.resource.resource}/{each.name}"
            ) from None


async def _wait(session: CommandSession, each: SelectedObjects, uid: str) -> None:
    while True:
        found = await session.find(each.mapping, each.name, each.namespace)
        if found is None or (uid and found["metadata"].get("uid") != uid):
            return
        options = ListOptions(
            field_selector=f"metadata.name={each.name}", resource_version=found["metadata"]["resourceVersion"]
        )
        namespace = session.place(each.mapping, each.namespace)
        request = APIRequest(Verb.WATCH, each.mapping.resource, namespace, options=options)
        async with session.transport.watch(request) as events:
            async for event in events:
                if event.type in ("DELETED", "ERROR"):
                    break
