"""Which group a runnable belongs to, and how a group starts and stops."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.manager.endpoints.server import Server
from pilotage.manager.errors import ManagerStopped, RunnableCancelled
from pilotage.manager.groups import RunnableGroup
from pilotage.manager.runnables import Group, GroupMember, group_members, name_of

from .fakes import FakeCache, Recorded, turns


class Plain:
    async def start(self) -> None: ...


class WithoutElection(Plain):
    needs_leader_election = False


class Asked(Plain):
    def needs_leader_election(self) -> bool:
        return False


class Warm(Plain):
    async def warm_up(self) -> None: ...


class WarmWithoutElection(Warm):
    needs_leader_election = False


class Webhooks(Plain):
    runnable_group = "webhooks"


async def function() -> None: ...


async def answer(request: HTTPRequest) -> HTTPResponse:
    return HTTPResponse(200)


def groups_of(runnable: Any) -> list[Group]:
    return [entry.group for entry in group_members(runnable)]


@pytest.mark.covers("T75", "T74")
@pytest.mark.parametrize(
    ("runnable", "groups"),
    [
        (Server("s", answer, "127.0.0.1:0"), [Group.HTTP_SERVERS]),
        (Server("s", answer, "127.0.0.1:0", only_serve_when_leader=True), [Group.LEADER_ELECTION]),
        (FakeCache(), [Group.CACHES]),
        (Webhooks(), [Group.WEBHOOKS]),
        (Plain(), [Group.LEADER_ELECTION]),
        (function, [Group.LEADER_ELECTION]),
        (WithoutElection(), [Group.OTHERS]),
        (Asked(), [Group.OTHERS]),
        (Warm(), [Group.LEADER_ELECTION, Group.WARM_UP]),
        (WarmWithoutElection(), [Group.OTHERS, Group.WARM_UP]),
    ],
)
def test_a_runnable_belongs_to_a_group(runnable: Any, groups: list[Group]) -> None:
    assert groups_of(runnable) == groups


def test_only_caches_have_a_ready_check() -> None:
    assert group_members(FakeCache())[0].ready is not None
    assert group_members(Plain())[0].ready is None


def test_a_runnable_is_called_by_its_name() -> None:
    assert name_of(Recorded([], "backup")) == "backup"
    assert name_of(function) == "function"
    assert name_of(Plain()) == "Plain"


@pytest.mark.parametrize("wrong", [3, object(), None])
def test_what_cannot_be_run_is_refused_when_it_is_added(wrong: Any) -> None:
    with pytest.raises(InvalidDefinition, match="async def start"):
        group_members(wrong)


def test_an_unknown_group_is_refused() -> None:
    class Lost(Plain):
        runnable_group = "nowhere"

    with pytest.raises(InvalidDefinition, match=r"nowhere.*webhooks"):
        group_members(Lost())


class Failures(list[tuple[str, BaseException]]):
    def report(self, name: str, error: BaseException) -> None:
        self.append((name, error))


def entry(journal: list[str], name: str, ready: Any = None, **more: Any) -> GroupMember:
    runnable = Recorded(journal, name, **more)
    return GroupMember(Group.OTHERS, name, runnable.start, runnable, ready)


@pytest.mark.covers("T76")
@pytest.mark.virtual_time
async def test_a_group_starts_what_was_added_before_and_after() -> None:
    journal: list[str] = []
    group = RunnableGroup(Failures().report)
    group.add(entry(journal, "early"))
    await turns()
    assert journal == []
    await group.start()
    group.add(entry(journal, "late"))
    await turns()
    assert journal == ["early started", "late started"]
    group.cancel()
    await asyncio.wait(group.tasks)
    await turns()
    assert not group.tasks
    assert sorted(journal[2:]) == ["early stopped", "late stopped"]


@pytest.mark.covers("T76")
@pytest.mark.virtual_time
async def test_a_group_is_ready_when_the_slowest_is() -> None:
    group = RunnableGroup(Failures().report)
    for seconds in (1, 3, 2):
        group.add(entry([], f"{seconds}", lambda seconds=seconds: asyncio.sleep(seconds)))
    await group.start()
    assert asyncio.get_running_loop().time() == 3
    group.cancel()


@pytest.mark.covers("T76")
@pytest.mark.virtual_time
async def test_a_group_is_never_ready_when_a_check_fails() -> None:
    async def failing() -> None:
        await asyncio.sleep(1)
        raise RuntimeError("no")

    group = RunnableGroup(Failures().report)
    group.add(entry([], "slow", lambda: asyncio.sleep(100)))
    group.add(entry([], "wrong", failing))
    with pytest.raises(RuntimeError, match="no"):
        await group.start()
    assert asyncio.get_running_loop().time() == 1
    group.cancel()


@pytest.mark.covers("T65", "T76")
@pytest.mark.virtual_time
async def test_a_stopping_group_takes_nothing_more() -> None:
    group = RunnableGroup(Failures().report)
    await group.start()
    group.cancel()
    with pytest.raises(ManagerStopped, match="late"):
        group.add(entry([], "late"))


@pytest.mark.virtual_time
async def test_a_group_that_was_stopped_before_its_start_starts_nothing() -> None:
    journal: list[str] = []
    group = RunnableGroup(Failures().report)
    group.add(entry(journal, "a"))
    group.cancel()
    await group.start()
    await turns()
    assert journal == []


@pytest.mark.virtual_time
async def test_a_failure_is_reported_and_an_end_is_not() -> None:
    failures = Failures()
    group = RunnableGroup(failures.report)
    error = RuntimeError("broken")
    group.add(entry([], "wrong", life=0, error=error))
    group.add(entry([], "done", life=0))
    await group.start()
    await asyncio.sleep(1)
    assert failures == [("wrong", error)]
    assert not group.tasks


@pytest.mark.virtual_time
async def test_a_runnable_that_others_cancel_does_not_vanish_silently() -> None:
    failures = Failures()
    group = RunnableGroup(failures.report)
    group.add(entry([], "victim"))
    await group.start()
    await turns()
    for task in group.tasks:
        task.cancel()
    await turns()
    [(name, error)] = failures
    assert name == "victim"
    assert isinstance(error, RunnableCancelled)


@pytest.mark.virtual_time
async def test_every_task_has_the_name_of_its_group_and_runnable() -> None:
    group = RunnableGroup(Failures().report)
    group.add(entry([], "backup"))
    await group.start()
    assert [task.get_name() for task in group.tasks] == ["others: backup"]
    group.cancel()
