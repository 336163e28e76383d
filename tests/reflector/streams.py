"""A scripted collection as a stream of changes, and what was in it."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable

from pilotage.errors import Cause, ConnectionLost, StatusDetails, Timeout
from pilotage.meta.kinds import GroupVersionKind
from pilotage.reflector.change import Applied, Change, Listening, Replaced, Trouble
from pilotage.reflector.reflector import ReflectorOptions, changes

from .scripted import Scripted

GVK = GroupVersionKind("", "v1", "ConfigMap")
TOO_LARGE = Timeout("Too large resource version", details=StatusDetails(causes=(Cause("ResourceVersionTooLarge"),)))
REFUSED = ConnectionLost("connection refused", sent=False)


def follow(source: Scripted, **options: object) -> AsyncGenerator[Change, None]:
    return changes(source, ReflectorOptions(gvk=GVK, random=random.Random(0), **options))  # type: ignore[arg-type]


def watches(source: Scripted, count: int) -> Callable[[list[Change]], bool]:
    """Wait until the source has been watched so often."""
    return lambda found: len(source.watched) >= count and isinstance(found[-1], Listening)


def names(change: Change) -> list[str]:
    assert isinstance(change, Replaced)
    return [item.name for item in change.items]


def applied(found: list[Change]) -> list[tuple[str, str]]:
    return [(one.header.name, one.header.resource_version) for one in found if isinstance(one, Applied)]


def troubles(found: list[Change]) -> list[Exception]:
    return [one.error for one in found if isinstance(one, Trouble)]
