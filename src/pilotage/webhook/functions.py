"""Functions of users, async or not: called on the loop, or in a thread if they are not async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from pilotage.errors import InvalidDefinition

Call = Callable[..., Awaitable[Any]]


def awaited(function: Callable[..., Any]) -> Call:
    """The function as an async one. One that is not async runs in a thread: it may block, and must not stop others."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004 - its own kind counts
        return function

    async def call(*arguments: Any, **options: Any) -> Any:
        result = await asyncio.to_thread(function, *arguments, **options)
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
