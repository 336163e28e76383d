"""Tasks whose end is never silent: a task group in which a task that other code cancels has failed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import Context, ContextVar
from types import FrameType, TracebackType
from typing import Any, TypeVar

from pilotage.errors import PilotageError

T = TypeVar("T")


BACKGROUND: ContextVar[bool] = ContextVar("background", default=False)
"""Whether timers that are set now are housekeeping: nothing happens when they fire, unless something is wrong."""


class Background:
    """A block whose timers are housekeeping: bookmarks, checks of liveness, expiry.

    They are those of any program on a real loop. A loop with virtual time may skip them where nothing else happens: a
    year has ten million bookmarks of each watch.
    """

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = BACKGROUND.set(True)

    def __exit__(self, *error: object) -> None:
        BACKGROUND.reset(self._token)


def loop_time() -> float:
    """The clock of the running event loop, in seconds."""
    return asyncio.get_running_loop().time()


def frames_of(task: asyncio.Task[Any]) -> list[FrameType]:
    """Where a task waits: the frames of its coroutines, from the outermost to the one that waits."""
    frames = list[FrameType]()
    coroutine: object = task.get_coro()
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        if frame.f_code is not OwnedTasks._run_owned.__code__:  # it is in every task of such a group
            frames.append(frame)
        coroutine = getattr(coroutine, "cr_await", None)
    return frames


async def is_set_within(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait until an event is set, at most for so long (None: without limit); returns whether it is set."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True


async def cancel_all(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, of which there may be none, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def loop_is_ending() -> bool:
    """Whether every task of the running loop is being cancelled, as `asyncio.run` does at its end."""
    return all(task.cancelling() for task in asyncio.all_tasks())


class TaskCancelled(PilotageError):
    """A task was cancelled, and not by its owner."""


class OwnedTasks(asyncio.TaskGroup):
    """A task group for tasks that run until the group ends.

    A plain group ignores the cancellation of one of its tasks. Here it is an error, TaskCancelled, unless the group is
    ending or the task was cancelled with `cancel`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._owner: asyncio.Task[Any] | None = None
        self._is_ending = False
        self._cancelled: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> OwnedTasks:
        self._owner = asyncio.current_task()
        await super().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_ending = self._is_ending or error is not None
        await super().__aexit__(kind, error, traceback)

    def create_task(  # type: ignore[override, unused-ignore]  # a plain group takes generators in 3.11, options in 3.14
        self, coroutine: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        owned = self._run_owned(coroutine)
        try:
            task = super().create_task(owned, name=name, context=context)
        except RuntimeError:  # the group has ended
            owned.close()
            coroutine.close()
            raise
        task.add_done_callback(lambda _: coroutine.close())  # of a task that is cancelled before its first step
        return task

    def cancel(self, task: asyncio.Task[Any]) -> None:
        """Cancel one task; the others continue."""
        self._cancelled.add(task)
        task.add_done_callback(self._cancelled.discard)
        task.cancel()

    async def _run_owned(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return await coroutine
        except asyncio.CancelledError:
            task, owner = asyncio.current_task(), self._owner
            assert task is not None and owner is not None  # noqa: PT018 a coroutine runs in one
            if self._is_ending or owner.cancelling() or task in self._cancelled:
                raise
            self._is_ending = True
            raise TaskCancelled(f"{task.get_name()} was cancelled, and not by its owner") from None
        except BaseException:
            self._is_ending = True  # the group cancels the other tasks
            raise
