"""Functions of users, async or not: called on the loop, or in a thread if they are not async."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from pilotage import threads
from pilotage.errors import InvalidDefinition, ServiceUnavailable
from pilotage.signatures import signature_of

Call = Callable[..., Awaitable[Any]]
MAX_THREADS = 256
"""Calls of one handler that may run at a time if it is not async: one that hangs must not fill the memory."""


def awaited(function: Callable[..., Any]) -> Call:
    """The function as an async one. One that is not async runs in a thread: it may block, and must not stop others."""
    own_call = getattr(type(function), "__call__", None)  # noqa: B004 - of an object that can be called
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(own_call):
        return function

    slots = threading.BoundedSemaphore(MAX_THREADS)

    async def call(*arguments: Any, **options: Any) -> Any:
        if not slots.acquire(blocking=False):
            raise ServiceUnavailable(f"{MAX_THREADS} calls of this webhook handler have not returned")

        def work() -> Any:
            try:
                return function(*arguments, **options)
            finally:
                slots.release()

        result = await threads.start(work, "handler")
        # A function that is not async may still return an awaitable: a lambda around an async function.
        return await result if inspect.isawaitable(result) else result

    return call


def method(owner: object, name: str, role: str) -> Call:
    """The method of a defaulter or validator, as an async one. It is called with the AdmissionRequest and the objects;
    the method is given the request only if it has a parameter `request`. Raises InvalidDefinition if there is none."""
    function = getattr(owner, name, None)
    if isinstance(owner, type) or not callable(function):
        what = f"the class {owner.__name__}, and not an object of it" if isinstance(owner, type) else repr(owner)
        raise InvalidDefinition(f"{what} cannot be a {role}: it needs a method {name}(…)")
    try:
        with_request = "request" in signature_of(function).parameters
    except (TypeError, ValueError):  # of a builtin
        with_request = False
    call = awaited(function)
    return lambda request, *objects: call(*objects, **({"request": request} if with_request else {}))
