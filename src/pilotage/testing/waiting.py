"""Waiting for a condition: it is checked again after each change, and as time passes."""

from __future__ import annotations

import asyncio
import inspect
import linecache
from collections.abc import Awaitable, Callable, Iterator
from textwrap import indent
from types import FunctionType
from typing import Any, TypedDict, cast

from pilotage.errors import NotFound
from pilotage.meta.manifests import to_document
from pilotage.meta.models import Resource
from pilotage.meta.text import yamltext
from pilotage.meta.unstructured import Unstructured
from pilotage.testing.changes import Changes

Probe = Callable[[], Awaitable[Any] | Any]
"""Returns the value that is checked. AssertionError and NotFound mean that there is none yet."""
Check = Callable[[Any], bool]

ANY: Any = object()
"""The default of `is_` and `equals`: no such condition."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.25  # not skipped on a remote API server
_LOOKS = 20
"""How often `consistently` looks at a value although nothing was written."""


class Conditions(TypedDict, total=False):
    """What a value must be, as the arguments of `eventually` and `consistently`: all that are given."""

    is_: object
    equals: object
    satisfies: Check | None


class Expectation:
    """What a value must be: truthy, unless something else is asked for."""

    def __init__(self, *, is_: object = ANY, equals: object = ANY, satisfies: Check | None = None) -> None:
        self._is, self._equals, self._satisfies = is_, equals, satisfies

    def __call__(self, value: object) -> bool:
        if self._satisfies is not None and not self._satisfies(value):
            return False
        if self._is is not ANY and value is not self._is:
            return False
        if self._equals is not ANY and value != self._equals:
            return False
        return bool(value) or not self._wants_truth

    @property
    def _wants_truth(self) -> bool:
        return self._is is ANY and self._equals is ANY and self._satisfies is None

    def __str__(self) -> str:
        parts = []
        if self._is is not ANY:
            parts.append(f"is {self._is!r}")
        if self._equals is not ANY:
            parts.append(f"equals {self._equals!r}")
        if self._satisfies is not None:
            parts.append(f"satisfies {_source(self._satisfies)}")
        return " and ".join(parts) or "is true"


class Look:
    """One check of the value: what it was, or why there was none."""

    def __init__(self, value: Any, problem: BaseException | None = None) -> None:
        self.value = value
        self.problem = problem

    @property
    def cause(self) -> BaseException | None:
        """The problem, if its traceback shows more than the problem itself."""
        return self.problem if isinstance(self.problem, AssertionError) else None

    def __str__(self) -> str:
        if self.problem is not None:
            return f"{type(self.problem).__name__}: {self.problem}"
        if not isinstance(self.value, Resource | Unstructured):
            return repr(self.value)
        document = to_document(self.value)
        document.get("metadata", {}).pop("managedFields", None)
        return f"{type(self.value).__name__}\n{indent(yamltext.write(document), '  ').rstrip()}"


async def eventually(
    probe: Probe, condition: Expectation, changes: Changes, timeout: float, hint: Callable[[], str]
) -> Any:
    """Wait until the value meets the condition, and return it. Raises AssertionError with the last value."""
    __tracebackhide__ = True
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    pause = _FIRST_PAUSE
    async with changes.noticed():
        while True:
            changes.clear()
            look = await _look(probe)
            if look.problem is None and condition(look.value):
                return look.value
            if loop.time() >= deadline:
                raise AssertionError(
                    f"timed out after {timeout:g} s waiting until {_source(probe)} {condition}; last value: "
                    f"{look}{hint()}"
                ) from look.cause
            changed = await changes.wait(min(pause, deadline - loop.time()))
            pause = _FIRST_PAUSE if changed else min(pause * 2, _LONGEST_PAUSE)


async def consistently(probe: Probe, condition: Expectation, changes: Changes, seconds: float) -> Any:
    """Check that the value meets the condition all the time, and return the last one. Raises AssertionError."""
    __tracebackhide__ = True
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with changes.noticed():
        while True:
            changes.clear()
            look = await _look(probe)
            if look.problem is not None or not condition(look.value):
                raise AssertionError(
                    f"expected that {_source(probe)} {condition}, but after {loop.time() - began:g} s it was: {look}"
                ) from look.cause
            if (left := began + seconds - loop.time()) <= 0:
                return look.value
            await changes.wait(min(seconds / _LOOKS, left))


async def _look(probe: Probe) -> Look:
    try:
        value = probe()
        return Look(await value if inspect.isawaitable(value) else value)
    except (AssertionError, NotFound) as error:
        return Look(None, error)


def _source(function: Callable[..., object]) -> str:
    """A function as a reader knows it: its name, or the text of a lambda on one line."""
    name = getattr(function, "__name__", "")
    if name != "<lambda>" or not isinstance(function, FunctionType):
        return name or repr(function)
    found = cast("Iterator[tuple[int, int, int, int]]", function.__code__.co_positions())
    places = [place for place in found if None not in place and place[3]]  # the others are not of the expression
    lines = linecache.getlines(function.__code__.co_filename)
    if not places or not lines:
        return "the value"
    (first, start), (last, end) = min(place[::2] for place in places), max(place[1::2] for place in places)
    text = [line.encode() for line in lines[first - 1 : last]]  # columns count bytes
    text[-1] = text[-1][:end]
    text[0] = text[0][start:]
    return f"`{' '.join(b''.join(text).decode().split())}`"
