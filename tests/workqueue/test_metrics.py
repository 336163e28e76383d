from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from pilotage.telemetry.metrics import REGISTRY
from pilotage.workqueue import WorkQueue

pytestmark = pytest.mark.virtual_time


def sample(metric: str, queue: str, **labels: str) -> float | None:
    wanted = {"name": queue, "controller": queue, **labels}
    for _, samples in REGISTRY.collect():
        for found in samples:
            if found.name == metric and dict(found.labels) == wanted:
                return found.value
    return None


@pytest.mark.covers("T17", "T26", "T33")
async def test_metrics_follow_an_item_from_waiting_to_done() -> None:
    queue: WorkQueue[str] = WorkQueue("followed")

    def shown() -> tuple[float | None, ...]:
        return (
            sample("workqueue_depth", "followed", priority="0"),
            sample("workqueue_depth", "followed", priority="4"),
            sample("workqueue_adds_total", "followed"),
            sample("workqueue_retries_total", "followed"),
        )

    queue.add("a", after=5)
    assert shown() == (None, None, 0, 1)
    queue.add("b")
    queue.add("b")  # changes nothing
    assert shown() == (1, None, 1, 1)
    queue.add("a", priority=4)  # from waiting to ready, with another priority
    assert shown() == (1, 1, 2, 1)
    queue.add("b", priority=4)
    assert shown() == (0, 2, 2, 1)
    await asyncio.sleep(3)
    async with queue.take():
        assert shown() == (0, 1, 2, 1)
        await asyncio.sleep(2)
        async with queue.take():
            await asyncio.sleep(1)
            assert sample("workqueue_unfinished_work_seconds", "followed") == 4
            assert sample("workqueue_longest_running_processor_seconds", "followed") == 3
    assert sample("workqueue_unfinished_work_seconds", "followed") == 0
    assert sample("workqueue_longest_running_processor_seconds", "followed") == 0
    assert sample("workqueue_queue_duration_seconds_sum", "followed") == 8
    assert sample("workqueue_queue_duration_seconds_count", "followed") == 2
    assert sample("workqueue_work_duration_seconds_sum", "followed") == 4
    queue.add("c")
    queue.shut_down()
    queue.add("d")
    assert shown() == (0, 0, 3, 1)


@pytest.mark.covers("T34")
async def test_twenty_five_priorities_have_a_series_each_and_the_rest_one_together() -> None:
    queue: WorkQueue[str] = WorkQueue("colourful")

    def depth(priority: int | str) -> float | None:
        return sample("workqueue_depth", "colourful", priority=str(priority))

    for number in range(500):
        queue.add(f"same-{number}", priority=0)
    for priority in range(1, 25):
        queue.add(f"one-{priority}", priority=priority)
    assert (depth(0), depth(24), depth("exceeded_cardinality_limit")) == (500, 1, None)
    for priority in range(25, 30):
        queue.add(f"more-{priority}", priority=priority)
    assert (depth(24), depth(25), depth("exceeded_cardinality_limit")) == (1, None, 5)
    queue.add("same-0", priority=30)
    assert (depth(0), depth("exceeded_cardinality_limit")) == (499, 6)
    for _ in range(len(queue)):
        async with queue.take():
            pass
    assert (depth(0), depth(24), depth("exceeded_cardinality_limit")) == (0, 0, 0)


async def test_a_queue_is_not_kept_alive_by_its_metrics() -> None:
    queue: WorkQueue[str] = WorkQueue("gone")
    queue.add("a")
    gone = weakref.ref(queue)
    del queue
    gc.collect()
    assert gone() is None
    assert sample("workqueue_unfinished_work_seconds", "gone") == 0
