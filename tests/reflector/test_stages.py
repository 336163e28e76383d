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
from pilotage.reflector.stages import (
    AT_ONCE_SECONDS,
    MAX_UNPRODUCTIVE,
    Attempt,
    Reaction,
    ShortWatch,
    Stage,
    WatchState,
)

REFUSED = ConnectionLost("refused", sent=False)
OPENED = {"opened": True}


def watching(version: str = "5", *, streaming: bool = False) -> WatchState:
    """The state after a list."""
    state = WatchState(streaming)
    state.record_list(version)
    return state


def failed(
    state: WatchState, error: Exception, now: float = 100.0, *, lasted: float = 0.0, **attempt: bool
) -> Reaction:
    return state.record_failure(error, Attempt(now - lasted, state.version, **attempt), now)


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
    state, found = watching(), []
    for _ in stages:
        failed(state, error)
        found.append(state.stage)
    assert found == stages


def test_an_error_event_of_the_server_means_a_list_at_once() -> None:
    state = watching()
    assert failed(state, ServiceUnavailable(), error_event=True) == Reaction(wait=True)
    assert state.stage is Stage.LIST


def test_only_an_event_of_the_collection_makes_a_watch_fruitful() -> None:
    state = watching()
    for _ in range(10):
        failed(state, ServiceUnavailable(), opened=True, eventful=True)
        assert state.stage is Stage.WATCH
    failed(state, ShortWatch(), opened=True, eventful=True)
    assert state.unproductive == 1, "it had an event, but of the version where it began"


def test_a_forgotten_version_is_listed_at_once_but_only_now_and_then() -> None:
    state = watching()
    pauses = [failed(state, Gone(), now, eventful=True).wait for now in (100.0, 101.0, 129.0, 100 + AT_ONCE_SECONDS)]
    assert pauses == [False, True, True, False]


def test_a_watch_in_vain_casts_doubt_on_the_next() -> None:
    state = watching()
    failed(state, Gone(), lasted=0.5, **OPENED)
    assert state.doubtful
    failed(state, REFUSED)
    assert state.doubtful, "it was not even opened"
    failed(state, ConnectionLost("cut"), lasted=5.0, **OPENED)
    assert not state.doubtful


def test_an_end_that_comes_too_soon_is_an_error() -> None:
    state = watching()
    with pytest.raises(ShortWatch):
        state.record_end(Attempt(100.0, "5"), 100.9)
    state.record_end(Attempt(100.0, "5"), 101.0)
    state.record_end(Attempt(100.0, "4"), 100.1)


def test_while_watches_bring_nothing_no_list_is_asked_for_by_a_watch() -> None:
    state = watching(streaming=True)
    for _ in range(MAX_UNPRODUCTIVE):
        failed(state, ServiceUnavailable())
    assert state.stage is Stage.LIST


def test_a_server_that_cannot_stream_is_not_asked_again() -> None:
    state = WatchState(streaming=True)
    assert state.stage is Stage.STREAM
    assert failed(state, Invalid()) == Reaction(report=False, wait=False)
    assert (state.stage, state.streaming) == (Stage.LIST, False)


def test_versions_expire_at_once_where_watches_after_a_list_bring_nothing() -> None:
    state = watching()
    failed(state, ConnectionLost("restarted"), lasted=60.0, opened=True, eventful=True)
    failed(state, Gone())
    assert not state.expires_at_once, "the server was restarted, and has expired one version"
    state.record_list("7")
    failed(state, Gone())
    assert state.expires_at_once
