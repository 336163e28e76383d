"""Events expire: a storage that does not delete them itself is searched at intervals."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta

from pilotage.errors import RevisionConflict
from pilotage.kubernetes.core.events import LIFETIME
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.storage.interface import Delete
from pilotage.tasks import Background

EVENTS = "core/events/"
EVENT_LIFETIME = timedelta(seconds=LIFETIME)
_ROUND_SECONDS = 30.0


async def expire_events(context: RegistryContext) -> None:
    """Delete Events an hour after their last occurrence."""
    while True:
        with Background():
            await asyncio.sleep(_ROUND_SECONDS)
        now = context.clock()
        for entry in (await context.storage.list(context.prefix + EVENTS)).entries:
            if last_seen(records.decode(entry.value), now) < now - EVENT_LIFETIME:
                with suppress(RevisionConflict):  # it was seen again
                    await context.commit(Delete(entry.key, expected=entry.revision))


def last_seen(event: Document, now: datetime) -> datetime:
    """The newest of the times in an event; times in the future are ignored."""
    series = event.get("series") or {}
    texts = [event["metadata"]["creationTimestamp"], series.get("lastObservedTime")]
    texts += [event.get(key) for key in ("lastTimestamp", "eventTime")]
    seen = (times.parse(text) for text in texts if text)
    return max((time for time in seen if time <= now), default=now)
