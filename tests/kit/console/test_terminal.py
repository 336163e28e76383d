from __future__ import annotations

import io
import threading

import pytest

from pilotage.kit.console.terminal import BOLD, RED, Terminal, uses_colours


class Screen(io.StringIO):
    """A stream that is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Waiting:
    """Ends the waits of a spinner after some frames, without time."""

    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.seen: list[float] = []
        self.drawn = threading.Event()

    def __call__(self, ended: threading.Event, seconds: float) -> bool:
        self.seen.append(seconds)
        if len(self.seen) <= self.frames + 1:
            return False
        self.drawn.set()
        return ended.wait()


@pytest.mark.parametrize(
    ("is_terminal", "environment", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {"CLICOLOR": "0"}, False),
        (False, {"CLICOLOR_FORCE": "1"}, True),
        (False, {"CLICOLOR_FORCE": "0"}, False),
        (True, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals_and_by_the_usual_variables(
    is_terminal: bool, environment: dict[str, str], expected: bool
) -> None:
    assert uses_colours(is_terminal, environment) is expected


def test_a_pipe_has_no_styles() -> None:
    assert Terminal.of(io.StringIO(), {}).styled("x", BOLD, RED) == "x"
    assert Terminal.of(Screen(), {}).styled("x", BOLD, RED) == "\x1b[1;31mx\x1b[0m"


def test_a_dumb_terminal_has_no_spinner() -> None:
    assert not Terminal.of(Screen(), {"TERM": "dumb"}).animated
    assert Terminal.of(Screen(), {"NO_COLOR": "1"}).animated


def test_work_that_ends_within_a_second_shows_nothing() -> None:
    screen = Screen()
    with Terminal(screen, animated=True).working("Connecting"):
        pass
    assert screen.getvalue() == ""


def test_longer_work_shows_a_spinner_with_its_seconds_and_removes_it() -> None:
    screen, waiting = Screen(), Waiting(frames=2)
    times = iter([0.0, 1.0, 1.4, 1.6])
    terminal = Terminal(screen, animated=True, clock=lambda: next(times), wait=waiting)
    with terminal.working("Connecting"):
        waiting.drawn.wait()
    assert screen.getvalue() == "\r\x1b[K⠋ Connecting 1 s\r\x1b[K⠙ Connecting 1 s\r\x1b[K"
    assert waiting.seen[0] == 1.0


def test_a_line_that_is_written_meanwhile_stands_above_the_spinner() -> None:
    screen, waiting = Screen(), Waiting(frames=1)
    terminal = Terminal(screen, animated=True, clock=lambda: 0.0, wait=waiting)
    with terminal.working("Connecting"):
        waiting.drawn.wait()
        terminal.line("a log line")
    frame = "⠋ Connecting 0 s"
    assert screen.getvalue() == f"\r\x1b[K{frame}\r\x1b[Ka log line\n{frame}\r\x1b[K"


def test_in_a_pipe_longer_work_is_one_plain_line() -> None:
    stream, shown = io.StringIO(), threading.Event()

    def wait(ended: threading.Event, seconds: float) -> bool:
        shown.set()
        return False

    terminal = Terminal(stream, wait=wait)
    with terminal.working("Connecting"):
        shown.wait()
    assert stream.getvalue() == "Connecting …\n"


def test_progress_can_be_turned_off() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, wait=lambda ended, seconds: False)
    terminal.shows_progress = False
    with terminal.working("Connecting"):
        pass
    assert stream.getvalue() == ""


def test_a_spinner_fits_on_one_line_of_the_terminal() -> None:
    screen, waiting = Screen(), Waiting(frames=1)
    terminal = Terminal(screen, animated=True, clock=lambda: 0.0, wait=waiting, columns=lambda: 24)
    with terminal.working("Installing a kind with a long name"):
        waiting.drawn.wait()
    assert screen.getvalue() == "\r\x1b[K⠋ Installing a kin… 0 s\r\x1b[K"


def test_the_verb_of_a_report_and_the_lines_of_a_diff_have_styles() -> None:
    terminal = Terminal(io.StringIO(), colours=True)
    assert terminal.accented("  create a b", RED) == "  \x1b[31mcreate\x1b[0m a b"
    shown = terminal.difference("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n")
    assert shown.splitlines() == [
        "\x1b[1m--- a\x1b[0m",
        "\x1b[1m+++ b\x1b[0m",
        "\x1b[36m@@ -1 +1 @@\x1b[0m",
        "\x1b[31m-old\x1b[0m",
        "\x1b[32m+new\x1b[0m",
        " same",
    ]
    assert Terminal(io.StringIO()).difference("-old\n") == "-old\n"


def test_a_closed_stream_is_no_terminal() -> None:
    stream = io.StringIO()
    stream.close()
    assert not Terminal.of(stream, {}).isatty()
