"""A tenant that does not exist yet: what every tenant has is stored together with its first object, so that a command
that fails creates neither the tenant nor the file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress

from msgspec.structs import replace

from pilotage.cluster import Cluster
from pilotage.errors import RevisionConflict, StorageError
from pilotage.kit.routes.embedded import ensure_namespace
from pilotage.kit.routes.tenancy import is_missing_file, opened
from pilotage.server.tenants import prefix_of
from pilotage.storage.bases import StorageWrapper
from pilotage.storage.interface import Check, Entry, Event, Operation, Put, Snapshot, Storage, Watch
from pilotage.storage.keys import MAX_COMMIT_OPERATIONS
from pilotage.storage.memory import MemoryStorage

_ETCD_OPERATIONS = 100  # an etcd allows 128 in a commit, unless it is configured otherwise

Open = Callable[[], Awaitable[Storage]]
Install = Callable[[Cluster], Awaitable[None]]


@asynccontextmanager
async def new_tenant(
    url: str, tenant: str, install: Install | None = None, namespace: str = "default"
) -> AsyncIterator[NewTenantStorage]:
    """The storage of a URL as if the tenant existed, with its namespaces, the tool's namespace among them, and the
    definitions that `install` writes."""
    async with AsyncExitStack() as exits:
        existing: Storage | None = None

        async def real() -> Storage:
            return await exits.enter_async_context(opened(url)) if existing is None else existing

        contents = await _contents(tenant, install, namespace)
        if not is_missing_file(url):
            existing = await real()
        memory = MemoryStorage() if existing is None else MemoryStorage(first_revision=existing.revision)
        most = _ETCD_OPERATIONS if url.startswith("etcd:") else MAX_COMMIT_OPERATIONS
        yield NewTenantStorage(memory, contents, real, most)


async def _contents(tenant: str, install: Install | None, namespace: str) -> Sequence[Entry]:
    """What a tenant has before its first object."""
    memory = MemoryStorage()
    async with Cluster.embedded(memory, tenant=tenant) as cluster:
        if install is not None:
            await install(cluster)
        if namespace != "default":
            await ensure_namespace(cluster.client, namespace)
    found = (await memory.list(prefix_of(tenant))).entries
    await memory.close()
    return found


class NewTenantStorage(StorageWrapper):
    """A storage in memory until the first commit in a block of `writing`, which is made in the storage that `open_real`
    returns, together with all that was in memory: in the same commit, or right before it.

    `contents` is in memory at the beginning. A commit has at most `most` operations.
    """

    def __init__(
        self, memory: MemoryStorage, contents: Iterable[Entry], open_real: Open, most: int = MAX_COMMIT_OPERATIONS
    ) -> None:
        super().__init__(memory)
        self._begin = begin = memory.revision
        self._contents = {each.key: Entry(each.key, each.value, begin, begin) for each in contents}
        """What is in no commit of the storage in memory, so that its revision is the revision of the real one."""
        self._open_real = open_real
        self._most = most
        self._is_writing = False
        self._lock = asyncio.Lock()
        self.is_stored = False
        """Whether the tenant exists by now."""
        self.moved_at = 0
        """A revision of the real storage before the tenant was created, here or by another program."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Commits in the block belong to the command. What others write before and after it, as the registrations of
        webhooks, creates no tenant."""
        self._is_writing = True
        try:
            yield
        finally:
            self._is_writing = False

    @property
    def current(self) -> Storage:
        """The storage in memory, later the real one."""
        return self._inner

    async def get(self, key: str) -> Entry | None:
        contents = self._contents
        return await self._inner.get(key) or contents.get(key)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        contents = self._contents
        found = await self._inner.list(prefix, start=start, limit=limit, revision=revision)
        stored = {entry.key for entry in found.entries}
        added = [
            entry for key, entry in contents.items() if key.startswith(prefix) and key >= start and key not in stored
        ]
        if not added:
            return found
        entries = sorted((*found.entries, *added), key=lambda entry: entry.key)
        more = max(0, len(entries) - limit) if limit else 0
        return Snapshot(found.revision, entries[:limit] if limit else entries, found.remaining + more)

    async def commit(self, *operations: Operation) -> int:
        if self.is_stored:
            return await self._inner.commit(*operations)
        async with self._lock:
            if self.is_stored:  # by a commit that was waited for
                return await self._inner.commit(*operations)
            if self._is_writing and not all(isinstance(each, Check) for each in operations):
                return await self._commit_first(operations)
            left = _without(self._contents, operations)
            revision = await self._inner.commit(*left) if left else self.revision
            written = {each.key for each in operations if not isinstance(each, Check)}
            self._contents = {key: each for key, each in self._contents.items() if key not in written}
            return revision

    def watch(self, prefix: str, *, since: int) -> Watch:
        return self._inner.watch(prefix, since=since) if self.is_stored else _Watch(self, prefix, since)

    async def _commit_first(self, operations: Sequence[Operation]) -> int:
        memory = self._inner
        shown = self._contents | {entry.key: entry for entry in (await memory.list("")).entries}
        _without(shown, operations)  # a condition that does not hold opens no file
        real = await self._open_real()
        since = min(self._begin, real.revision)  # another program may have created the tenant since the beginning
        try:
            revision = await self._store(real, shown, operations, memory.revision - self._begin)
        except RevisionConflict:
            if len(await _missing(shown, real)) == len(shown):
                raise
            while missing := await _missing(shown, real):
                with suppress(RevisionConflict):  # another program creates the tenant at the same time
                    await self._store(real, missing, (), 0)
            await self._move(real, since)
            return await real.commit(*operations)
        await self._move(real, since)
        return revision

    async def _move(self, real: Storage, since: int) -> None:
        """From memory to the real storage. Watches continue there after the revision `since`."""
        memory, self._inner, self._contents, self.moved_at, self.is_stored = self._inner, real, {}, since, True
        await memory.close()

    async def _store(
        self, real: Storage, shown: dict[str, Entry], operations: Sequence[Operation], commits: int
    ) -> int:
        """Store what is shown, in at least so many commits before the commit of the operations: revisions never
        decrease."""
        left = _without(shown, operations)
        written = {each.key for each in operations if not isinstance(each, Check)}
        puts = [Put(key, each.value, expected=0) for key, each in shown.items() if key not in written]
        while puts and (commits > 0 or len(puts) + len(left) > self._most):
            size = min(self._most, len(puts) // max(commits, 1) or 1)
            await real.commit(*puts[:size])
            del puts[:size]
            commits -= 1
        return await real.commit(*puts, *left) if puts or left else real.revision


async def _missing(shown: dict[str, Entry], real: Storage) -> dict[str, Entry]:
    return {key: each for key, each in shown.items() if await real.get(key) is None}


def _without(shown: dict[str, Entry], operations: Sequence[Operation]) -> list[Operation]:
    """The operations for a storage that does not have the entries that are shown, and in which they are stored at the
    same time. Raises RevisionConflict."""
    found: list[Operation] = []
    for each in operations:
        entry = shown.get(each.key)
        if entry is None:
            found.append(each)
        elif each.expected not in (None, entry.revision):
            raise RevisionConflict(each.key, entry.revision)
        elif isinstance(each, Put):
            found.append(replace(each, expected=0))
        # To delete it is not to store it; what is checked is stored.
    return found


class _Watch:
    """A watch that begins in memory, and continues on the real storage."""

    def __init__(self, storage: NewTenantStorage, prefix: str, since: int) -> None:
        self._storage = storage
        self._prefix = prefix
        self._watched = storage.current
        self._watch = self._watched.watch(prefix, since=since)

    def __aiter__(self) -> AsyncIterator[Sequence[Event]]:
        return self

    async def __anext__(self) -> Sequence[Event]:
        try:
            return await anext(self._watch)
        except StorageError:
            if self._watched is self._storage.current:
                raise
        self._watched = self._storage.current
        self._watch = self._watched.watch(self._prefix, since=self._storage.moved_at)
        return await anext(self._watch)

    @property
    def position(self) -> int:
        return self._watch.position
