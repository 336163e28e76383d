"""The calls of reconciles to an API server, for the history: each is recorded when it begins, and has its answer or its
error when it ends."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from pilotage.history.records import CallNote
from pilotage.history.runs import CURRENT, Run
from pilotage.rest import APIRequest, Page, Response
from pilotage.rest.request import READS
from pilotage.telemetry.stack import program_place

T = TypeVar("T", Response, Page)


async def recorded(
    send: Callable[[APIRequest], Awaitable[T]], request: APIRequest, run: Run
) -> tuple[T, tuple[Run, CallNote]]:
    """Send a request, as a step of a reconcile."""
    from asyncio import get_running_loop  # loaded already: a reconcile runs. Programs that only read do without

    now = get_running_loop().time
    call = CallNote(request if not request.fences else msgspec.structs.replace(request, fences=()), now())
    if request.verb not in READS:
        call.place = program_place(sys._getframe(1))
    run.add(call, len(request.body))
    try:
        answer = await (send(request) if run.tape is None or run.tape.is_replayed else _outside(send, request))
    except BaseException as error:
        call.ended, call.error = now(), f"{type(error).__name__}: {error}".removesuffix(": ")
        if run.tape is not None:
            run.tape.failed(run, call, error)
        raise
    call.ended = now()
    if isinstance(answer, Response):
        run.answered(call, answer.body)
    elif run.keeps_lists:
        call.answer = answer
    else:
        call.answer = len(answer.items), answer.resource_version
    if run.tape is not None:
        run.tape.answered(run, call)
    return answer, (run, call)


async def _outside(send: Callable[[APIRequest], Awaitable[T]], request: APIRequest) -> T:
    """Send a request outside of the reconcile: what an API server in this process reads is not for its recording."""
    token = CURRENT.set(None)
    try:
        return await send(request)
    finally:
        CURRENT.reset(token)
