"""The acceptance list: behaviours of controller-runtime and client-go that have an id, and which of them tests show.

A test says `@pytest.mark.covers("T19", "T20")`. At the end of a run, the ids of these groups that no test covers are
printed.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

GROUPS = {
    "work queue": range(1, 19),
    "priority queue": range(19, 35),
    "controller": range(35, 57),
    "manager": range(57, 81),
    "leader election": range(81, 89),
    "reflector and informer": range(90, 114),
    "cache": range(114, 127),
    "client": range(127, 145),
    "handlers, predicates, sources": range(157, 172),
}


class Coverage:
    """Collects the ids while tests are collected, before any is deselected."""

    def __init__(self) -> None:
        self.covered: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            for mark in item.iter_markers("covers"):
                self.covered.update(mark.args)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.covered:
            return
        for name, numbers in GROUPS.items():
            wanted = [f"T{number}" for number in numbers]
            missing = [number for number in wanted if number not in self.covered]
            if len(missing) == len(wanted):
                continue  # that package's tests were not collected
            shown = f"not covered: {', '.join(missing)}" if missing else "all covered"
            terminalreporter.write_line(f"acceptance, {name}: {len(wanted) - len(missing)} of {len(wanted)}; {shown}")
