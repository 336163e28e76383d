"""What the list of objects shows of one object."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pilotage.dashboard.state.facts import facts_of
from pilotage.dashboard.values import Condition, State
from tests.dashboard.records import BOOK, book


def state(**status: Any) -> State:
    return facts_of(BOOK, "default", "a", book(status=status)).state


@pytest.mark.parametrize(
    ("conditions", "word", "sign"),
    [
        ([{"type": "Ready", "status": "True"}], "Ready", "ok"),
        ([{"type": "Ready", "status": "False", "reason": "NoPaper"}], "NoPaper", "warn"),
        ([{"type": "Ready", "status": "False"}], "NotReady", "warn"),
        ([{"type": "Ready", "status": "Unknown", "reason": None}], "NotReady", "wait"),
        ([{"type": "Ready", "status": "True"}, {"type": "Degraded", "status": "True"}], "Degraded", "error"),
        ([{"type": "Other", "status": "True"}], "exists", "ok"),
        ([], "exists", "ok"),
    ],
)
def test_the_conditions_decide_the_state(conditions: list[Any], word: str, sign: str) -> None:
    assert state(conditions=conditions) == State(word, sign)


@pytest.mark.parametrize(
    ("phase", "sign"), [("Running", "ok"), ("Failed", "error"), ("Pending", "wait"), ("Printed", "ok")]
)
def test_without_conditions_the_phase_does(phase: str, sign: str) -> None:
    assert state(phase=phase) == State(phase, sign)


@pytest.mark.parametrize("status", [3, "text", [1], {"conditions": "none"}, {"conditions": [7]}, {"phase": {}}, None])
def test_an_unusual_status_is_not_shown(status: Any) -> None:
    facts = facts_of(BOOK, "default", "a", book(status=status))
    assert facts.state == State("exists", "ok")
    assert facts.version == "1"


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b'{"metadata": 3}'])
def test_bytes_that_are_no_object_have_no_facts(data: bytes) -> None:
    assert facts_of(BOOK, "default", "a", data).version == ""


def test_texts_are_cut() -> None:
    made = facts_of(BOOK, "default", "a", book(status={"conditions": [{"type": "x" * 10_000, "status": ""}] * 100}))
    assert made.conditions == (Condition("x" * 253),) * 20


def test_the_owner_that_controls_the_object_is_its_owner() -> None:
    facts = facts_of(BOOK, "default", "a", book(owners=["shelf"]))
    assert (facts.owner_uid, facts.owner_kind, facts.owner_name) == ("uid-shelf", "Shelf", "shelf")
    assert facts.created == datetime(2026, 1, 31, 11, tzinfo=UTC)


def test_a_new_version_is_read_into_the_same_facts() -> None:
    facts = facts_of(BOOK, "default", "a", book(owners=["shelf"], status={"phase": "Failed"}))
    facts.read(book(version=2))
    assert (facts.version, facts.owner_uid, facts.state.word) == ("2", "", "exists")
