"""Long computations in a thread: others are served while one large request is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from pilotage.server.resources import ResourceInfo

P = ParamSpec("P")
R = TypeVar("R")

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
COMPILED = 8
LARGE = 64 * 1024
"""Bytes of a body or an object from which on it is worth a thread."""


async def offload(size: int, function: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
    """What a function gives, computed in a thread if it is about so many bytes that others would have to wait.

    The function changes nothing that others look at. A loop without threads (one with virtual time) calls it at once.
    """
    if size < LARGE or not getattr(asyncio.get_running_loop(), "has_threads", True):
        return function(*arguments, **options)
    return await asyncio.to_thread(function, *arguments, **options)


def weight(info: ResourceInfo, size: int) -> int:
    """How large something of this kind is in effect: what a definition says is compiled, which takes long."""
    return size * COMPILED if info.group_resource == DEFINITIONS else size
