"""The process of a command: its output may be a pipe that its reader closes, or a file on a full disk; its memory may
end; garbage is rarely collected. A collection would take a fifth of the time: imports make 100,000 objects, and the
process ends before there is much garbage."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

OUT_OF_MEMORY = (
    "out of memory or threads: raise the limits of the process (ulimit -v, ulimit -u, the limits of its container), or "
    "give it fewer and smaller objects"
)
_LINE = f"error: {OUT_OF_MEMORY}\n".encode()
_TEXTS = ("can't start new thread", "malloc failure")


def is_exhaustion(error: BaseException) -> bool:
    """Whether an error means that the process has no memory or threads left."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in _TEXTS)


def print_exhaustion() -> None:
    """Print the line, without a buffer, which would need memory."""
    os.write(2, _LINE)


def piped(run: Callable[[], int]) -> int:
    """Run a command and return its exit code: 0 if the reader has closed the pipe, as `head` does."""
    _replace_closed_streams()
    _write_utf8()
    try:
        try:
            return run()
        finally:
            sys.stdout.flush()  # here, so that a closed pipe is handled below and not when the interpreter exits
    except BrokenPipeError:
        discard_output()
        return 0
    except (MemoryError, RuntimeError) as error:
        if not is_exhaustion(error):
            raise
        print_exhaustion()
        return 1
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        discard_output()
        print(f"error: cannot write the output: {error.strerror}", file=sys.stderr)
        return 1


def _replace_closed_streams() -> None:
    """A stream is None if the parent has closed its descriptor, as `>&-` does."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # until the process ends


def _write_utf8() -> None:
    """Objects have text in any language: what is printed is UTF-8 in every locale, as kubectl's output is."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def discard_output() -> None:
    """The interpreter must not flush to it again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_OBJECTS_BETWEEN_COLLECTIONS = 200_000


@contextmanager
def rarely_collected(*, ends_process: bool = False) -> Iterator[None]:
    """With few collections inside the block, and behind it too if the process ends: one would be due at once."""
    before = gc.get_threshold()
    if before[0]:  # else the program has turned collections off
        gc.set_threshold(max(before[0], _OBJECTS_BETWEEN_COLLECTIONS), *before[1:])
    try:
        yield
    finally:
        if not ends_process:
            gc.set_threshold(*before)


def skip_last_collection() -> None:
    """When the interpreter exits, it does not visit all objects once more. For a process that is the command's own."""
    import atexit

    atexit.register(gc.freeze)
