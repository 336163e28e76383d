"""A handler that is added to a full store receives all of it, in portions, in order with the changes meanwhile."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cache import replays
from pilotage.cache.event import InformerEvent
from pilotage.cache.group import InformerGroup
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.errors import Gone
from pilotage.rest.response import Page
from pilotage.testing import loop as virtual
from pilotage.types.core.v1 import ConfigMap
from tests.reflector.scripted import Scripted, Step, added, config_map, deleted, error, modified, page

from .informers import Diary, informer, running, synced

NAMES = [f"object-{number}" for number in range(1000)]


class Follower:
    """A listener that applies events, and checks that each is possible after the ones before."""

    def __init__(self) -> None:
        self.known: dict[str, bytes | None] = {}

    def __call__(self, event: InformerEvent[Any]) -> None:
        known = self.known.get(event.name)
        if event.type == "create":
            assert known is None, f"{event} of an object that is known"
        elif event.type == "update":
            assert known == event.old_data, f"{event} does not begin where the last event ended"
        else:
            assert known is not None, f"{event} of an object that is not known"
        self.known[event.name] = event.new_data


def random_steps(chooser: random.Random, names: list[str]) -> tuple[list[Page], list[list[Step]]]:
    """Lists, and the watch after each: changes with pauses in which other tasks run, and an expired version."""
    version, state = 1, dict.fromkeys(names[: chooser.randint(0, len(names))], 1)
    lists, watches = [], []
    for _ in range(3):
        lists.append(Page([config_map(name, at) for name, at in state.items()], str(version)))
        steps: list[Step] = [1.0]
        for _ in range(chooser.randint(0, 30)):
            version += 1
            name = chooser.choice(names)
            if name not in state:
                steps.append(added(name, version))
            elif chooser.random() < 0.4:
                steps.append(deleted(name, version))
            else:
                steps.append(modified(name, version))
            if name in state and steps[-1].type == "DELETED":  # type: ignore[union-attr]
                del state[name]
            else:
                state[name] = version
            steps += [0.0] * chooser.randint(0, 2)
        for name in chooser.sample(names, 5):  # what happens while no watch is open
            version += 1
            if state.pop(name, None) is None or chooser.random() < 0.5:
                state[name] = version
        watches.append([*steps, error(Gone("too old"))])
    watches[-1].pop()
    return lists, watches


@given(seed=st.integers(0, 10_000))
def test_no_event_is_lost_or_out_of_order_for_a_late_handler(seed: int) -> None:
    chooser = random.Random(seed)
    lists, watches = random_steps(chooser, NAMES[:40])

    async def scenario() -> None:
        made: Informer[ConfigMap] = informer(Scripted(lists, watches), resync=2.0)
        followers: list[Follower] = []
        async with running(made):
            for _ in range(6):
                await asyncio.sleep(chooser.choice([0.0, 0.0, 0.9999, 1.0, 1.0]))
                for _ in range(chooser.randint(0, 20)):
                    await asyncio.sleep(0)
                followers.append(Follower())
                made.add_event_handler(followers[-1])
            await asyncio.sleep(30)
            stored = {item.name: item.data for item in made._store.items()}
            for follower in followers:
                assert {name: data for name, data in follower.known.items() if data is not None} == stored
            assert made.statistics().handler_failures == 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replays, "PORTION", 3)
        patch.setattr("pilotage.cache.informer.PORTION", 3)
        virtual.run(scenario(), seed=seed)


@pytest.mark.virtual_time
async def test_other_tasks_run_while_a_late_handler_receives_a_large_store() -> None:
    async with synced(Scripted([page(*NAMES, version=1)])) as made:
        diary = Diary()
        registration = made.add_event_handler(diary)
        heard = [len(diary.events)]
        while not registration.has_synced:
            assert registration.is_late
            await asyncio.sleep(0)
            heard.append(len(diary.events))
        assert heard[-1] == len(NAMES)
        # The order of tasks is random here: the next portion may come before this task's turn, but no third one.
        assert max(after - before for before, after in pairwise(heard)) <= 2 * replays.PORTION
        assert diary.heard == [("create", name) for name in NAMES]
        assert all(event.is_in_initial_list for event in diary.events)


@pytest.mark.virtual_time
async def test_an_object_that_changes_before_its_turn_is_received_before_its_change() -> None:
    async with synced(Scripted([page(*NAMES, version=1)])) as made:
        diary = Diary()
        made.add_event_handler(diary)
        made._apply(_applied(modified(NAMES[998], 2)))
        assert diary.heard[-2:] == [("create", NAMES[998]), ("update", NAMES[998])]
        assert [event.header.resource_version for event in diary.events[-2:]] == ["1", "2"]


@pytest.mark.virtual_time
async def test_a_handler_that_is_removed_receives_nothing_more() -> None:
    async with synced(Scripted([page(*NAMES, version=1)])) as made:
        diary = Diary()
        registration = made.add_event_handler(diary)
        registration.remove()
        await registration.wait_for_backlog()
        await asyncio.sleep(1)
        assert len(diary.events) == replays.PORTION


@pytest.mark.virtual_time
async def test_a_wait_for_the_backlog_ends_when_the_informer_stops() -> None:
    made = informer(Scripted([page(*NAMES, version=1)]))
    async with running(made):
        await made.wait_for_sync()
        registration = made.add_event_handler(Diary())
        waiting = asyncio.ensure_future(registration.wait_for_backlog())
        assert not waiting.done()
    await waiting


def _applied(event: Any) -> Any:
    from pilotage.meta import objects
    from pilotage.reflector.change import Applied

    data = bytes(event.object)
    return Applied(data, objects.header(data))


async def test_a_group_of_many_informers_delivers_no_more_at_a_time_than_one() -> None:
    """Otherwise each of them would deliver a portion in one turn of the event loop. Not in virtual time, where the
    order of tasks is random."""
    lists = [[config_map(f"{number}-{name}", 1) for name in NAMES[:150]] for number in range(20)]
    informers = [informer(Scripted([Page([*found], "1")]), namespace=str(number)) for number, found in enumerate(lists)]
    group: InformerGroup[ConfigMap] = InformerGroup(InformerOptions(ConfigMap), informers)
    async with AsyncExitStack() as stack:
        for one in informers:
            await stack.enter_async_context(running(one))
        await group.wait_for_sync()
        diary = Diary()
        registration = group.add_event_handler(diary)
        heard = [len(diary.events)]
        while not registration.has_synced:
            await asyncio.sleep(0)
            heard.append(len(diary.events))
        assert heard[-1] == 20 * 150
        assert len({event.name for event in diary.events}) == 20 * 150
        assert max(after - before for before, after in pairwise([0, *heard])) <= 2 * replays.PORTION
