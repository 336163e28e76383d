"""What an open page costs the program: lines executed and bytes sent, at 10,000 objects and 1,000 events a second."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.dashboard.dashboard import Dashboard
from pilotage.dashboard.stream import TICK, TICKS_OF_OVERVIEW
from pilotage.dashboard.values import encode
from pilotage.testing import Environment
from tests.counting import counted_lines

from .program import query, set_up
from .records import Happened, book, event, recorded

EVENTS = 1000
MOST_LINES = 60
"""Lines of Python for each event: about 3 µs."""
MOST_BYTES = 40_000
"""Bytes of one second."""


def second(dashboard: Dashboard, number: int) -> None:
    """What a second of a busy program records."""
    history = dashboard.sources.history
    journal = history.journals[0]
    for each in range(EVENTS):
        at = number + each / EVENTS
        note = event("update", book(f"b{each}", each), book(f"b{each}", each + 1, spec={"n": each}), f"b{each}")
        recorded(journal, Happened(at, at + 0.001), f"b{each}", [(at - 0.01, note)])


async def test_an_event_costs_few_lines_and_few_bytes(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.run_until_idle()
    history = dashboard.sources.history
    history.anchor = history.anchor or (0.0, pilotage_env.clock())
    dashboard.stream.viewers = 1
    dashboard.stream.tick(with_overview=True)
    frames = dashboard.stream._frames
    sent = 0
    second(dashboard, 1000)
    with counted_lines() as lines:
        for tick in range(int(1 / TICK)):
            before = frames.number
            dashboard.stream.tick(with_overview=tick % TICKS_OF_OVERVIEW == 0)
            sent += len(frames.since(before))
    assert lines.count / EVENTS <= MOST_LINES
    assert 0 < sent <= MOST_BYTES


@pytest.mark.parametrize("objects", [2_000])
async def test_a_list_of_unchanged_objects_is_not_read_again(pilotage_env: Environment, objects: int) -> None:
    dashboard = await set_up(pilotage_env)
    informer = await _filled(pilotage_env, objects)
    await dashboard.read_objects()
    dashboard.objects(query(limit="1"))
    with counted_lines() as lines:
        await dashboard.read_objects()
        found = dashboard.objects(query(limit="100"))
    assert found.total == objects
    assert len(encode(found)) < 100 * 1000
    assert lines.count < 100 * 100
    assert informer.statistics().objects == objects


async def test_many_objects_that_change_all_the_time_are_read_now_and_then(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    informer = await _filled(pilotage_env, 2_000)
    await dashboard.read_objects()
    informer._events += 1
    with counted_lines() as lines:
        await dashboard.read_objects()
    assert lines.count < 100


async def test_the_past_is_not_searched_beyond_its_moment(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.run_until_idle()
    history = dashboard.sources.history
    history.anchor = (0.0, pilotage_env.clock())
    for number in range(5):
        second(dashboard, 1000 + number)
    times = [dashboard.sources.time_of(moment).isoformat().replace("+00:00", "Z") for moment in (1004.9, 1005.0)]
    with counted_lines() as lines:
        found = dashboard.timeline(query(since=times[0], to=times[1]))
    assert len(found.bars) == 100
    assert lines.count < 100 * 700  # 5,000 would take ten times as many


async def _filled(env: Environment, objects: int) -> pt.cache.Informer:
    from pilotage.reflector.intake import Item

    from .program import Book

    await env.run_until_idle()
    informer = env.manager.cache.informer(Book)
    assert informer is not None
    (one,) = informer.informers
    one._store.replace([Item("default", f"b{number}", book(f"b{number}")) for number in range(objects)])
    one._events += 1
    return one
