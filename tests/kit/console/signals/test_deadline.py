"""A process ends at a deadline after a signal, whatever its code does."""

from __future__ import annotations

import threading

import pytest

from pilotage.kit.console.signals import deadline
from pilotage.kit.console.signals.deadline import ExitDeadline


class Ending:
    """A deadline whose end of the process is an event."""

    def __init__(self) -> None:
        self.code = 0
        self.ended = threading.Event()
        self.noticed = threading.Event()
        self.reported = threading.Event()
        self.deadline = ExitDeadline(130, self._end)

    def _end(self, code: int) -> None:
        self.code = code
        self.ended.set()

    def start(self) -> None:
        self.deadline.start(self.noticed.set, self.reported.set)


def test_at_the_deadline_it_reports_and_ends_the_process() -> None:
    ending = Ending()
    with ending.deadline:
        ending.start()
        ending.deadline.set(0)
        assert ending.ended.wait(60)
    assert ending.code == 130
    assert ending.reported.is_set()
    assert not ending.noticed.is_set()


def test_a_second_signal_moves_the_deadline_only_forward() -> None:
    ending = Ending()
    with ending.deadline:
        ending.start()
        for seconds in (3600, 0, 3600):
            ending.deadline.set(seconds)
        assert ending.ended.wait(60)


def test_a_command_whose_time_is_over_ends_with_its_own_code_and_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "EXIT_SECONDS", 0)
    ending, reported = Ending(), threading.Event()
    with ending.deadline:
        ending.start()
        ending.deadline.set_over(5, reported.set)
        assert ending.ended.wait(60)
    assert (ending.code, reported.is_set()) == (5, True)
    assert not ending.noticed.is_set()
    assert not ending.reported.is_set()


@pytest.mark.parametrize("signals", [(), (3600.0,), (float("inf"),)])
def test_a_process_that_ends_before_is_left_alone(signals: tuple[float, ...]) -> None:
    ending = Ending()
    with ending.deadline:
        ending.start()
        for seconds in signals:
            ending.deadline.set(seconds)
    assert not ending.ended.is_set()
    assert not ending.reported.is_set()


def test_the_user_is_informed_before_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "NOTICE_SECONDS", 0)
    ending = Ending()
    with ending.deadline:
        ending.start()
        ending.deadline.set(3600)
        assert ending.noticed.wait(60)
    assert not ending.ended.is_set()


def test_a_report_that_cannot_be_written_does_not_keep_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "_REPORT_SECONDS", 0.01)
    ending, readable = Ending(), threading.Event()

    def write() -> None:
        readable.wait(60)  # a pipe that is not read

    with ending.deadline:
        ending.deadline.start(ending.noticed.set, write)
        ending.deadline.set(0)
        assert ending.ended.wait(60)
    readable.set()
