"""Commands whose output is read by another program, which may stop to read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def piped(run: Callable[[], int]) -> int:
    """Run a command and return its exit code: 0 if the reader has closed the pipe, as `head` does."""
    try:
        try:
            return run()
        finally:
            sys.stdout.flush()  # here, so that a closed pipe is handled below and not when the interpreter exits
    except BrokenPipeError:
        # The interpreter must not flush to it again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
