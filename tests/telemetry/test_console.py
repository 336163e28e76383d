from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilotage.telemetry.console import ConsoleFormatter
from pilotage.telemetry.logs import Logger, log_context

CONTEXT = {"controller": "greeting", "controllerGroup": "g", "controllerKind": "Greeting", "reconcileID": "1"}


class Shown:
    """A logger and the lines that it wrote, without their times."""

    def __init__(self, formatter: ConsoleFormatter) -> None:
        self._stream = io.StringIO()
        standard = logging.Logger("pilotage.manager")
        handler = logging.StreamHandler(self._stream)
        handler.setFormatter(formatter)
        standard.addHandler(handler)
        self.log = Logger(standard)

    def __iter__(self) -> Iterator[str]:
        return iter(re.sub(r"(?m)^(\x1b\[2m)?\d\d:\d\d:\d\d(\x1b\[0m)? ", "", self._stream.getvalue()).splitlines())


def fail(text: str = "no text") -> None:
    raise ValueError(text)


def test_a_line_has_level_part_message_and_fields() -> None:
    shown = Shown(ConsoleFormatter())
    shown.log.info("Started", seconds=3, reason="it was time")
    shown.log.warning("Slow")
    assert list(shown) == [
        'INFO  manager     Started  seconds=3  reason="it was time"',
        "WARN  manager     Slow",
    ]


def test_a_reconcile_has_columns_of_its_controller_and_object_that_later_lines_keep() -> None:
    shown = Shown(ConsoleFormatter())
    with log_context(**CONTEXT, namespace="default", name="hello"):
        shown.log.info("Wrote", outcome="created")
    shown.log.info("Stopping")
    assert list(shown) == [
        "INFO  greeting   default/hello  Wrote  outcome=created",
        "INFO  manager                   Stopping",
    ]


def test_of_a_traceback_the_lines_of_the_program_are_shown_once_while_it_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    shown = Shown(ConsoleFormatter())
    for text in ("no text", "no text", "another"):
        with log_context(**CONTEXT, namespace="default", name="hello"):
            try:
                fail(text)
            except ValueError as error:
                shown.log.exception("Reconciler error", error=error)
    lines = list(shown)
    assert [line for line in lines if line.startswith("ERROR")] == [
        "ERROR greeting   default/hello  Reconciler error  ValueError: no text",
        "ERROR greeting   default/hello  Reconciler error  ValueError: no text",
        "ERROR greeting   default/hello  Reconciler error  ValueError: another",
    ]
    assert re.fullmatch(r" +test_console.py:\d+ in fail: raise ValueError\(text\)", lines[2])
    assert len([line for line in lines if "in fail" in line]) == 1


def test_causes_are_shown_with_their_lines() -> None:
    shown = Shown(ConsoleFormatter())
    try:
        try:
            fail()
        except ValueError as error:
            raise RuntimeError("above") from error
    except RuntimeError:
        shown.log.exception("Failed")
    assert [line.strip().partition(":")[0] for line in shown if "caused by" in line] == ["caused by ValueError"]


def test_a_cause_without_lines_of_the_program_is_named() -> None:
    shown = Shown(ConsoleFormatter())
    try:
        raise RuntimeError("above") from OSError("disk is broken")
    except RuntimeError:
        shown.log.exception("Failed")
    assert [line.strip() for line in shown][-1] == "caused by OSError: disk is broken"


def test_tracebacks_are_whole_if_wanted() -> None:
    shown = Shown(ConsoleFormatter(tracebacks=True))
    for _ in range(2):
        try:
            fail()
        except ValueError:
            shown.log.exception("Failed")
    assert [line.strip() for line in shown].count("Traceback (most recent call last):") == 2


def test_an_error_whose_lines_cannot_be_found_is_still_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(ConsoleFormatter())

    def gone() -> Path:
        raise FileNotFoundError("the folder was deleted")

    monkeypatch.setattr(Path, "cwd", gone)
    try:
        fail()
    except ValueError:
        shown.log.exception("Failed")
    assert next(iter(shown)) == "ERROR manager     Failed"


def test_colours_are_styles_around_the_columns() -> None:
    shown = Shown(ConsoleFormatter(colours=True))
    shown.log.error("Failed", error=ValueError("x"))
    assert list(shown) == [
        "\x1b[31mERROR\x1b[0m \x1b[34mmanager\x1b[0m     \x1b[1mFailed\x1b[0m  \x1b[31mValueError: x\x1b[0m"
    ]


def test_what_cannot_be_printed_is_escaped() -> None:
    shown = Shown(ConsoleFormatter())
    shown.log.info("a\x1b[31m\nb", name="c\rd")
    assert list(shown) == ["INFO  manager    c\\rd  a\\u001b[31m\\nb"]
