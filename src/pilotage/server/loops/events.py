"""Deletes Events an hour after they were last seen."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.strategies.events import LIFETIME
from pilotage.storage.interface import Delete

EVENTS = "core/events/"
EVENT_LIFETIME = timedelta(seconds=LIFETIME)
_ROUND_SECONDS = 30.0


async def expire_events(context: RegistryContext) -> None:
    """Events go an hour after they were last seen."""
    while True:
        await asyncio.sleep(_ROUND_SECONDS)
        now = context.clock()
        for entry in (await context.storage.list(context.prefix + EVENTS)).entries:
            if last_seen(records.decode(entry.value), now) < now - EVENT_LIFETIME:
                with suppress(RevisionConflict):  # it was seen again
                    await context.commit(Delete(entry.key, expected=entry.revision))


def last_seen(event: Document, now: datetime) -> datetime:
    """The newest of the times in an event; what lies in the future is no time at which it was seen."""
    series = event.get("series") or {}
    texts = [event["metadata"]["creationTimestamp"], series.get("lastObservedTime")]
    texts += [event.get(key) for key in ("lastTimestamp", "eventTime")]
    seen = (times.parse(text) for text in texts if text)
    return max((time for time in seen if time <= now), default=now)
