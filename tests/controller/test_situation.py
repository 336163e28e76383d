"""What a controller does with one request: where a reconcile is that does not run on the event loop."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

from pilotage.controller import Controller, Request
from pilotage.meta.kinds import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


async def test_a_reconcile_in_a_thread_is_shown_with_its_line() -> None:
    begun, end = threading.Event(), threading.Event()

    def reconcile(request: Request) -> None:
        begun.set()
        end.wait()

    controller = Controller("threads", reconcile, kind=CONFIG_MAP)
    task = asyncio.create_task(controller.start())
    controller.reconcile_object("a", "default")
    await asyncio.to_thread(begun.wait)
    state = controller.state_of(CONFIG_MAP.group_kind, "a", "default")
    assert state is not None
    assert state.running is not None
    assert "test_situation.py" in state.place
    assert state.place.endswith("reconcile")
    end.set()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_kind_that_is_not_watched_has_no_state() -> None:
    async def reconcile(request: Request) -> None: ...

    assert (
        Controller("one", reconcile, kind=CONFIG_MAP).state_of(CONFIG_MAP.group_kind._replace(kind="Pod"), "a") is None
    )
