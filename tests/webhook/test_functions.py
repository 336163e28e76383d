"""Handlers that are not async."""

from __future__ import annotations

import asyncio
import threading

import pytest

from pilotage.errors import ServiceUnavailable
from pilotage.telemetry.logs import log_context, logged_fields
from pilotage.webhook import functions
from pilotage.webhook.functions import awaited


async def test_handlers_that_hang_do_not_stop_others() -> None:
    may_end = threading.Event()
    hanging = [asyncio.ensure_future(awaited(may_end.wait)()) for _ in range(50)]
    assert await awaited(lambda: 3)() == 3
    may_end.set()
    assert await asyncio.gather(*hanging) == [True] * 50


async def test_a_caller_that_stops_waiting_is_not_disturbed_by_the_end() -> None:
    may_end, ended = threading.Event(), threading.Event()

    def work() -> None:
        may_end.wait()
        ended.set()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await awaited(work)()
    may_end.set()
    ended.wait(60)
    await asyncio.sleep(0)


async def test_context_errors_and_awaitables_are_passed_on() -> None:
    async def later() -> str:
        return "later"

    def fail() -> None:
        raise StopIteration("oops")

    with log_context(request="7"):
        assert await awaited(lambda: dict(logged_fields()))() == {"request": "7"}
    assert await awaited(lambda: later())() == "later"
    with pytest.raises(RuntimeError, match="the handler raised StopIteration"):
        await awaited(fail)()


async def test_an_object_with_an_async_call_is_async() -> None:
    class Handler:
        async def __call__(self) -> str:
            return threading.current_thread().name

    assert await awaited(Handler())() == "MainThread"


async def test_a_handler_that_hangs_is_not_called_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "MAX_THREADS", 2)
    may_end = threading.Event()
    call = awaited(may_end.wait)
    hanging = [asyncio.ensure_future(call()) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(ServiceUnavailable, match="2 calls of this webhook handler have not returned"):
        await call()
    may_end.set()
    assert await asyncio.gather(*hanging) == [True, True]
    assert await call()
