"""The status of workloads: counts of pods that fit each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document


def validate_parts(status: Document, whole: str, parts: Iterable[str], detail: str = "") -> Iterator[Cause]:
    """Each part is at most the whole, as ready replicas are of all replicas."""
    most = status.get(whole) or 0
    for part in parts:
        value = status.get(part) or 0
        if value > most:
            yield invalid(f"status.{part}", value, f"cannot be greater than {detail or f'status.{whole}'}")


def validate_collision_count(status: Document, old: Document) -> Iterator[Cause]:
    """The count of collisions never falls; it may not be left out, either."""
    was = (old.get("status") or {}).get("collisionCount")
    value = status.get("collisionCount")
    if was is not None and (value is None or value < was):
        yield invalid("status.collisionCount", value or 0, "cannot be decremented")
