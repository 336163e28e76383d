"""Functions of users, async or not: called on the loop, or in a thread if they are not async."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from pilotage.errors import InvalidDefinition

Call = Callable[..., Awaitable[Any]]


def awaited(function: Callable[..., Any]) -> Call:
    """The function as an async one. One that is not async runs in a thread: it may block, and must not stop others."""
    own_call = getattr(type(function), "__call__", None)  # noqa: B004 - of an object that can be called
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own_call):
        return function

    async def call(*arguments: Any, **options: Any) -> Any:
        result = await _in_thread(partial(function, *arguments, **options))
        # A function that is not async may still return an awaitable: a lambda around an async function.
        return await result if inspect.isawaitable(result) else result

    return call


def method(owner: object, name: str, role: str) -> Call:
    """The method of a defaulter or validator, as an async one. Raises InvalidDefinition if there is none."""
    function = getattr(owner, name, None)
    if isinstance(owner, type) or not callable(function):
        what = f"the class {owner.__name__}, and not an object of it" if isinstance(owner, type) else repr(owner)
        raise InvalidDefinition(f"{what} cannot be a {role}: it needs a method {name}(…)")
    return awaited(function)


def wants_request(function: Callable[..., Any]) -> bool:
    """Whether the function has a parameter `request`, and is given the AdmissionRequest."""
    try:
        return "request" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a builtin
        return False


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Run in a daemon thread of its own: one that hangs does not use up a pool, nor keep the program from exiting."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def end(result: object, error: BaseException | None) -> None:
        if ended.done():  # the caller has stopped waiting
            return
        if error is None:
            ended.set_result(result)
        elif isinstance(error, StopIteration):  # a future cannot hold one
            ended.set_exception(RuntimeError(f"the handler raised {error!r}"))
        else:
            ended.set_exception(error)

    def run() -> None:
        try:
            result, error = context.run(work), None
        except BaseException as raised:
            result, error = None, raised
        with suppress(RuntimeError):  # the loop is closed: nothing waits for it
            loop.call_soon_threadsafe(end, result, error)

    threading.Thread(target=run, name="webhook handler", daemon=True).start()
    return await ended
