from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import pilotage as pt
import pilotage.storage
from pilotage.errors import StorageError
from pilotage.storage import Put, open_served_storage, open_storage, url_without_password
from pilotage.storage.memory import MemoryStorage
from pilotage.storage.sqlite import DirectSqliteStorage, SqliteStorage
from pilotage.types.core.v1 import Namespace


async def test_memory_storages_are_each_their_own() -> None:
    one, two = await open_storage("memory:"), await open_storage("memory:")
    await one.commit(Put("a", b""))
    assert await two.get("a") is None


async def test_memory_begins_at_the_given_revision() -> None:
    storage = MemoryStorage(first_revision=1_700_000_000_000_000)
    assert await storage.commit(Put("a", b"")) == 1_700_000_000_000_001
    with pytest.raises(StorageError, match="must be 1 or more, not 0"):
        MemoryStorage(first_revision=0)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "names no storage; use memory:, sqlite:PATH such as"),
        ("demo.db", "names no storage"),
        ("postgres://host/db", "names no storage"),
        ("memory:x", "memory: takes no name"),
        ("sqlite:", "names no file; write sqlite:PATH"),
        ("sqlite::memory:", "use memory:"),
        ("etcd:127.0.0.1:2379", "write etcd://HOST:PORT"),
    ],
)
async def test_url_that_names_no_storage_is_explained(url: str, complaint: str) -> None:
    with pytest.raises(StorageError, match=complaint):
        await open_storage(url)


def test_importing_the_package_loads_no_backend() -> None:
    program = "import sys, pilotage.storage; print('apsw' in sys.modules, 'asyncio' in sys.modules)"
    sources = Path(next(iter(pilotage.storage.__path__))).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, env={"PYTHONPATH": str(sources)}
    )
    assert done.stdout == b"False False\n"


async def test_memory_for_a_server_counts_from_the_time_in_microseconds() -> None:
    before = time.time_ns() // 1000
    storage = await open_served_storage("memory:")
    assert before <= storage.revision <= time.time_ns() // 1000


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("memory:", "memory:"),
        ("sqlite:/home/me@here/a:b.db", "sqlite:/home/me@here/a:b.db"),
        ("etcd://127.0.0.1:2379", "etcd://127.0.0.1:2379"),
        ("etcd://root:secret@a:2379,b:2379/prefix?ca=ca.crt", "etcd://root@a:2379,b:2379/prefix?ca=ca.crt"),
        ("etcd://root:se@cret@a:2379", "etcd://root@a:2379"),
        ("etcd://me@here:secret@a:2379", "etcd://me@here@a:2379"),
        ("etcd://me@a:2379,b:2379", "etcd://me@a:2379,b:2379"),
        ("etcd://me:se/cr?e@t@a:2379", "etcd://me@a:2379"),
        ("postgres://me:secret@db:1/x", "postgres://me@db:1/x"),
        ("etcd+tls://me:secret@h:1", "etcd+tls://me@h:1"),
        (" ETCD://me:secret@h:1", " ETCD://me@h:1"),
        ("etcd:/me:secret@h:1", "etcd:/me@h:1"),
        ("etcd:me:secret@h:1", "etcd@h:1"),
        ("me:secret@h:1", "me@h:1"),
        ("memory:me:secret@h", "memory@h"),
        ("etcd://h/?ca=c&password=secret&key=k", "etcd://h/?ca=c&password=<redacted>&key=k"),
    ],
)
def test_a_url_is_printed_without_its_password(url: str, shown: str) -> None:
    assert url_without_password(url) == shown


@pytest.mark.parametrize("url", ["postgres://me:s3cret@h", "me:s3cret@h", "memory:me:s3cret@h", "etcd:me:s3cret@h"])
async def test_the_error_for_a_url_of_no_storage_has_no_password(url: str) -> None:
    with pytest.raises(StorageError) as caught:
        await open_storage(url)
    assert "s3cret" not in str(caught.value)


async def test_a_sqlite_storage_is_made_from_its_path_alone(tmp_path: Path) -> None:
    storage = SqliteStorage(f"{tmp_path}/a.db")
    assert await storage.commit(Put("a", b"1"))
    async with pt.Cluster.embedded(storage) as cluster:
        assert await cluster.client.list(Namespace)
    await storage.close()
    again = await SqliteStorage.open(tmp_path / "a.db")
    assert await again.get("a") is not None
    await again.close()
    await SqliteStorage(tmp_path / "a.db").close()
    DirectSqliteStorage(tmp_path / "a.db").close_now()


def test_a_sqlite_storage_outside_of_an_event_loop_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r'pass the URL "sqlite:.*a\.db" to Cluster\.embedded'):
        SqliteStorage(f"{tmp_path}/a.db")
    assert not list(tmp_path.iterdir())
