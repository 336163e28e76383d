"""Request, Result, TerminalError and Event."""

from __future__ import annotations

import math
import traceback
from datetime import timedelta
from typing import Any

import pytest

from pilotage.controller import Enqueue, Event, Request, Result, TerminalError
from pilotage.controller.result import is_terminal
from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.meta.scalars.times import Duration
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured

from .fakes import Widget, widget


def test_requests_are_values() -> None:
    assert Request("a", "b") == Request.of(widget("a", "b"))
    assert len({Request("a"), Request("a"), Request("a", "b")}) == 2
    assert [str(Request("a", "b")), str(Request("a"))] == ["b/a", "a"]
    with pytest.raises(AttributeError):
        Request("a").name = "b"  # type: ignore[misc]  # the test shows that it is immutable


def test_a_request_may_say_more() -> None:
    class Sync(Request, frozen=True):
        cluster: str = ""

    assert Sync("a", "b", "east") != Sync("a", "b", "west")
    assert Sync("a", "b") != Request("a", "b")
    assert hash(Sync("a", "b", "east")) == hash(Sync("a", "b", "east"))


def test_the_namespaced_name_of_a_request_is_its_key_alone() -> None:
    class Sync(Request, frozen=True):
        cluster: str = ""

    assert Sync("a", "b", "east").namespaced_name == Request("a", "b")
    assert str(Request("a", "b").namespaced_name) == "b/a"


@pytest.mark.covers("T167")
def test_a_zero_result_requests_nothing() -> None:
    assert Result().is_zero
    for result in (Result(requeue=True), Result(requeue_after=1), Result(priority=1)):
        assert not result.is_zero


@pytest.mark.parametrize("given", [90, 90.0, timedelta(minutes=1.5), Duration.parse("1m30s")])
def test_a_delay_is_a_number_a_timedelta_or_a_duration(given: float | timedelta) -> None:
    result = Result(requeue_after=given)
    assert result.requeue_after == 90
    assert isinstance(result.requeue_after, int | float)
    assert result == Result(requeue_after=90)


def test_the_delay_of_a_request_is_a_number_a_timedelta_or_a_duration() -> None:
    assert Enqueue(Request("a"), after=timedelta(minutes=1)) == Enqueue(Request("a"), after=60)
    with pytest.raises(InvalidDefinition, match="after='60'"):
        Enqueue(Request("a"), after="60")  # type: ignore[arg-type]


def test_no_delay_is_no_delay_in_every_form() -> None:
    assert Result(requeue_after=timedelta()).is_zero


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf, "5", True, False, timedelta(seconds=-1)])
def test_a_delay_that_is_none_is_refused_where_it_is_made(seconds: Any) -> None:
    with pytest.raises(InvalidDefinition, match="requeue_after"):
        Result(requeue_after=seconds)


@pytest.mark.parametrize(
    ("cause", "text"),
    [("no use", "no use"), (ValueError("no use"), "no use"), (ValueError(), "ValueError"), (None, "no cause given")],
)
def test_the_text_of_a_terminal_error_has_its_prefix_once(cause: Exception | str | None, text: str) -> None:
    # Tracebacks and logs put the name of the class before it.
    error = TerminalError(cause)
    assert "".join(traceback.format_exception_only(error)) == f"pilotage.controller.result.TerminalError: {text}\n"


@pytest.mark.covers("T167")
def test_terminal_errors_wrap_and_are_found_when_wrapped() -> None:
    cause = KeyError("x")
    assert TerminalError(cause).__cause__ is cause
    assert str(TerminalError(cause)) == "'x'"
    wrapped = ValueError("outside")
    wrapped.__cause__ = TerminalError(cause)
    assert is_terminal(wrapped)
    assert not is_terminal(cause)
    ring = ValueError("ring")
    ring.__cause__ = other = ValueError("other")
    other.__cause__ = ring
    assert not is_terminal(ring)


def test_a_group_is_terminal_if_all_in_it_are() -> None:
    assert is_terminal(ExceptionGroup("all", [TerminalError("a"), TerminalError("b")]))
    assert not is_terminal(ExceptionGroup("some", [TerminalError("a"), ValueError("b")]))


def test_an_event_has_its_object_old_and_headers() -> None:
    old, new = widget(version="1", labels={"x": "y"}), widget(version="2")
    event = Event.update(old, new)
    assert (event.type, event.object, event.old) == ("update", new, old)
    assert event.header is not None
    assert event.header.resource_version == "2"
    assert event.old_header is not None
    assert event.old_header.labels == {"x": "y"}
    deleted = Event.delete(old, unknown_final_state=True)
    assert (deleted.object, deleted.old, deleted.new_header) == (old, old, None)
    assert deleted.unknown_final_state
    assert repr(deleted) == "<Event delete default/a>"
    assert (Event.generic(new).object, Event.create(new).old) == (new, None)


def test_events_are_about_objects_in_any_form() -> None:
    document = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "labels": {"x": "y"}}}
    partial = PartialObjectMetadata(Widget.__resource__.gvk, widget("a").metadata)
    headers = [Event.generic(obj).header for obj in (Unstructured(document), partial)]
    assert [header and header.name for header in headers] == ["a", "a"]
    with pytest.raises(DecodeError, match="str has no metadata"):
        _ = Event.generic("not an object").header
    assert "str has no metadata" in repr(Event.generic("not an object"))
    assert Event.generic(None).header is None
    assert (Event.delete(partial).namespace, Event.delete(partial).name) == ("default", "a")
    assert (Event.generic(None).namespace, Event.generic(None).name) == ("", "")


@pytest.mark.parametrize(
    ("event", "unchanged"),
    [
        (Event.create(widget()), False),
        (Event.create(widget(), is_in_initial_list=True), True),
        (Event.update(widget(), widget()), True),
        (Event.update(widget(version="1"), widget(version="2")), False),
        (Event.update(None, widget()), False),
        (Event.delete(widget()), False),
        (Event.generic(widget()), False),
    ],
)
def test_only_the_initial_list_and_the_same_version_are_nothing_new(event: Event, unchanged: bool) -> None:
    assert event.is_unchanged is unchanged
