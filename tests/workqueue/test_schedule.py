"""The queue's state against a model that is too simple to be wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pilotage.workqueue.metrics import QueueObserver
from pilotage.workqueue.schedule import Schedule


class Depth(QueueObserver):
    """Counts by priority, as the metrics do."""

    def __init__(self) -> None:
        self.by_priority: dict[int, int] = {}
        self.adds = 0

    def _count(self, priority: int, step: int) -> None:
        self.by_priority[priority] = self.by_priority.get(priority, 0) + step

    def ready(self, priority: int) -> None:
        self._count(priority, 1)
        self.adds += 1

    def raised(self, before: int, after: int) -> None:
        self._count(before, -1)
        self._count(after, 1)

    def taken(self, priority: int, waited: float) -> None:
        assert waited >= 0
        self._count(priority, -1)

    def dropped(self, priority: int) -> None:
        self._count(priority, -1)


@dataclass
class Wanted:
    priority: int
    ready_at: float
    order: int


@dataclass
class Model:
    """All that is wanted in one dict, searched from end to end each time."""

    wanted: dict[str, Wanted] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    order: int = 0

    def add(self, item: str, priority: int, now: float, after: float) -> None:
        self.pass_time(now)
        self.order += 1
        known = self.wanted.get(item)
        if known is None:
            self.wanted[item] = Wanted(priority, now + after, self.order)
        else:
            if item in self.ready:
                if priority > known.priority:
                    known.order = self.order
            else:
                known.ready_at = min(known.ready_at, now + after)
            known.priority = max(known.priority, priority)
        self.pass_time(now)

    def pass_time(self, now: float) -> None:
        due = [(wanted.ready_at, wanted.order, item) for item, wanted in self.wanted.items() if wanted.ready_at <= now]
        for _, _, item in sorted(due):
            if item not in self.ready:
                self.order += 1
                self.wanted[item].order = self.order
                self.ready.add(item)

    def take(self, now: float) -> str | None:
        self.pass_time(now)
        free = [(-self.wanted[item].priority, self.wanted[item].order, item) for item in self.ready - self.held]
        if not free:
            return None
        item = min(free)[2]
        del self.wanted[item]
        self.ready.discard(item)
        self.held.add(item)
        return item


ITEMS = st.sampled_from("abcdef")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), ITEMS, st.integers(-2, 2), st.sampled_from([0.0, 0.0, 1.0, 2.5, 7.0])),
        st.tuples(st.just("take")),
        st.tuples(st.just("done"), st.integers(0, 5)),
        st.tuples(st.just("pass"), st.sampled_from([0.5, 1.0, 3.0])),
    ),
    max_size=80,
)


@pytest.mark.covers("T20", "T21", "T22", "T23", "T24", "T25", "T27", "T28", "T32", "T33")
@given(STEPS)
def test_any_order_of_calls_gives_what_the_model_gives(steps: list[tuple[object, ...]]) -> None:
    depth = Depth()
    schedule, model, now = Schedule[str](depth), Model(), 0.0
    for step in steps:
        match step:
            case ("add", str(item), int(priority), float(after)):
                schedule.advance(now)  # as the queue's timer does
                schedule.add(item, priority, now, after)
                model.add(item, priority, now, after)
            case ("take",):
                entry = schedule.take(now)
                assert (entry and entry.item) == model.take(now)
            case ("done", int(index)) if model.held:
                item = sorted(model.held)[index % len(model.held)]
                schedule.done(item, now)
                model.held.discard(item)
            case ("pass", float(seconds)):
                now += seconds
                schedule.advance(now)
                model.pass_time(now)
        assert set(schedule.held) == model.held
        assert schedule.ready_count == len(model.ready)
        assert schedule.waiting_count == len(model.wanted) - len(model.ready)
        assert sum(depth.by_priority.values()) == len(model.ready)
        later = [wanted.ready_at for item, wanted in model.wanted.items() if item not in model.ready]
        assert schedule.next_time() == min(later, default=None)


def test_clearing_leaves_what_is_held() -> None:
    depth = Depth()
    schedule = Schedule[str](depth)
    schedule.add("held", 0, 0.0)
    schedule.take(0.0)
    schedule.add("held", 3, 0.0)
    schedule.add("ready", 1, 0.0)
    schedule.add("delayed", 1, 0.0, 5.0)
    schedule.clear()
    assert set(schedule.held) == {"held"}
    schedule.done("held", 1.0)
    assert schedule.take(100.0) is None
    assert (schedule.ready_count, schedule.waiting_count, schedule.next_time()) == (0, 0, None)
    assert set(depth.by_priority.values()) == {0}


def test_outdated_records_do_not_pile_up() -> None:
    """An item that is added again and again for a far time, and becomes ready earlier through an event."""
    schedule = Schedule[str](QueueObserver())
    for now in range(5000):
        schedule.add("a", 0, now, 1e6)
        schedule.add("a", 0, now)
        entry = schedule.take(now)
        assert entry is not None
        schedule.done("a", now)
    assert len(schedule._waiting) < 100
    for priority in range(5000):
        schedule.add("b", priority, 0.0)
    assert len(schedule._ready) < 100
    assert (entry := schedule.take(1.0)) is not None
    assert (entry.item, entry.priority) == ("b", 4999)
