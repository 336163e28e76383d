"""When a blocked event loop ends the process."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from pilotage.kit.console.signals.deadline import EXIT_SECONDS, ExitDeadline
from pilotage.kit.console.signals.interruption import Interruption, TimeLimit
from pilotage.manager.supervision.watchdog import Block

LIMIT = 10.0


class Deadline(ExitDeadline):
    """Records the ends of the process."""

    def __init__(self) -> None:
        super().__init__(130)
        self.ended: list[tuple[int, float | None]] = []
        self.reports: list[Callable[[], None]] = []

    def start(self, notice: Callable[[], None], report: Callable[[], None]) -> None:
        """Without a thread."""

    def set_over(self, code: int, report: Callable[[], None], seconds: float | None = None) -> None:
        self.ended.append((code, seconds))
        self.reports.append(report)


@pytest.fixture
def deadline() -> Deadline:
    return Deadline()


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def interruption(deadline: Deadline, printed: list[str]) -> Interruption:
    return Interruption(deadline, printed.append, printed.append)


def limit(began: float | None = None) -> TimeLimit:
    return TimeLimit(LIMIT, 5, lambda left: f"too late: {left[0]}", began)


def block(seconds: float) -> Block:
    return Block({"controller": "todo", "name": "milk"}, "todo.py:7", seconds)


def test_one_long_block_ends_the_process_and_is_named(
    deadline: Deadline, printed: list[str], interruption: Interruption
) -> None:
    interruption.limit(limit())
    interruption._on_blocked(block(LIMIT + EXIT_SECONDS - 0.1))
    assert deadline.ended == []
    interruption._on_blocked(block(LIMIT + EXIT_SECONDS))
    interruption._on_blocked(block(LIMIT + EXIT_SECONDS + 1))
    assert deadline.ended == [(5, 0.0)]
    deadline.reports[0]()
    assert printed == [
        "too late: todo milk blocks the event loop at todo.py:7; await instead, or use asyncio.to_thread"
    ]


def test_short_blocks_after_the_limit_do_not_end_a_program_that_makes_progress(
    deadline: Deadline, interruption: Interruption
) -> None:
    interruption.limit(limit(time.monotonic() - 2 * LIMIT - EXIT_SECONDS))
    for _ in range(20):
        interruption._on_blocked(block(1.4))
    assert deadline.ended == []
    interruption._on_blocked(block(EXIT_SECONDS))
    assert deadline.ended == [(5, 0.0)]


def test_a_block_after_the_work_does_not_end_the_process(deadline: Deadline, interruption: Interruption) -> None:
    interruption.limit(limit())
    interruption.limit(None)
    interruption._on_blocked(block(1000))
    assert deadline.ended == []
