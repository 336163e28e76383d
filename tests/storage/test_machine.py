"""Any order of calls gives the results of the model, on every storage, and across restarts."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from pilotage.errors import Compacted, FutureRevision, RevisionConflict
from pilotage.storage import Check, Delete, Event, Operation, Put, Storage, Watch, open_storage

from .model import Model

T = TypeVar("T")

KEYS = ["a", "a/1", "a/2", "a0", "b", "é", "\ue000", "😀"]
PREFIXES = ["", "a", "a/", "b", "x", "é"]
keys = st.sampled_from(KEYS)
values = st.sampled_from([b"", b"1", b"two", b"x" * 3000])


class StorageMachine(RuleBasedStateMachine):
    """Calls in any order on one storage; `url` is filled in by its kinds below."""

    url = "memory:"

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp(prefix="machine"))
        self.watches: list[tuple[Watch, str, int]] = []

    @initialize()
    def open(self) -> None:
        self.storage: Storage = self.run(open_storage(self.url.format(folder=self.folder)))
        self.run(self.storage.compact(self.storage.revision))  # an etcd has the history of other tests
        self.model = Model(self.storage.revision)

    @rule(data=st.data(), count=st.integers(1, 3))
    def commit(self, data: st.DataObject, count: int) -> None:
        chosen = data.draw(st.lists(keys, min_size=count, max_size=count, unique=True))
        operations = [data.draw(self.operations(key)) for key in chosen]
        if self.model.commit(operations):
            assert self.run(self.storage.commit(*operations)) == self.model.revision
        else:
            self.refused(RevisionConflict, self.storage.commit(*operations))

    @rule(key=keys, value=values)
    def put(self, key: str, value: bytes) -> None:
        assert self.model.commit([Put(key, value)])
        assert self.run(self.storage.commit(Put(key, value))) == self.model.revision

    @rule(key=keys)
    def get(self, key: str) -> None:
        assert self.run(self.storage.get(key)) == self.model.states[self.model.revision].get(key)

    @rule(back=st.integers(-1, 6), prefix=st.sampled_from(PREFIXES), start=st.just("") | keys, limit=st.integers(0, 3))
    def list(self, back: int, prefix: str, start: str, limit: int) -> None:
        revision = max(1, self.model.revision - back)
        listing = self.storage.list(prefix, start=start, limit=limit, revision=revision)
        if revision > self.model.revision:
            self.refused(FutureRevision, listing)
        elif revision < self.model.oldest:
            self.refused(Compacted, listing)
        else:
            snapshot = self.run(listing)
            expected, remaining = self.model.page(revision, prefix, start, limit)
            assert (snapshot.revision, snapshot.entries, snapshot.remaining) == (revision, expected, remaining)

    @rule(back=st.integers(0, 4))
    def compact(self, back: int) -> None:
        revision = max(1, self.model.revision - back)
        self.run(self.storage.compact(revision))
        self.model.compact(revision)

    @rule(back=st.integers(0, 4), prefix=st.sampled_from(PREFIXES))
    def watch(self, back: int, prefix: str) -> None:
        since = max(1, self.model.revision - back)
        self.watches.append((self.storage.watch(prefix, since=since), prefix, since))

    @precondition(lambda self: self.watches)
    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        """Check that a watch gives the events of the model; the next check continues from there."""
        at = data.draw(st.integers(0, len(self.watches) - 1))
        watch, prefix, since = self.watches[at]
        if since < self.model.oldest:
            self.refused(Compacted, _pull(watch, 1))
            del self.watches[at]
            return
        expected = self.model.events(since, prefix)
        assert self.run(_pull(watch, len(expected))) == expected
        self.watches[at] = (watch, prefix, watch.position)

    @precondition(lambda self: self.url != "memory:")
    @rule()
    def restart(self) -> None:
        self.run(self.storage.close())
        self.closed()
        self.storage = self.run(open_storage(self.url.format(folder=self.folder)))
        self.watches.clear()
        assert (self.storage.revision, self.storage.oldest) == (self.model.revision, self.model.oldest)

    def closed(self) -> None:
        """The storage has been closed."""

    def teardown(self) -> None:
        self.run(self.storage.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def operations(self, key: str) -> st.SearchStrategy[Operation]:
        entry = self.model.states[self.model.revision].get(key)
        right = entry.revision if entry else 0
        expected = st.sampled_from([None, right, right, 0, self.model.revision])
        return st.one_of(
            st.builds(Put, st.just(key), values, expected),
            st.builds(Delete, st.just(key), expected),
            st.builds(Check, st.just(key), st.sampled_from([right, right, 0])),
        )

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(coroutine)

    def refused(self, error: type[Exception], coroutine: Coroutine[Any, Any, object]) -> None:
        try:
            self.run(coroutine)
        except error:
            return
        raise AssertionError(f"{error.__name__} was not raised")


async def _pull(watch: Watch, count: int) -> Sequence[Event]:
    events: list[Event] = []
    async with asyncio.timeout(60):
        while len(events) < count:
            events += await anext(watch)
    return events


class SqliteMachine(StorageMachine):
    url = "sqlite:{folder}/test.db"


bounded = settings(
    max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
TestMemory = StorageMachine.TestCase
TestMemory.settings = bounded
TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = bounded
