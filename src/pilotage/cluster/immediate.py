"""Runs a coroutine without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from pilotage.errors import InvalidDefinition

T = TypeVar("T")


def run_now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing, such as a call of a LightCluster's client.

    A coroutine that only gives other tasks a turn goes on at once: there are none. One that would have to wait is
    closed, and InvalidDefinition is raised.
    """
    try:
        while True:
            waited_for = coroutine.send(None)
            if waited_for is not None:  # `asyncio.sleep(0)` yields None, everything else a future
                break
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    name = getattr(coroutine, "__qualname__", "the coroutine")
    raise InvalidDefinition(
        f"{name} waits for {waited_for!r}, which needs an event loop: call only the client of a LightCluster here, or "
        "use pt.Cluster.embedded with asyncio.run"
    )
