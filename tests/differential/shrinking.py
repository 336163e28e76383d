"""A sequence that shows a difference, made smaller while it still shows it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pilotage.meta.documents import copied

from ..server.differential import Saved, Step

Steps = Sequence[Step]
Shows = Callable[[Steps], Awaitable[bool]]
"""Whether steps still show the difference."""


async def shrunk(steps: Steps, shows: Shows, attempts: int = 80) -> Steps:
    """Fewer steps with smaller bodies; the first that works at each point is taken."""
    position = 0
    while attempts > 0:
        smaller = next(_from(position, _smaller(steps)), None)
        if smaller is None:
            break
        attempts -= 1
        if await shows(smaller):
            steps = smaller
        else:
            position += 1
    return steps


def _from(position: int, choices: Iterator[Steps]) -> Iterator[Steps]:
    for number, choice in enumerate(choices):
        if number >= position:
            yield choice


def _smaller(steps: Steps) -> Iterator[Steps]:
    for index in reversed(range(len(steps) - 1)):  # a read after the update that uses it
        yield [*steps[:index], *steps[index + 1 :]]
    for index, step in enumerate(steps):
        for body in _smaller_bodies(step.body):
            yield [*steps[:index], replace(step, body=body), *steps[index + 1 :]]


def _smaller_bodies(body: Any) -> Iterator[Any]:
    if isinstance(body, Saved):
        for name in body.changes:
            yield Saved(body.name, {key: value for key, value in body.changes.items() if key != name})
            for value in _smaller_bodies(body.changes[name]):
                yield Saved(body.name, {**body.changes, name: value})
        return
    for path in _places(body):
        made = copied(body)
        holder = made
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
        yield made


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of a body, the short ones of each branch first."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        named = isinstance(child, dict) and "name" in child and key == "metadata"  # without one, all else is different
        if key not in ("apiVersion", "kind", "name") and not named:
            yield (*path, key)
        yield from _places(child, (*path, key))
