"""FairQueue: one at a time, in the order of asking, and no more than the share of time that there is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pilotage.grpc.peers import FairQueue
from pilotage.net.cpushare import CPUShare
from pilotage.testing import loop


def turns() -> FairQueue:
    running = asyncio.get_running_loop()
    return FairQueue(running, CPUShare(0.1, 0.002, running.time()))


def test_while_there_is_time_no_caller_waits() -> None:
    async def scenario() -> None:
        ours = turns()
        assert ours.free()
        ours.spend(0.001)
        assert ours.free()
        ours.spend(0.002)
        assert not ours.free()
        await asyncio.sleep(1)
        assert ours.free()

    loop.run(scenario())


def test_turns_come_in_the_order_of_asking_and_as_fast_as_the_share_allows() -> None:
    async def scenario() -> list[tuple[str, float]]:
        ours, had = turns(), list[tuple[str, float]]()

        def turn(name: str) -> Callable[[], None]:
            def have() -> None:
                had.append((name, asyncio.get_running_loop().time()))
                ours.spend(0.00495)  # and the loop's own work, so that it is 5 ms

            return have

        for name in "abc":
            ours.join(turn(name))
        assert not ours.free()
        await asyncio.sleep(1)
        return had

    had = loop.run(scenario())
    assert [name for name, _ in had] == ["a", "b", "c"]
    assert [when for _, when in had] == [0.0, pytest.approx(0.03), pytest.approx(0.08)]


def test_a_caller_that_leaves_has_no_turn_and_delays_no_other() -> None:
    async def scenario() -> list[str]:
        ours, had = turns(), list[str]()
        first, second = (lambda: had.append("first")), (lambda: had.append("second"))
        ours.join(first)
        ours.join(second)
        ours.leave(first)
        ours.leave(first)
        await asyncio.sleep(1)
        assert ours.free()
        return had

    assert loop.run(scenario()) == ["second"]


def test_a_caller_that_asks_again_in_its_turn_is_behind_the_others() -> None:
    async def scenario() -> list[str]:
        ours, had = turns(), list[str]()

        def greedy() -> None:
            had.append("greedy")
            if len(had) < 4:
                ours.join(greedy)

        ours.join(greedy)
        ours.join(lambda: had.append("modest"))
        await asyncio.sleep(1)
        return had

    assert loop.run(scenario()) == ["greedy", "modest", "greedy", "greedy"]


def test_a_turn_that_fails_does_not_end_the_others() -> None:
    async def scenario() -> list[str]:
        failed = list[object]()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context["exception"]))
        ours, had = turns(), list[str]()

        def fail() -> None:
            raise LookupError

        ours.join(fail)
        ours.join(lambda: had.append("next"))
        await asyncio.sleep(1)
        assert [type(each) for each in failed] == [LookupError]
        return had

    assert loop.run(scenario()) == ["next"]
