from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from pilotage.errors import ConnectionLost, DecodeError, Forbidden, Gone
from pilotage.meta import objects
from pilotage.reflector.events import watch_events
from pilotage.reflector.reflector import ReflectorOptions
from pilotage.rest.response import Page, WatchEvent
from pilotage.telemetry.logs import logger

from .scripted import Scripted, added, bookmark, config_map, deleted, error, modified, page
from .streams import GVK

pytestmark = pytest.mark.virtual_time


async def batches(source: Scripted, count: int = 1, **arguments: Any) -> list[list[tuple[str, str]]]:
    """The first batches of events, as types and names."""
    found: list[list[tuple[str, str]]] = []
    async with aclosing(watch_events(source, ReflectorOptions(gvk=GVK), logger("tests"), **arguments)) as stream:
        async for batch in stream:
            found.append([(event.type, objects.header(event.object).name) for event in batch])
            if len(found) == count:
                break
    return found


async def test_the_list_is_one_batch_even_if_it_is_empty_and_then_each_change_comes() -> None:
    source = Scripted([page(version=5)], [[added("a", 6), bookmark(7), modified("a", 8), deleted("a", 9)]])
    assert await batches(source, 4) == [[], [("ADDED", "a")], [("MODIFIED", "a")], [("DELETED", "a")]]


async def test_after_another_list_only_the_difference_comes() -> None:
    lists = [
        Page([config_map("same", 1), config_map("changed", 2), config_map("deleted", 3)], "5"),
        Page([config_map("same", 1), config_map("changed", 2, data={"a": "b"}), config_map("new", 6)], "6"),
    ]
    found = await batches(Scripted(lists, [[error(Gone("too old"))]]), 2)
    assert found[1] == [("DELETED", "deleted"), ("MODIFIED", "changed"), ("ADDED", "new")]


async def test_an_event_that_was_delivered_before_does_not_come_again() -> None:
    source = Scripted([page("a", version=5)], [[added("a", 5), deleted("unknown", 6), added("b", 7)]])
    assert (await batches(source, 2))[1] == [("ADDED", "b")]


async def test_a_failure_that_a_retry_may_fix_is_retried() -> None:
    source = Scripted([ConnectionLost("refused"), page("a", version=5)])
    assert await batches(source) == [[("ADDED", "a")]]


@pytest.mark.parametrize("refusal", [Forbidden("not you"), DecodeError("not a list"), TypeError("a defect")])
async def test_a_failure_that_a_retry_does_not_fix_is_raised(refusal: Exception) -> None:
    with pytest.raises(type(refusal)):
        await batches(Scripted([refusal]))


async def test_an_object_that_cannot_be_decoded_is_raised_and_not_left_out() -> None:
    with pytest.raises(DecodeError):
        await batches(Scripted([page(version=5)], [[WatchEvent("ADDED", b'{"metadata": 1}')]]), 2)


async def test_once_it_is_closed_the_next_failure_is_raised() -> None:
    with pytest.raises(ConnectionLost):
        await batches(Scripted([ConnectionLost("closed")]), closed=lambda: True)
