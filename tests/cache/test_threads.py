"""Threads that read while the informer writes: nothing raises, and every read is of one moment."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import pytest

from pilotage.cache.informer import Informer
from pilotage.cache.lister import Lister
from pilotage.cache.options import InformerOptions
from pilotage.cache.store import Store
from pilotage.meta import objects
from pilotage.reflector.intake import Item
from pilotage.rest.response import WatchEvent
from pilotage.types.core.v1 import ConfigMap
from tests.reflector.scripted import Scripted, config_map, page

from .informers import running

OBJECTS = 60
ROUNDS = 60
"""How often every object is written."""
SMALL_SLICE = 1e-6
"""Seconds after which a thread has to let others run: so short that threads are switched in the middle of calls."""

Numbers = list[tuple[int, int]]
"""What a read gave: the number of each object, and the round in which it was written."""


def data_of(number: int, turn: int) -> bytes:
    labels = {"turn": str(turn), "parity": str(turn % 2)}
    return config_map(f"o{number}", turn, namespace=f"n{number % 7}", metadata={"labels": labels})


def turns_in(data: bytes) -> list[str]:
    return [objects.header(data).labels["turn"]]


class Scene:
    """A store whose objects are written one after the other, round by round, and some of them removed in between."""

    def __init__(self, *, indexed: bool = True) -> None:
        self.failures: list[object] = []
        self.store = Store(lambda key, error: self.failures.append(error))
        self.lister: Lister[ConfigMap] = Lister({"": self.store}, ConfigMap, lambda: "")
        self.turn = 0
        self.reads = 0
        if indexed:
            self.store.add_index("turn", turns_in)
        self.store.replace([Item(f"n{number % 7}", f"o{number}", data_of(number, 0)) for number in range(OBJECTS)])

    def write(self) -> None:
        for turn in range(1, ROUNDS + 1):
            self.turn = turn
            for number in range(OBJECTS):
                data = data_of(number, turn)
                if number % 5 == 0:
                    self.store.remove(f"n{number % 7}", f"o{number}")
                self.store.put(data, objects.header(data))
            if turn % 10 == 0:
                items = [Item(f"n{number % 7}", f"o{number}", data_of(number, turn)) for number in range(OBJECTS)]
                self.store.replace(items)

    @contextmanager
    def reading(self, *reads: Callable[[], None]) -> Iterator[None]:
        """Call each of `reads` again and again in a thread of its own, for the length of the block."""
        ended, slice_before = threading.Event(), sys.getswitchinterval()

        def work(read: Callable[[], None]) -> None:
            while not ended.is_set() and not self.failures:
                try:
                    read()
                    self.reads += 1
                except BaseException as error:  # what a read raises in a thread is what is looked for
                    self.failures.append(error)

        threads = [threading.Thread(target=work, args=(read,)) for read in reads]
        sys.setswitchinterval(SMALL_SLICE)
        try:
            for thread in threads:
                thread.start()
            yield
        finally:
            sys.setswitchinterval(slice_before)
            ended.set()
            for thread in threads:
                thread.join()

    def found(self, **selection: object) -> Numbers:
        """A list, in the order in which the objects are written."""
        listed = self.lister.list(**selection)  # type: ignore[arg-type]
        return sorted((int(one.name[1:]), int(one.resource_version)) for one in listed.headers)

    # What every read of one moment shows

    def check_all(self) -> None:
        found = self.found()
        assert OBJECTS - 1 <= len(found) <= OBJECTS, f"{len(found)} objects: one at most is written again at a moment"
        turns = [turn for _, turn in found]
        assert turns == sorted(turns, reverse=True), f"not of one moment: {turns}"
        assert turns[0] - turns[-1] <= 1, f"not of one moment: {turns}"

    def check_namespace(self) -> None:
        turns = [turn for _, turn in self.found(namespace="n3")]
        assert turns == sorted(turns, reverse=True), f"not of one moment: {turns}"
        assert turns[0] - turns[-1] <= 1, f"not of one moment: {turns}"

    def check_labels(self) -> None:
        _check_run(self.found(labels={"parity": "1"}))
        _check_run(self.found(labels={"parity": "0"}))

    def check_index(self) -> None:
        turn = str(self.turn)
        headers = self.lister.by_index("turn", turn).headers
        assert {one.labels["turn"] for one in headers} <= {turn}, "the index does not agree with the store"
        _check_run(sorted((int(one.name[1:]), int(one.resource_version)) for one in headers))

    def check_index_and_labels(self) -> None:
        turn = str(self.turn)
        listed = self.lister.list(fields={"turn": turn}, labels={"turn": turn})
        assert {one.labels["turn"] for one in listed.headers} <= {turn}

    def check_get(self) -> None:
        found = self.lister.get("o1", namespace="n1")
        assert found.metadata.labels["turn"] == found.metadata.resource_version

    def check_items(self) -> None:
        assert OBJECTS - 1 <= len([*self.store.items()]) <= OBJECTS
        assert self.lister.find("o0", namespace="n0") is None or len(self.store) >= OBJECTS - 1


def _check_run(found: Numbers) -> None:
    """Objects of one round are neighbours in the order of writing, but for the one that is being written."""
    numbers = [number for number, _ in found]
    assert all(after - before <= 2 for before, after in itertools.pairwise(numbers)), f"not of one moment: {numbers}"
    assert len({turn for _, turn in found}) <= 1, f"not of one moment: {found}"


CHECKS = ["all", "namespace", "labels", "index", "index_and_labels", "get", "items"]


@pytest.mark.parametrize("check", CHECKS)
def test_reads_from_threads_never_fail_and_are_of_one_moment(check: str) -> None:
    scene = Scene()
    read: Callable[[], None] = getattr(scene, f"check_{check}")
    with scene.reading(read, read):
        scene.write()
    assert scene.failures == []
    assert scene.reads > 0


def test_an_index_that_is_added_while_objects_are_written_misses_none() -> None:
    scene = Scene(indexed=False)
    names = iter(range(10**6))

    def add_index() -> None:
        scene.store.add_index(f"turn-{next(names)}", turns_in)

    with scene.reading(scene.check_labels):
        threads = [threading.Thread(target=add_index) for _ in range(3)]
        for thread in threads:
            thread.start()
        scene.write()
        for thread in threads:
            thread.join()
    assert scene.failures == []
    for name in scene.store.index_names:
        assert len(scene.lister.by_index(name, str(ROUNDS))) == OBJECTS


def test_a_read_ends_however_much_is_written_meanwhile() -> None:
    scene = Scene()
    calls = 0

    def disturbed() -> int:
        nonlocal calls
        calls += 1
        data = data_of(3, calls)
        scene.store.put(data, objects.header(data))
        return calls

    assert scene.store.read(disturbed) < 30


def test_an_index_function_may_read_the_store_that_it_is_called_from() -> None:
    scene = Scene()
    seen: list[int] = []

    def neighbours(data: bytes) -> list[str]:
        seen.append(len(scene.lister.list(labels={"turn": "0"})))
        return ["x"]

    scene.store.add_index("neighbours", neighbours)
    data = data_of(3, 1)
    scene.store.put(data, objects.header(data))
    assert seen == [OBJECTS] * (OBJECTS + 1), "what was there before the change"
    assert len(scene.lister.by_index("neighbours", "x")) == OBJECTS


def test_what_a_read_raises_for_reasons_of_its_own_is_raised() -> None:
    scene = Scene()
    with pytest.raises(msgspec.ValidationError):
        scene.store.read(lambda: msgspec.convert("x", int))


async def test_threads_read_from_an_informer_that_runs() -> None:
    scene, last = Scene(), OBJECTS * ROUNDS
    numbers = [(number % OBJECTS, number) for number in range(1, last + 1)]
    changes = [WatchEvent("MODIFIED", data_of(which, turn)) for which, turn in numbers]
    made: Informer[ConfigMap] = Informer(Scripted([page(version=1)], [changes]), InformerOptions(ConfigMap))
    made.add_index("parity", lambda one: [one.metadata.labels["parity"]])

    def read() -> None:
        listed, odd = made.list(), made.by_index("parity", "1")
        assert {one.labels["parity"] for one in odd.headers} <= {"1"}
        assert len(made.list(labels={"parity": "0"})) <= OBJECTS
        newest = max((int(one.resource_version) for one in listed.headers), default=0)
        assert int(listed.resource_version or 0) <= max(newest, 1), "a list is not newer than it says"
        assert not made.undecodable

    with scene.reading(read, read):
        async with running(made):
            await made.wait_for_version(last, timeout=60)
    assert scene.failures == []
    assert scene.reads > 0
