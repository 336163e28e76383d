"""The gate of a controller with shards: requests for keys of other replicas are kept until these are handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pilotage.controller.gate import KEPT_SECONDS, Gate
from pilotage.controller.request import Request
from pilotage.manager.shards.shards import Shards
from pilotage.rest import Fence
from pilotage.workqueue import WorkQueue


class FakeShards(Shards):
    """Owns the keys that a test says it owns."""

    fence = Fence()
    handover_finished = True

    def __init__(self) -> None:
        self.owned: set[str] = set()
        self.active: list[str] = []
        self.listeners: list[Callable[[], None]] = []

    def begin(self, key: str) -> bool:
        if key in self.owned:
            self.active.append(key)
        return key in self.owned

    def end(self, key: str) -> None:
        self.active.remove(key)

    def owns(self, key: str) -> bool:
        return key in self.owned

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)


A, B = Request("a", "default"), Request("b", "default")


@pytest.mark.virtual_time
async def test_work_on_a_key_of_this_replica_begins_and_ends() -> None:
    shards = FakeShards()
    shards.owned = {"default/a"}
    gate = Gate(shards, lambda _: True)
    with gate.passing(A) as passes:
        assert passes
        assert shards.active == ["default/a"]
    with pytest.raises(ValueError, match="a bug"), gate.passing(A):
        raise ValueError("a bug")
    assert shards.active == []
    assert gate.kept == 0


@pytest.mark.virtual_time
async def test_a_request_of_another_replica_is_queued_when_its_key_is_handed_over_and_only_then() -> None:
    shards = FakeShards()
    gate, queue = Gate(shards, lambda _: True), WorkQueue[Request]("test")
    for request in (A, B, A):
        with gate.passing(request) as passes:
            assert not passes
    with gate.feeding(queue):
        assert gate.kept == 2
        shards.owned = {"default/b"}
        [notify] = shards.listeners
        notify()
        notify()
        async with queue.take() as request:
            assert request == B
        assert gate.kept == 1
        assert queue.idle(0)
    assert not shards.listeners


@pytest.mark.virtual_time
async def test_requests_for_objects_that_do_not_exist_are_forgotten_after_a_while() -> None:
    existing = {Request(f"there-{number}") for number in range(100)}
    gate = Gate(FakeShards(), lambda request: request in existing)
    for request in existing:
        with gate.passing(request):
            pass
    for number in range(20_000):
        if number % 1000 == 0:
            await asyncio.sleep(KEPT_SECONDS)
        with gate.passing(Request(f"deleted-{number}")):
            pass
    assert 100 < gate.kept < 5_000
