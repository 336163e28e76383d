from __future__ import annotations

import pytest

from pilotage.errors import (
    ConnectionLost,
    DecodeError,
    Forbidden,
    Gone,
    Invalid,
    ServiceUnavailable,
    TooManyRequests,
    UnexpectedAnswer,
)
from pilotage.reflector.silence import Silent
from pilotage.reflector.stages import AT_ONCE_SECONDS, FRUITLESS, Attempt, Course, ShortWatch, Stage, Verdict

REFUSED = ConnectionLost("refused", sent=False)
OPENED = {"opened": True}


def watching(version: str = "5", *, streaming: bool = False) -> Course:
    """A course after its list."""
    course = Course(streaming)
    course.listed(version)
    return course


def failed(course: Course, error: Exception, now: float = 100.0, *, lasted: float = 0.0, **attempt: bool) -> Verdict:
    return course.failed(error, Attempt(now - lasted, course.version, **attempt), now)


@pytest.mark.parametrize(
    ("error", "stages"),
    [
        (ServiceUnavailable(), [Stage.WATCH, Stage.WATCH, Stage.LIST]),
        (ConnectionLost("cut"), [Stage.WATCH, Stage.WATCH, Stage.LIST]),
        (ShortWatch(), [Stage.WATCH, Stage.WATCH, Stage.LIST]),
        (DecodeError("line"), [Stage.WATCH, Stage.WATCH, Stage.LIST]),
        (Silent(10), [Stage.WATCH, Stage.WATCH, Stage.LIST]),
        (REFUSED, [Stage.WATCH] * 9),
        (TooManyRequests(), [Stage.WATCH] * 9),
        (Forbidden(), [Stage.LIST]),
        (Gone(), [Stage.LIST]),
        (UnexpectedAnswer(), [Stage.LIST]),
        (OSError(), [Stage.LIST]),
    ],
)
def test_what_follows_watches_that_fail_one_after_the_other(error: Exception, stages: list[Stage]) -> None:
    course, found = watching(), []
    for _ in stages:
        failed(course, error)
        found.append(course.stage)
    assert found == stages


def test_an_error_event_of_the_server_means_a_list_at_once() -> None:
    course = watching()
    assert failed(course, ServiceUnavailable(), error_event=True) == Verdict(pause=True)
    assert course.stage is Stage.LIST


def test_only_an_event_of_the_collection_makes_a_watch_fruitful() -> None:
    course = watching()
    for _ in range(10):
        failed(course, ServiceUnavailable(), opened=True, eventful=True)
        assert course.stage is Stage.WATCH
    failed(course, ShortWatch(), opened=True, eventful=True)
    assert course.fruitless == 1, "it had an event, but of the version where it began"


def test_a_forgotten_version_is_listed_at_once_but_only_now_and_then() -> None:
    course = watching()
    pauses = [failed(course, Gone(), now, eventful=True).pause for now in (100.0, 101.0, 129.0, 100 + AT_ONCE_SECONDS)]
    assert pauses == [False, True, True, False]


def test_a_watch_in_vain_casts_doubt_on_the_next() -> None:
    course = watching()
    failed(course, Gone(), lasted=0.5, **OPENED)
    assert course.doubtful
    failed(course, REFUSED)
    assert course.doubtful, "it was not even opened"
    failed(course, ConnectionLost("cut"), lasted=5.0, **OPENED)
    assert not course.doubtful


def test_an_end_that_comes_too_soon_is_an_error() -> None:
    course = watching()
    with pytest.raises(ShortWatch):
        course.ended(Attempt(100.0, "5"), 100.9)
    course.ended(Attempt(100.0, "5"), 101.0)
    course.ended(Attempt(100.0, "4"), 100.1)


def test_while_watches_bring_nothing_no_list_is_asked_for_by_a_watch() -> None:
    course = watching(streaming=True)
    for _ in range(FRUITLESS):
        failed(course, ServiceUnavailable())
    assert course.stage is Stage.LIST


def test_a_server_that_cannot_stream_is_not_asked_again() -> None:
    course = Course(streaming=True)
    assert course.stage is Stage.STREAM
    assert failed(course, Invalid()) == Verdict(told=False, pause=False)
    assert (course.stage, course.streaming) == (Stage.LIST, False)
