"""Why a controller is not idle, as sentences for the message of NotIdle."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from pilotage.controller.activity import Unfinished
from pilotage.controller.request import Request
from pilotage.meta.text.counts import counted

V = TypeVar("V")

NAMED = 10
"""Requests that a sentence names; further ones are counted."""


def tried_again(
    unfinished: Mapping[Request, Unfinished], waiting: Mapping[Request, float], running: Collection[Request]
) -> list[str]:
    """The requests that are retried: how often, why, and when next."""
    found = [
        f"{request} {state}; "
        + ("it is being retried" if request in running else f"the next attempt is in {waiting.get(request, 0.0):.3g} s")
        for request, state in _first(unfinished.items())
    ]
    more = len(unfinished) - len(found)
    return found + ([f"{counted(more, 'more request')} to be retried"] if more > 0 else [])


def due(waiting: Mapping[Request, float], unfinished: Collection[Request], horizon: float) -> list[str]:
    """The requests that wait for a worker, and those that are due within the horizon."""
    others = {request: seconds for request, seconds in waiting.items() if request not in unfinished}
    delayed = {request: seconds for request, seconds in others.items() if 0 < seconds <= horizon}
    found = [
        f"{request} is due again in {seconds:.3g} s, which is within the horizon of {horizon:g} s"
        for request, seconds in _first(delayed.items())
    ]
    ready = [str(request) for request, seconds in others.items() if seconds <= 0]
    if ready:
        more = f" and {len(ready) - NAMED} more" if len(ready) > NAMED else ""
        found.append(f"{len(ready)} waiting for a worker: {', '.join(ready[:NAMED])}{more}")
    return found


def running(in_progress: Mapping[Request, float]) -> list[str]:
    """The reconciles that have not ended."""
    return [f"the reconcile of {one} has been running for {s:.1f} s" for one, s in _first(in_progress.items())]


def _first(pairs: Iterable[tuple[Request, V]]) -> list[tuple[Request, V]]:
    return [pair for _, pair in zip(range(NAMED), pairs, strict=False)]
