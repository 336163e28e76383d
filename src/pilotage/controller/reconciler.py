"""Reconcilers in their several forms, made into one: an async function from a Request to a Result.

A reconciler is an object with `reconcile`, or a function; async or not. One that is not async runs in a thread of its
own, and calls what is async through `wait`, which runs it on the loop:

    def reconcile(request: Request) -> Result:
        database = wait(client.get(Database, request.name, namespace=request.namespace))
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import InvalidDefinition, PilotageError

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

Outcome = Result | None
"""None is the same as `Result()`."""

Reconcile = Callable[[Request], Awaitable[Outcome]]
"""The one form that a controller calls."""


class Reconciler(Protocol):
    """Makes the world what an object says. `reconcile` may be async, and should be."""

    def reconcile(self, request: Any, /) -> Awaitable[Outcome] | Outcome: ...


AnyReconciler = Reconciler | Callable[[Any], Awaitable[Outcome] | Outcome]


class Abandoned(PilotageError):
    """The controller waits for this reconcile no longer, because its time was over or the program is ending. Nothing
    more is done for it: let the function end."""


def reconcile_function(reconciler: AnyReconciler) -> Reconcile:
    """The async function of a reconciler in any form. Raises InvalidDefinition for what is none."""
    function: Any = getattr(reconciler, "reconcile", reconciler)
    if not callable(function) or isinstance(reconciler, type):
        raise InvalidDefinition(
            f"{reconciler!r} is not a reconciler: give an object with `async def reconcile(self, request)`, or a "
            "function of the request"
        )
    if _is_async(function):
        made: Reconcile = function
        return made

    async def reconcile(request: Request) -> Outcome:
        outcome = await _Thread(function, request).run()
        # A function that is not async may still return something to be awaited: a lambda around one that is.
        return await outcome if inspect.isawaitable(outcome) else outcome

    return reconcile


def wait(awaitable: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the controller's loop, from a reconciler that is not async, and wait for what it gives."""
    thread: _Thread | None = getattr(_running, "thread", None)
    if thread is None:
        awaitable.close()
        raise InvalidDefinition(
            "wait(…) is for reconcilers that are not async, in the thread that runs them; in an async function, use await"
        )
    return thread.wait(awaitable)


_running = threading.local()


class _Thread:
    """One reconcile in a thread. Daemonic: one that never ends must not keep the program from ending."""

    def __init__(self, function: Callable[[Request], Any], request: Request) -> None:
        self._function = function
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Any] = self._loop.create_future()
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reason = ""

    async def run(self) -> Any:
        name = f"reconcile {self._request}"
        threading.Thread(target=self._context.run, args=(self._work,), name=name, daemon=True).start()
        try:
            return await asyncio.shield(self._ended)
        except asyncio.CancelledError:
            self._abandon()
            if _is_time_out():
                await asyncio.wait([self._ended])  # the request is this thread's until it ends, and nobody else's
            raise

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Called in the thread."""
        answer: concurrent.futures.Future[T] = concurrent.futures.Future()
        try:
            self._loop.call_soon_threadsafe(self._start, coroutine, answer, contextvars.copy_context())
            return answer.result()
        except (concurrent.futures.CancelledError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not self._loop.is_closed():
                raise  # the coroutine's own
            coroutine.close()
            raise Abandoned(f"the reconcile of {self._request} was given up") from None

    def _start(
        self, coroutine: Coroutine[Any, Any, T], answer: concurrent.futures.Future[T], context: contextvars.Context
    ) -> None:
        if self._reason:
            answer.cancel()
            return
        task = self._loop.create_task(coroutine, name=f"wait in reconcile {self._request}", context=context)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._answer(done, answer))

    def _answer(self, task: asyncio.Task[T], answer: concurrent.futures.Future[T]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            answer.cancel()
        elif (error := task.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(task.result())

    def _abandon(self) -> None:
        self._reason = "given up"
        for task in self._tasks:
            task.cancel()

    def _work(self) -> None:
        _running.thread = self
        try:
            result, error = self._function(self._request), None
        except BaseException as raised:
            result, error = None, raised
        try:
            self._loop.call_soon_threadsafe(self._end, result, error)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    def _end(self, result: object, error: BaseException | None) -> None:
        if error is None:
            self._ended.set_result(result)
            return
        if isinstance(error, StopIteration):  # a future cannot hold one
            error = RuntimeError(f"the reconciler raised {error!r}")
        self._ended.set_exception(error)
        self._ended.exception()  # where nobody waits any more, nobody misses it


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))
