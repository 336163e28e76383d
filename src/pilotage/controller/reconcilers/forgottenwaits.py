"""Messages for a reconciler that is not async and calls a coroutine without `pt.wait`."""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable
from typing import Any, TextIO

from pilotage.errors import InvalidDefinition

running = threading.local()
"""`running.thread` is the reconcile that this thread runs; absent or None in other threads."""

_NEVER_AWAITED = "was never awaited"


def used_as_result(error: AttributeError | TypeError) -> InvalidDefinition:
    """The error of a reconciler that used a coroutine as if it were its result."""
    coroutine: Any = getattr(error, "obj", None)
    name = "a coroutine"
    if inspect.iscoroutine(coroutine):
        name = f"the coroutine of {coroutine.__qualname__}"
        coroutine.close()
    return InvalidDefinition(
        f"the reconciler used {name} as if it were its result ({error}): a reconciler that is not async calls "
        "coroutines through pt.wait, as in `database = pt.wait(client.get(…))`"
    )


def extend_warnings() -> None:
    """Have Python's warning about a coroutine that was never awaited name `pt.wait` in the thread of a reconciler.

    Python drops such a coroutine in the thread that created it, so a reconcile without a forgotten call costs nothing.
    Called for each reconcile, because pytest and `logging.captureWarnings` replace the hook of warnings, too.
    """
    if type(warnings.showwarning) is not _ShowWarning:
        warnings.showwarning = _ShowWarning(warnings.showwarning)


class _ShowWarning:
    """A hook of the module `warnings` that extends one message and passes all to the hook before it."""

    def __init__(self, previous: Callable[..., None]) -> None:
        self._previous = previous

    def __call__(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if _NEVER_AWAITED in str(message) and getattr(running, "thread", None) is not None:
            message = category(
                f"{message}, so nothing was done: a reconciler that is not async calls coroutines through pt.wait, as "
                "in `pt.wait(client.create(…))`"
            )
        self._previous(message, category, filename, lineno, file, line)
