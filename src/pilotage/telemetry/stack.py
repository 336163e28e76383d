"""The current line of the program in a thread, below the libraries that it calls."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import FrameType

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
_LOOP = ("asyncio/base_events.py", "asyncio/events.py", "asyncio/runners.py")
"""Frames below these files of the standard library started the loop, and are not run by it."""


def frame_of(thread: int) -> FrameType | None:
    """The innermost frame of a thread, by its ident."""
    return sys._current_frames().get(thread)


def is_waiting(frame: FrameType) -> bool:
    """Whether the thread of an event loop is idle: no code that the loop runs is on its stack."""
    return next(frames_of_the_loop(frame), None) is None


def place(frame: FrameType) -> str:
    """`FILE:LINE in FUNCTION` of the program's own code; where a library blocks, with the library's line after it."""
    inner = _line(frame)
    for each in frames_of_the_loop(frame):
        if is_of_the_program(each):
            own = _line(each)
            return own if own == inner else f"{own}, which called {inner}"
    return inner


def place_of(frames: Sequence[FrameType]) -> str:
    """`FILE:LINE in FUNCTION` of the innermost frame, the last one, that is code of the user; empty if none is."""
    return next((_line(frame) for frame in reversed(frames) if is_of_the_program(frame)), "")


def place_of_error(error: BaseException) -> str:
    """`FILE:LINE in FUNCTION` of the innermost line of the program that an exception went through; empty if none."""
    found, traceback = "", error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_of_the_program(traceback.tb_frame):
            found = f"{_relative(code.co_filename)}:{traceback.tb_lineno} in {code.co_qualname}"
        traceback = traceback.tb_next
    return found


Place = tuple[str, int, str]
"""A file, a line of it, and the function."""


def program_place(frame: FrameType | None) -> Place | None:
    """The innermost line of the program on the stack of a frame, in a form that costs little to make."""
    while frame is not None:
        code = frame.f_code
        if _is_file_of_the_program(code.co_filename):
            return code.co_filename, frame.f_lineno, code.co_qualname
        frame = frame.f_back
    return None


def place_text(place: Place) -> str:
    """`FILE:LINE in FUNCTION`."""
    file, line, function = place
    return f"{_relative(file)}:{line} in {function}"


@cache
def _is_file_of_the_program(file: str) -> bool:
    return not file.startswith(_libraries())


def _relative(file: str) -> str:
    """A file of the current directory, without the directory."""
    return file.removeprefix(f"{os.getcwd()}{os.sep}")


def caller() -> str:
    """`FILE:LINE` of the program that calls this library in the running task; empty if the library acts by itself."""
    for each in frames_of_the_loop(sys._getframe(1)):
        if is_of_the_program(each):
            return f"{each.f_code.co_filename}:{each.f_lineno}"
    return ""


def is_of_the_program(frame: FrameType) -> bool:
    """Whether a frame is code of the user, not of a library."""
    return _is_file_of_the_program(frame.f_code.co_filename)


def frames_of_the_loop(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames that the loop runs, from the innermost, without the frames of the selector, in which it waits."""
    while frame is not None and not frame.f_code.co_filename.endswith(_LOOP):
        if not frame.f_code.co_filename.endswith("/selectors.py"):
            yield frame
        frame = frame.f_back


def _line(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"


@cache
def _libraries() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return (_PACKAGE, "<frozen", *(path for name in names if (path := sysconfig.get_path(name))))
