"""Which Pod is tried next."""

from __future__ import annotations

from typing import Any

from pilotage.workloads.scheduling.placement import PodInfo
from pilotage.workloads.scheduling.queue import Queue
from tests.workloads.scheduling.tables import pod_info


def pod(name: str, priority: int = 0, cpu: str = "1") -> PodInfo:
    spec: dict[str, Any] = {"priority": priority, "containers": [{"resources": {"requests": {"cpu": cpu}}}]}
    return pod_info({"metadata": {"name": name}, "spec": spec})


def queue_of(*pods: PodInfo) -> Queue:
    queue = Queue()
    for one in pods:
        queue.add(one)
    return queue


def tried(queue: Queue) -> list[str]:
    """The Pods that are handed out, in order; none of them fits."""
    found = []
    while (one := queue.pop()) is not None:
        found.append(one.name)
        queue.note_unfit(one, "full")
    return found


def test_pods_of_high_priority_are_first_then_the_oldest() -> None:
    assert tried(queue_of(pod("a"), pod("b", 10), pod("c"), pod("d", 10))) == ["b", "d", "a", "c"]


def test_a_pod_that_is_removed_is_not_tried() -> None:
    queue = queue_of(pod("a"), pod("b"))
    assert queue.remove(("", "a"))
    assert tried(queue) == ["b"]


def test_of_pods_that_are_alike_one_is_tried_after_a_change() -> None:
    queue = queue_of(pod("a"), pod("b"), pod("large", cpu="9"))
    assert tried(queue) == ["a", "b", "large"]
    assert queue.wake()
    assert tried(queue) == ["a", "large"]


def test_the_next_pod_is_tried_if_the_first_one_fits() -> None:
    queue = queue_of(pod("a"), pod("b"), pod("c"))
    tried(queue)
    queue.wake()
    first = queue.pop()
    assert first is not None
    queue.note_fit(first)
    assert tried(queue) == ["b"]
    assert len(queue) == 2


def test_all_pods_that_are_alike_are_tried_for_a_new_reason() -> None:
    queue = queue_of(pod("a"), pod("b"), pod("c"))
    tried(queue)
    queue.wake()
    first = queue.pop()
    assert first is not None
    queue.note_unfit(first, "another reason")
    found = []
    while (one := queue.pop()) is not None:
        found.append(one.name)
        queue.note_unfit(one, "another reason")
    assert found == ["b", "c"]


def test_nothing_is_to_be_tried_after_a_change_where_no_pod_waits() -> None:
    assert not Queue().wake()
