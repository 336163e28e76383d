from __future__ import annotations

import asyncio
import gc
import math
import random
import weakref
from collections import Counter

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.testing.loop import run
from pilotage.workqueue import ItemExponentialFailureRateLimiter, QueueShutDown, WorkQueue
from pilotage.workqueue.queue import QueuePlace
from tests.seeds import seeds

pytestmark = pytest.mark.virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(queue: WorkQueue[str]) -> str:
    async with queue.take() as item:
        return item


async def drain(queue: WorkQueue[str]) -> list[str]:
    return [await taken(queue) for _ in range(len(queue))]


def blocked(queue: WorkQueue[str]) -> bool:
    """Whether a worker would wait now."""
    return not len(queue)


@pytest.mark.covers("T2", "T23")
async def test_an_item_added_twice_comes_once_with_the_higher_priority() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", priority=5)
    queue.add("a")
    queue.add("a", priority=-1)
    async with queue.take() as item:
        assert item == "a"
        assert queue.priority_of(item) == 5
    assert blocked(queue)


@pytest.mark.covers("T3", "T4", "T22")
async def test_an_item_added_while_held_comes_again_once_after_the_block() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with queue.take() as item:
        assert len(queue) == 0
        queue.add(item)
        queue.add(item)
        waiting = asyncio.ensure_future(taken(queue))
        await asyncio.sleep(10)
        assert not waiting.done()
    assert await waiting == "a"
    assert blocked(queue)
    queue.add("a")
    assert len(queue) == 1
    assert await taken(queue) == "a"


@pytest.mark.covers("T19", "T20")
async def test_higher_priorities_come_first_and_equal_ones_in_the_order_of_adding() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for item, priority in (("a", 0), ("b", -1), ("c", 7), ("d", 0), ("e", 7)):
        queue.add(item, priority=priority)
    assert await drain(queue) == ["c", "e", "a", "d", "b"]


@pytest.mark.covers("T24")
async def test_a_raised_item_goes_to_the_end_of_its_new_priority() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for item, priority in (("low", 0), ("raised", 0), ("high", 3), ("higher", 3)):
        queue.add(item, priority=priority)
    queue.add("raised", priority=3)
    assert await drain(queue) == ["high", "higher", "raised", "low"]


@pytest.mark.covers("T21")
async def test_a_held_item_of_high_priority_does_not_block_those_behind_it() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", priority=9)
    async with queue.take() as item:
        queue.add(item, priority=9)
        queue.add("b")
        assert await taken(queue) == "b"
        queue.add("c")
    assert [await taken(queue), await taken(queue)] == ["a", "c"]


@pytest.mark.covers("T10", "T12", "T28")
async def test_delayed_items_come_at_their_time_and_in_the_order_of_their_times() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("b", 2)
    queue.add_after("a", 1)
    queue.add_after("c", 3)
    assert blocked(queue)
    came = []
    for _ in range(3):
        item = await taken(queue)
        came.append((item, now()))
    assert came == [("a", 1.0), ("b", 2.0), ("c", 3.0)]


@pytest.mark.covers("T11", "T25")
async def test_of_several_delays_the_shortest_is_kept_and_the_item_comes_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 50)
    queue.add_after("a", 1)
    queue.add_after("a", 20)
    assert await taken(queue) == "a"
    assert now() == 1
    await asyncio.sleep(100)
    assert blocked(queue)


@pytest.mark.covers("T25")
async def test_an_add_without_delay_makes_a_delayed_item_ready_and_the_delay_is_gone() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 50)
    queue.add("a")
    assert await taken(queue) == "a"
    assert now() == 0
    await asyncio.sleep(100)
    assert blocked(queue)


@pytest.mark.covers("T27")
async def test_an_item_of_high_priority_that_becomes_ready_overtakes() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("high", after=1, priority=1)
    queue.add("low")
    queue.add("lower", priority=-1)
    assert await taken(queue) == "low"
    await asyncio.sleep(1)
    assert [await taken(queue), await taken(queue)] == ["high", "lower"]


async def test_a_delay_that_never_ends_disturbs_no_other_item() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("never", math.inf)
    queue.add_after("later", 100_000)
    queue.add_after("now", -3)
    with pytest.raises(InvalidDefinition, match="after=nan: must be seconds or a timedelta"):
        queue.add_after("nonsense", math.nan)
    assert await drain(queue) == ["now"]
    assert await taken(queue) == "later"
    assert now() == 100_000
    queue.shut_down()


@pytest.mark.covers("T16", "T31")
async def test_rate_limited_items_wait_each_for_itself_until_they_are_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue(rate_limiter=ItemExponentialFailureRateLimiter(1.0, 60.0))
    queue.add_rate_limited("a")
    queue.add_rate_limited("b")
    assert await taken(queue) in "ab"
    assert await taken(queue) in "ab"
    assert now() == 1
    queue.add_rate_limited("a")
    assert await taken(queue) == "a"
    assert now() == 3
    assert (queue.num_requeues("a"), queue.num_requeues("b")) == (2, 1)
    queue.add_rate_limited("a")
    queue.forget("a")  # only the count: it still comes
    assert queue.num_requeues("a") == 0
    assert await taken(queue) == "a"
    assert now() == 7


async def test_of_a_delay_and_the_rate_limit_the_shorter_wins() -> None:
    queue: WorkQueue[str] = WorkQueue(rate_limiter=ItemExponentialFailureRateLimiter(10.0, 60.0))
    queue.add("a", rate_limited=True, after=3)
    queue.add("b", rate_limited=True, after=30)
    assert await taken(queue) == "a"
    assert now() == 3
    assert await taken(queue) == "b"
    assert now() == 10


@pytest.mark.covers("T1")
@pytest.mark.parametrize("seed", range(5))
def test_many_producers_and_workers_never_share_an_item_and_lose_none(seed: int) -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue()
        held: set[str] = set()
        worked: Counter[str] = Counter()

        async def produce(producer: int) -> None:
            for number in range(50):
                queue.add(f"{producer}-{number % 25}")
                await asyncio.sleep(0.01)

        async def work() -> None:
            while True:
                async with queue.take() as item:
                    assert item not in held
                    held.add(item)
                    await asyncio.sleep(0.03)
                    held.discard(item)
                    worked[item] += 1

        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(work()) for _ in range(7)]
            producers = [group.create_task(produce(producer)) for producer in range(4)]
            await asyncio.wait(producers)
            await queue.wait_idle()
            for worker in workers:
                worker.cancel()
        assert set(worked) == {f"{producer}-{number}" for producer in range(4) for number in range(25)}

    run(main(), seed=seed)


@pytest.mark.covers("T32")
@seeds(5, 20)
def test_random_adds_are_worked_on_in_time_and_by_priority(seed: int) -> None:
    """Every add is followed by a run that begins no earlier than it may, and as soon as a worker is free."""

    async def main() -> None:
        chance = random.Random(seed)
        queue: WorkQueue[int] = WorkQueue()
        due: dict[int, float] = {}
        running: set[int] = set()

        async def work() -> None:
            while True:
                async with queue.take() as item:
                    assert item not in running
                    assert due.pop(item) <= now() + 1e-9
                    running.add(item)
                    await asyncio.sleep(chance.choice([0, 0, 0.2]))
                    running.discard(item)

        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(work()) for _ in range(3)]
            for _ in range(400):
                item, after = chance.randrange(20), chance.choice([0.0, 0.0, 0.1, 3.0])
                due[item] = min(due.get(item, math.inf), now() + after)
                queue.add(item, after=after, priority=chance.randrange(-3, 3))
                if chance.random() < 0.2:
                    await asyncio.sleep(chance.random())
            await queue.wait_idle(horizon=10)
            assert due == {}
            for worker in workers:
                worker.cancel()

    run(main(), seed=seed)


@pytest.mark.covers("T29")
async def test_shutting_down_ends_waiting_workers_and_drops_what_is_there() -> None:
    queue: WorkQueue[str] = WorkQueue("shutting")
    waiting = [asyncio.ensure_future(taken(queue)) for _ in range(3)]
    await asyncio.sleep(1)
    queue.shut_down()
    for worker in waiting:
        with pytest.raises(QueueShutDown, match="'shutting' is shut down"):
            await worker
    queue.add("a")
    queue.add("b", after=1)
    with pytest.raises(QueueShutDown):
        await taken(queue)
    assert queue.statistics().shut_down


@pytest.mark.covers("T6", "T30")
async def test_shutting_down_does_not_wait_for_what_is_held() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add("b")
    async with queue.take() as item:
        queue.add(item)
        queue.shut_down()
        await queue.wait_drained()
        assert not queue.idle()
    with pytest.raises(QueueShutDown):
        await taken(queue)
    assert queue.idle()


@pytest.mark.covers("T5", "T7")
async def test_draining_hands_out_what_is_ready_and_what_was_added_while_held_but_not_the_delayed() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add("b")
    queue.add("c", after=5)
    worked: list[str] = []

    async def work() -> None:
        while True:
            async with queue.take() as item:
                if item == "a" and not worked:
                    queue.add("a")
                worked.append(item)
                await asyncio.sleep(1)

    workers = [asyncio.ensure_future(work()) for _ in range(2)]
    await asyncio.sleep(0.5)
    queue.shut_down(drain=True)
    queue.add("late")
    await queue.wait_drained()
    assert sorted(worked) == ["a", "a", "b"]
    for ended in await asyncio.gather(*workers, return_exceptions=True):
        assert isinstance(ended, QueueShutDown)
    assert now() == 2


@pytest.mark.covers("T8")
async def test_a_plain_shut_down_during_a_drain_ends_the_wait_at_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with queue.take():
        queue.shut_down(drain=True)
        draining = asyncio.ensure_future(queue.wait_drained())
        await asyncio.sleep(1)
        assert not draining.done()
        queue.shut_down()
        await draining


async def test_a_worker_cancelled_as_it_is_woken_passes_the_item_on() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first, second = asyncio.ensure_future(taken(queue)), asyncio.ensure_future(taken(queue))
    await asyncio.sleep(1)
    queue.add("a")
    first.cancel()  # it is the one that was woken
    assert await second == "a"
    assert first.cancelled()


async def test_an_exception_in_the_block_gives_the_item_back() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")

    async def fail() -> None:
        async with queue.take() as item:
            queue.add(item)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await taken(queue) == "a"
    with pytest.raises(KeyError):
        queue.priority_of("a")


@pytest.mark.covers("T9")
async def test_items_that_were_handed_out_are_not_kept_alive() -> None:
    class Item:
        pass

    queue: WorkQueue[Item] = WorkQueue("kept alive")
    item = Item()
    gone = weakref.ref(item)
    queue.add(item, after=1, priority=1)
    queue.add(item, priority=2)
    del item
    async with queue.take():
        pass
    await asyncio.sleep(2)
    gc.collect()
    assert gone() is None


async def test_idle_looks_as_far_ahead_as_it_is_asked_to() -> None:
    queue: WorkQueue[str] = WorkQueue()
    assert queue.idle()
    queue.add_after("a", 10)
    assert queue.idle()
    assert queue.idle(horizon=9)
    assert not queue.idle(horizon=10)
    waiting = asyncio.ensure_future(queue.wait_idle(horizon=60))
    async with queue.take():
        assert not queue.idle()
        await asyncio.sleep(1)
        assert not waiting.done()
    await waiting
    assert queue.idle(horizon=60)


async def test_statistics_say_where_items_are() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.ensure_future(taken(queue))
    await asyncio.sleep(1)
    assert queue.statistics().workers_waiting == 1
    queue.add("a")
    await waiting
    queue.add("b")
    async with queue.take():
        queue.add("c")
        queue.add("d", after=1)
        found = queue.statistics()
        assert (found.ready, found.delayed, found.held, found.shut_down) == (1, 1, 1, False)
    await asyncio.sleep(1)
    assert queue.statistics().ready == 2
    assert bool(queue)


async def test_workers_that_never_wait_let_others_run() -> None:
    queue: WorkQueue[str] = WorkQueue()
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.ensure_future(other())
    for _ in range(1000):
        queue.add("a")
        await taken(queue)
    assert turns > 10
    running.cancel()


@pytest.mark.parametrize("earlier", ["a look", "a take"])
async def test_what_is_due_wakes_a_worker_also_when_others_notice_before_the_timer(earlier: str) -> None:
    """A busy loop runs timers late, and then another caller may find the due item first."""
    queue: WorkQueue[str] = WorkQueue()
    held: list[str] = []

    async def hold() -> None:
        async with queue.take() as item:
            held.append(item)
            await asyncio.sleep(1000)

    workers = [asyncio.ensure_future(hold()) for _ in range(3)]
    await asyncio.sleep(0.1)
    queue.add("a", after=1)
    queue.add("b", after=1)
    loop = asyncio.get_running_loop()

    def notice() -> None:
        if earlier == "a look":
            assert len(queue) == 2
        else:
            queue.add("c")

    timer = queue._timer
    assert timer is not None
    timer.cancel()  # what it would do is done below, after the others
    await asyncio.sleep(1)
    notice()
    for _ in range(5):
        await asyncio.sleep(0)
    queue._on_timer(loop)
    await asyncio.sleep(1)
    assert sorted(held) == (["a", "b"] if earlier == "a look" else ["a", "b", "c"])
    for worker in workers:
        worker.cancel()


@pytest.mark.virtual_time
async def test_an_item_has_a_place_in_the_queue() -> None:
    queue: WorkQueue[str] = WorkQueue()
    assert queue.place_of("a") is None
    for item, priority in (("a", 0), ("b", 0), ("c", 5)):
        queue.add(item, priority=priority, note=f"note of {item}")
    queue.add("later", after=30)
    assert [queue.place_of(item) for item in "abc"] == [
        QueuePlace(0.0, 1, ("note of a",)),
        QueuePlace(0.0, 2, ("note of b",)),
        QueuePlace(0.0, 0, ("note of c",)),
    ]
    await asyncio.sleep(10)
    assert queue.place_of("later") == QueuePlace(20.0, 0, ())
    async with queue.take() as item:
        assert item == "c"
        assert queue.place_of("c") is None
        assert queue.place_of("a") == QueuePlace(0.0, 0, ("note of a",))
        queue.add("c", priority=5)  # again when it is released, so no other worker waits for it
        assert queue.place_of("b") == QueuePlace(0.0, 1, ("note of b",))
    assert queue.place_of("b") == QueuePlace(0.0, 2, ("note of b",))


def test_a_queue_is_called_on_its_loop() -> None:
    queue: WorkQueue[str] = WorkQueue()
    with pytest.raises(RuntimeError, match="no running event loop"):
        queue.add("a")

    async def add() -> None:
        queue.add("a")

    async def add_elsewhere() -> None:
        with pytest.raises(RuntimeError, match="no running event loop"):
            await asyncio.to_thread(queue.add, "b")
        with pytest.raises(RuntimeError, match="this is another"):
            await asyncio.to_thread(asyncio.run, add())
        assert len(queue) == 0

    async def main() -> None:
        queue.add("a")
        assert len(queue) == 1
        await taken(queue)
        await add_elsewhere()

    asyncio.run(main())
