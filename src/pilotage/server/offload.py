"""Runs long computations in a thread, so that other requests are served meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

Ts = TypeVarTuple("Ts")
R = TypeVar("R")

COMPILED = 8
"""How much more time a byte of a definition takes than a byte of another body, because it is compiled."""
LARGE = 64 * 1024
"""The minimum size of a body or an object that is processed in a thread."""


async def offload(size: int, function: Callable[[*Ts], R], *arguments: *Ts) -> R:
    """Call a function, in a thread if it processes so many bytes that other requests would have to wait.

    The function changes nothing that is visible elsewhere. Without an event loop, and on one without threads (with
    virtual time), it is called directly.
    """
    if size < LARGE:
        return function(*arguments)
    if "asyncio" not in sys.modules:  # a program without an event loop does not load it
        return function(*arguments)
    import asyncio

    loop = asyncio._get_running_loop()
    if loop is None or not getattr(loop, "has_threads", True):
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)
