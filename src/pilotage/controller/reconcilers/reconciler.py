"""Converts every form of reconciler to one: an async function from a Request to a Result.

A reconciler is an object with `reconcile`, or a function; async or not. A reconciler that is not async runs in a
thread, and calls coroutines through `wait`, which runs them on the event loop:

    def reconcile(request: Request) -> Result:
        database = wait(client.get(Database, request.name, namespace=request.namespace))
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from pilotage import threads
from pilotage.controller.reconcilers import forgottenwaits
from pilotage.controller.reconcilers.forgottenwaits import running
from pilotage.controller.reconcilers.signature import check_signature
from pilotage.controller.request import Q, Q_contra, Request
from pilotage.controller.result import Result
from pilotage.errors import InvalidDefinition, PilotageError

T = TypeVar("T")

Outcome = Result | None
"""None is the same as `Result()`."""

Reconcile = Callable[[Request], Awaitable[Outcome]]
"""The one form that a controller calls."""


class Reconciler(Protocol[Q_contra]):
    """Brings the actual state to the state that an object declares. `reconcile` should be async, but need not be."""

    def reconcile(self, request: Q_contra, /) -> Awaitable[Outcome] | Outcome: ...


AnyReconciler = Reconciler[Q] | Callable[[Q], Awaitable[Outcome] | Outcome]
"""A reconciler of requests of one type; without a type, of any."""


class Abandoned(PilotageError):
    """The controller no longer waits for this reconcile: its timeout has passed, or the program is ending. Raised
    by `wait`; the function should return."""


def reconcile_function(reconciler: AnyReconciler, is_stopping: Callable[[], bool] = lambda: False) -> Reconcile:
    """The async function of a reconciler in any form. Raises InvalidDefinition for anything else.

    A thread cannot be cancelled. After its timeout it is still waited for, unless `is_stopping`.
    """
    function: Any = getattr(reconciler, "reconcile", reconciler)
    if not callable(function) or isinstance(reconciler, type):
        raise InvalidDefinition(
            f"{reconciler!r} is not a reconciler: give an object with `async def reconcile(self, request)`, or a "
            "function of the request"
        )
    check_signature(reconciler, function)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        made: Reconcile = function
        return made

    async def reconcile(request: Request) -> Outcome:
        outcome: Outcome | Awaitable[Outcome] = await _Thread(function, request).run(is_stopping)
        # A function that is not async may still return an awaitable: a lambda around an async function.
        return await outcome if inspect.isawaitable(outcome) else outcome

    return reconcile


def wait(awaitable: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the controller's loop, from a reconciler that is not async, and return its result."""
    thread: _Thread | None = getattr(running, "thread", None)
    if thread is None:
        awaitable.close()
        raise InvalidDefinition(
            "wait(…) is for reconcilers that are not async, in the thread that runs them; in async functions, use await"
        )
    return thread.wait(awaitable)


class _Thread:
    """One reconcile in a thread of the pool."""

    def __init__(self, function: Callable[[Request], Any], request: Request) -> None:
        self._function = function
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._abandoned = False

    async def run(self, is_stopping: Callable[[], bool]) -> Any:
        ended = threads.start(self._work, f"reconcile {self._request}")
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            self._abandon()
            if not is_stopping():
                await asyncio.wait([ended])  # until then no other worker may have the request
            raise
        return ended.result()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Called in the thread."""
        answer: concurrent.futures.Future[T] = concurrent.futures.Future()
        try:
            self._loop.call_soon_threadsafe(self._start, coroutine, answer, contextvars.copy_context())
        except RuntimeError:  # the loop is closed
            answer.cancel()
        try:
            return threads.wait_for(answer, self._loop)
        except concurrent.futures.CancelledError:
            coroutine.close()
            raise Abandoned(
                f"the reconcile of {self._request} was abandoned: its timeout has passed, or the program is ending"
            ) from None

    def _start(
        self, coroutine: Coroutine[Any, Any, T], answer: concurrent.futures.Future[T], context: contextvars.Context
    ) -> None:
        if self._abandoned:
            answer.cancel()
            return
        task = self._loop.create_task(coroutine, name=f"wait in reconcile {self._request}", context=context)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._answer(done, answer))

    def _answer(self, task: asyncio.Task[T], answer: concurrent.futures.Future[T]) -> None:
        self._tasks.discard(task)
        if task.cancelled() and self._abandoned:
            answer.cancel()
        elif task.cancelled():
            answer.set_exception(asyncio.CancelledError())  # the coroutine cancelled itself
        elif (error := task.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(task.result())

    def _abandon(self) -> None:
        self._abandoned = True
        for task in self._tasks:
            task.cancel()

    def _work(self) -> Any:
        """Called in the thread."""
        forgottenwaits.extend_warnings()
        running.thread = self
        try:
            return self._function(self._request)
        except (AttributeError, TypeError) as error:
            if "'coroutine'" in str(error):
                # The lines of the program are what helps; its text is a part of the message.
                raise forgottenwaits.used_as_result(error).with_traceback(error.__traceback__) from None
            raise
        finally:
            running.thread = None
