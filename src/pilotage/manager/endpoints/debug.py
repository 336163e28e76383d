"""The debug endpoint: what the program does now. Off by default, since it shows names of objects and code.

`/debug/tasks` has the tasks of the event loop and where each waits, `/debug/threads` the stacks of all threads,
`/debug/loop` how late the event loop is, and `/debug/heap` the kinds of objects in memory, or what allocated them if
`tracemalloc` runs. `/debug/why?type=TYPE&name=NAME` has the stories of an object, for `pilotage why`.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping

from pilotage.http.health import text_response
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse
from pilotage.tasks import frames_of
from pilotage.telemetry.logs import fields_of

_LINES = 50
_FRAMES = 8


def debug_handlers(more: Mapping[str, Handler]) -> dict[str, Handler]:
    """The handlers by path, with more that are listed with them."""
    pages: dict[str, Callable[[], str]] = {
        "/debug/tasks": tasks,
        "/debug/threads": threads,
        "/debug/heap": heap,
    }
    handlers: dict[str, Handler] = {path: _page(show) for path, show in pages.items()} | dict(more)
    handlers["/debug/loop"] = _loop
    handlers["/debug/"] = _index(tuple(sorted(handlers)))
    return handlers


def tasks() -> str:
    """The tasks of the event loop: name, fields of its log lines, and where it waits."""
    lines = []
    for task in sorted(asyncio.all_tasks(), key=lambda task: task.get_name()):
        shown = _fields(fields_of(task))
        lines.append(f"{task.get_name()}{' ' + shown if shown else ''}")
        lines += [
            f"  {_frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)}"
            for frame in frames_of(task)[-_FRAMES:]
        ]
    return "\n".join(lines)


def threads() -> str:
    """The stacks of all threads."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines = []
    for ident, frame in sys._current_frames().items():
        lines.append(names.get(ident, str(ident)))
        stack = traceback.extract_stack(frame, limit=_FRAMES)
        lines += [f"  {_frame(entry.filename, entry.lineno or 0, entry.name)}" for entry in stack]
    return "\n".join(lines)


def heap() -> str:
    """The most frequent kinds of objects; with tracemalloc, the lines of code that hold most memory."""
    if tracemalloc.is_tracing():
        statistics = tracemalloc.take_snapshot().statistics("lineno")
        return "\n".join(f"{each.size:>12} bytes {each.count:>8} {each.traceback}" for each in statistics[:_LINES])
    counts = Counter(f"{type(found).__module__}.{type(found).__qualname__}" for found in gc.get_objects())
    lines = [f"{count:>10} {name}" for name, count in counts.most_common(_LINES)]
    return "\n".join([*lines, "start the program with PYTHONTRACEMALLOC=1 to see what allocates memory"])


async def _loop(request: HTTPRequest) -> HTTPResponse:
    """How long a callback waits on the loop at the moment."""
    loop = asyncio.get_running_loop()
    delays = []
    for _ in range(10):
        began = loop.time()
        await asyncio.sleep(0)
        delays.append(loop.time() - began)
    worst, tasks_now = max(delays), len(asyncio.all_tasks())
    return text_response(200, f"delay of a callback: {worst * 1000:.3f} ms\ntasks: {tasks_now}\n")


def _page(show: Callable[[], str]) -> Handler:
    async def answer(request: HTTPRequest) -> HTTPResponse:
        return text_response(200, show() + "\n")

    return answer


def _index(paths: tuple[str, ...]) -> Handler:
    async def answer(request: HTTPRequest) -> HTTPResponse:
        if request.target.partition("?")[0] != "/debug/":
            return text_response(404, "404 page not found")
        return text_response(200, "\n".join(paths) + "\n")

    return answer


def _fields(fields: Mapping[str, object]) -> str:
    return " ".join(f"{key}={value}" for key, value in fields.items() if value)


def _frame(filename: str, line: int, function: str) -> str:
    return f"{filename}:{line} {function}"
