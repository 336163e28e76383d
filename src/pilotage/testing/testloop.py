"""The event loop of one test: its fixtures and the test itself run on it, one after the other."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

T = TypeVar("T")


class TestLoop:
    """A loop and a context that all coroutines of a test share. It is open inside `with`."""

    __test__ = False  # pytest takes classes of this name for tests

    def __init__(self, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self._runner = asyncio.Runner(loop_factory=new_loop)
        self._context = contextvars.copy_context()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._runner.get_loop()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end. Tasks that it has started continue with the next coroutine."""
        return self._runner.run(coroutine, context=self._context)

    @contextmanager
    def opened(self, generator: AsyncGenerator[T, None]) -> Iterator[T]:
        """Run an async generator to its `yield`, and at the end of the block to its end.

        Both parts run in one task, so that the `yield` can stand in a task group or in a timeout.
        """
        started: asyncio.Future[T] = self.loop.create_future()
        ending = asyncio.Event()

        async def both() -> None:
            try:
                value = await anext(generator)
            except BaseException as error:
                _fail(started, error)
                return
            started.set_result(value)
            await ending.wait()
            try:
                await anext(generator)
            except StopAsyncIteration:
                return
            await generator.aclose()
            raise RuntimeError(f"{generator!r} must have one yield, not several")

        task = self.loop.create_task(both(), context=self._context)
        yield self.run(_result(started))
        ending.set()
        self.run(_result(task))

    def __enter__(self) -> TestLoop:
        self._runner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.close()


async def within(seconds: float, test: Coroutine[Any, Any, None]) -> None:
    """Run a test that must end. Nothing else would end one that waits for ever: a server always has timers."""
    __tracebackhide__ = True
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            await test
    except TimeoutError as error:
        if not limit.expired():
            raise
        passed = timedelta(seconds=seconds)
        raise TimeoutError(f"the test has not ended after {passed} (--pilotage-timeout); it waits here") from error


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if isinstance(error, StopAsyncIteration):
        future.set_exception(RuntimeError("an async fixture with yield ended before its yield"))
    elif isinstance(error, asyncio.CancelledError):
        future.cancel()
    else:
        future.set_exception(error)


async def _result(future: asyncio.Future[T]) -> T:
    return await future
