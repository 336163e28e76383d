"""The terminal of a command: colours, lines, and a spinner where something takes longer than a second.

In a pipe or a file there are no colours and no spinner; what takes longer than a second is a plain line.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pilotage.kit.console.help import terminal_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
"""Styles, as the parameters of their escape sequences."""

SHOW_AFTER_SECONDS = 1.0
"""Work that ends sooner shows nothing."""
FRAME_SECONDS = 0.1
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_CLEAR = "\r\x1b[K"


def uses_colours(is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether to write colours: on a terminal, unless NO_COLOR, TERM=dumb or CLICOLOR=0; CLICOLOR_FORCE forces it."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return is_terminal and environment.get("TERM") != "dumb" and environment.get("CLICOLOR") != "0"


class Terminal:
    """A stream that people or programs read. Every write goes through it while something is in progress.

    `clock`, `wait` (between the frames of a spinner, with an event and the seconds) and `columns` are for tests.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        colours: bool = False,
        animated: bool = False,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
        columns: Callable[[], int] = terminal_columns,
    ) -> None:
        self.colours = colours
        self.animated = animated
        self.shows_progress = True
        """False where every line must be of the log: in JSON."""
        self._stream = stream
        self._clock = clock
        self._wait = wait
        self._columns = columns
        self._lock = threading.RLock()
        self._shown = ""

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str] | None = None) -> Terminal:
        """The terminal for a stream, configured by the environment variables of the process unless others are given."""
        environment = os.environ if environment is None else environment
        is_terminal = _is_terminal(stream)
        animated = is_terminal and environment.get("TERM") != "dumb"
        return cls(stream, colours=uses_colours(is_terminal, environment), animated=animated)

    @property
    def columns(self) -> int:
        """Its width."""
        return self._columns()

    def styled(self, text: str, *styles: str) -> str:
        """The text with styles, if there are colours."""
        return f"\x1b[{';'.join(styles)}m{text}\x1b[0m" if self.colours and styles and text else text

    def accented(self, line: str, *styles: str) -> str:
        """A line whose first word has styles: the verb of a report."""
        indent = line[: len(line) - len(line.lstrip())]
        word, space, rest = line.lstrip().partition(" ")
        return f"{indent}{self.styled(word, *styles)}{space}{rest}"

    def difference(self, text: str) -> str:
        """A unified diff with added lines in green and removed ones in red."""
        styles = {"+++": (BOLD,), "---": (BOLD,), "+": (GREEN,), "-": (RED,), "@": (CYAN,)}
        return "".join(self._styled_line(line, styles) for line in text.splitlines(keepends=True))

    def _styled_line(self, line: str, styles: Mapping[str, tuple[str, ...]]) -> str:
        found = next((style for start, style in styles.items() if line.startswith(start)), ())
        content = line.rstrip("\n")
        return self.styled(content, *found) + line[len(content) :]

    def line(self, text: str = "") -> None:
        """Write one line, and flush it."""
        self.write(f"{text}\n")
        self.flush()

    def write(self, text: str) -> int:
        """Write text above the spinner, if one is shown. With `flush` and `isatty` it is a stream for logging."""
        with self._lock:
            if self._shown:
                self._stream.write(_CLEAR)
            written = self._stream.write(text)
            if self._shown and text.endswith("\n"):
                self._stream.write(self._shown)
            return written

    def flush(self) -> None:
        with self._lock:
            self._stream.flush()

    def isatty(self) -> bool:
        return _is_terminal(self._stream)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show that something is in progress, once it has taken a second: `Connecting to https://…`.

        On a terminal a spinner with the seconds, which disappears at the end; else one line.
        """
        if not self.shows_progress:
            yield
            return
        ended = threading.Event()
        thread = threading.Thread(target=self._show, args=(what, ended), name="pilotage progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _show(self, what: str, ended: threading.Event) -> None:
        started = self._clock()
        if self._wait(ended, SHOW_AFTER_SECONDS):
            return
        if not self.animated:
            self.line(f"{what} …")
            return
        number = 0
        while not self._wait(ended, FRAME_SECONDS if number else 0):
            self._draw(self._frame(what, number, self._clock() - started))
            number += 1
        self._draw("")

    def _frame(self, what: str, number: int, seconds: float) -> str:
        frames = _FRAMES if "utf" in (getattr(self._stream, "encoding", None) or "").lower() else _PLAIN_FRAMES
        spinner, time = frames[number % len(frames)], f"{seconds:.0f} s"
        room = max(self._columns() - len(time) - 4, 10)  # a longer line would be wrapped, and could not be removed
        shown = what if len(what) <= room else f"{what[: room - 1]}…"
        return f"{self.styled(spinner, CYAN)} {shown} {self.styled(time, DIM)}"

    def _draw(self, frame: str) -> None:
        with self._lock:
            self._stream.write(_CLEAR + frame)
            self._shown = frame
            self._stream.flush()


def standard_output() -> Terminal:
    """The terminal of what a command produces."""
    return Terminal.of(sys.stdout)


def standard_error() -> Terminal:
    """The terminal of messages."""
    return Terminal.of(sys.stderr)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # no such method, or closed
        return False
