"""The acceptance lists: behaviours that have an id, and which of them tests show.

T are those of controller-runtime and client-go, D the points of the Device API's checklist, F faults that are survived,
S hardening against abuse, K the defects of k1s, W work tracking and shutdown. A test is marked with
`@pytest.mark.covers("T19", "T20")`, or `tests/k1s/ledger.py` names it. At the end of a run, the ids of these groups
that no test covers are printed; those in `REASONS` with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.k1s.ledger import SHOWN


def _ids(letter: str, first: int, end: int) -> list[str]:
    return [f"{letter}{number}" for number in range(first, end)]


GROUPS = {
    "work queue": _ids("T", 1, 19),
    "priority queue": _ids("T", 19, 35),
    "controller": _ids("T", 35, 57),
    "manager": _ids("T", 57, 81),
    "leader election": _ids("T", 81, 90),
    "reflector and informer": _ids("T", 90, 114),
    "cache": _ids("T", 114, 127),
    "client": _ids("T", 127, 145),
    "the embedded server, in place of a fake client": _ids("T", 145, 157),
    "handlers, predicates, sources": _ids("T", 157, 172),
    "webhooks and certificates": _ids("T", 172, 185),
    "health, metrics, logs, events, test environment": _ids("T", 185, 193),
    "device API checklist": _ids("D", 1, 14),
    "device API faults and hardening": ["F33", "S9", "S10", "S16"],
    "faults between a program and its API server": [
        *("F2", "F7", "F8", "F10", "F13", "F14"),
        *_ids("F", 16, 25),
        *_ids("F", 27, 32),
    ],
    "defects of k1s": _ids("K", 1, 54),
    "work tracking and shutdown": [
        *_ids("WG", 1, 6),
        *_ids("WM", 1, 7),
        *_ids("WD", 1, 8),
        *_ids("WR", 1, 8),
        *_ids("WS", 1, 10),
        *_ids("WE", 1, 6),
        *_ids("WC", 1, 5),
        "WP1",
        *_ids("WT", 1, 5),
        *_ids("WA", 1, 9),
    ],
}

REASONS: dict[str, str] = {
    "WD1": "calls of the storage belong to the work that makes them, and are never refused: work is admitted once",
    "WD2": "calls of the client, too",
    "WD3": "validation and defaulting, too",
    "WD7": "a figure: bench/tracking.py prints the cost for each reconcile",
    "WP1": "the same figure",
    "WS9": "there are no plugins in processes of their own; several processes are those of run_processes",
    "WA5": "the coverage of tests is not a behaviour",
}
"""Why no test covers an id."""

NOT_THERE = {
    "T145": "999 as the version of seeded objects: no fake client invents versions, the storage counts them",
    "T150": "an index for a field selector on the server: it evaluates the fields that kube-apiserver allows",
    "T152": "converters between types for apply: the server has the schema of every kind that it serves",
    "T156": "an error for a fake client that is built twice: there is no such builder",
    "T188": "zap's flags: `pilotage run` has --log-level and --log-format, other programs call configure_logging",
    "T190": "finding, downloading and starting binaries: the embedded server is a library, and needs none",
}
"""Parts of ids that do not exist here. The rest of each is covered."""


_LEDGER: dict[str, list[str]] = {}
for _id, _names in SHOWN.items():
    for _name in _names:
        _LEDGER.setdefault(_name, []).append(_id)


class Coverage:
    """Collects the ids while tests are collected, before any is deselected."""

    def __init__(self) -> None:
        self.covered: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            for mark in item.iter_markers("covers"):
                self.covered.update(mark.args)
            self.covered.update(_LEDGER.get(item.nodeid.removeprefix("tests/").partition("[")[0], ()))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In a worker of a parallel run: send the ids to the process that prints them."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["covered"] = sorted(self.covered)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of a parallel run has ended (pytest-xdist's hook)."""
        self.covered.update(getattr(node, "workeroutput", {}).get("covered", ()))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.covered:
            return
        for name, wanted in GROUPS.items():
            missing = [
                one if one not in REASONS else f"{one} ({REASONS[one]})" for one in wanted if one not in self.covered
            ]
            if len(missing) == len(wanted):
                continue  # that package's tests were not collected
            shown = f"not covered: {', '.join(missing)}" if missing else "all covered"
            if parts := [one for one in wanted if one in NOT_THERE and one in self.covered]:
                shown += f"; in part (reasons are in tests/acceptance.py): {', '.join(parts)}"
            terminalreporter.write_line(f"acceptance, {name}: {len(wanted) - len(missing)} of {len(wanted)}; {shown}")
