"""Files that cannot, or must not, be opened: each is refused with a reason, and left as it was."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from pilotage.errors import StorageBroken, StorageError
from pilotage.storage import Delete, Put, open_storage
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.sqlite.file import exists
from tests.users import no_superuser

Contents = tuple[int, int, list[tuple[str, bytes, int, int]], list[tuple[str, int, bool]]]


async def test_missing_folders_are_created_for_their_owner_alone(tmp_path: Path) -> None:
    storage = await open_storage(f"sqlite:{tmp_path}/missing/deeper/test.db")
    try:
        await storage.commit(Put("a", b"1"))
    finally:
        await storage.close()
    for folder in (tmp_path / "missing", tmp_path / "missing" / "deeper"):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "missing" / "deeper" / "test.db").stat().st_mode & 0o777 == 0o600


async def test_a_folder_that_may_not_be_created_is_named_with_the_one_that_refuses(path: str) -> None:
    folder = os.path.dirname(path)
    os.chmod(folder, 0o555)
    wanted = f"the folder {folder}/missing cannot be created: Permission denied; check the owner and mode of {folder},"
    with no_superuser(path), pytest.raises(StorageError, match=re.escape(wanted)):
        await SqliteStorage.open(f"{folder}/missing/deeper/test.db")
    os.chmod(folder, 0o755)
    assert os.listdir(folder) == []


@pytest.mark.parametrize("end", ["/", "/.", "/.."])
async def test_the_path_of_a_folder_is_refused_by_reads_and_writes(tmp_path: Path, end: str) -> None:
    path = f"{tmp_path}/new{end}"
    wanted = re.escape(f"{path} is the path of a folder; give the path of a file, such as {tmp_path}/new{end}")
    with pytest.raises(StorageError, match=wanted):
        exists(path)
    with pytest.raises(StorageError, match=wanted):
        await SqliteStorage.open(path)
    assert os.listdir(tmp_path) == []


def test_a_file_exists_by_the_path_that_opens_it(tmp_path: Path) -> None:
    (tmp_path / "real.db").touch()
    (tmp_path / "link.db").symlink_to("real.db")
    (tmp_path / "dangling.db").symlink_to("missing.db")
    found = [exists(f"{tmp_path}/{name}") for name in ("real.db", "link.db", "missing/../real.db")]
    assert found == [True, True, True]
    assert [exists(f"{tmp_path}/{name}") for name in ("missing.db", "dangling.db", "missing/a.db")] == [False] * 3


def test_a_file_that_cannot_be_reached_is_an_error_with_the_cause(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "file").touch()
    with pytest.raises(
        StorageError, match=r"/one cannot be opened: Too many levels of symbolic links; check its links"
    ):
        exists(f"{tmp_path}/one")
    with pytest.raises(
        StorageError, match=r"/file/a.db cannot be opened: Not a directory; a part of its path is a file"
    ):
        exists(f"{tmp_path}/file/a.db")
    with pytest.raises(StorageError, match="cannot be opened: File name too long; check its path"):
        exists(f"{tmp_path}/{'a' * 300}.db")


def test_a_file_in_a_folder_that_may_not_be_searched_is_an_error_with_the_cause(path: str) -> None:
    closed = os.path.join(os.path.dirname(path), "closed")
    os.mkdir(closed, 0o700)
    wanted = f"{closed}/a.db cannot be opened: Permission denied; check the owner and mode of its folders"
    with no_superuser(path):
        if os.stat(closed).st_uid == os.geteuid():
            os.chmod(closed, 0)
        with pytest.raises(StorageError, match=re.escape(wanted)):
            exists(f"{closed}/a.db")


async def test_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is not a file"):
        await open_storage(f"sqlite:{tmp_path}")


async def test_no_file_is_created_in_a_read_only_folder(path: str) -> None:
    folder = os.path.dirname(path)
    os.chmod(folder, 0o555)
    with no_superuser(path), pytest.raises(StorageError, match=r"cannot be written \(Permission denied\)"):
        await SqliteStorage.open(path)
    os.chmod(folder, 0o755)
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    "contents",
    [b"hello", b"\0" * 8192, b"SQLite format 3\0", os.urandom(3000)],
    ids=["text", "zeros", "short", "noise"],
)
async def test_file_that_is_no_database_is_refused(path: str, contents: bytes) -> None:
    Path(path).write_bytes(contents)  # noqa: ASYNC240
    with pytest.raises(StorageBroken, match=r"(is damaged|is not a storage of Pilotage): it (begins with|ends after)"):
        await SqliteStorage.open(path)
    assert Path(path).read_bytes() == contents  # noqa: ASYNC240


async def test_database_of_another_program_is_refused(path: str) -> None:
    other = apsw.Connection(path)
    other.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    other.close()
    before = Path(path).read_bytes()  # noqa: ASYNC240
    with pytest.raises(StorageBroken, match="database of another program"):
        await SqliteStorage.open(path)
    assert Path(path).read_bytes() == before  # noqa: ASYNC240


async def test_newer_format_is_refused_with_the_version_it_needs(path: str) -> None:
    await _made(path)
    newer = apsw.Connection(path)
    newer.execute("PRAGMA user_version = 7; UPDATE meta SET value = '2.5' WHERE name = 'needs'")
    newer.close()
    before = _files(path)
    with pytest.raises(StorageBroken, match=r"has format 7, .* up to 1\..* use Pilotage 2\.5 or newer"):
        await SqliteStorage.open(path)
    assert _files(path) == before


async def test_older_copy_of_the_file_is_noticed(path: str) -> None:
    await _made(path)
    shutil.copy(path, path + ".old")
    storage = await SqliteStorage.open(path)
    await storage.commit(Put("later", b""))
    await storage.close()
    shutil.copy(path + ".old", path)
    with pytest.raises(StorageBroken, match=r"it is an older copy \(then remove .*-lock to accept it\)"):
        await SqliteStorage.open(path)
    os.unlink(path + "-lock")
    await (await SqliteStorage.open(path)).close()


async def test_truncation_to_nothing_is_noticed_and_removal_starts_again_with_later_revisions(path: str) -> None:
    revision = (await _made(path))[0]
    os.truncate(path, 0)
    with pytest.raises(StorageBroken, match=f"it is empty, but commits up to revision {revision} were made"):
        await SqliteStorage.open(path)
    os.unlink(path)
    storage = await SqliteStorage.open(path)
    assert (storage.revision, (await storage.list("")).entries) == (revision, [])
    await storage.close()


async def test_missing_file_with_commits_in_its_wal_is_refused(path: str) -> None:
    await _made(path)
    Path(path + "-wal").write_bytes(b"commits")  # noqa: ASYNC240
    os.unlink(path)
    with pytest.raises(StorageBroken, match=r"is missing, but .*-wal holds commits"):
        await SqliteStorage.open(path)


@pytest.mark.parametrize("what", ["row", "key", "gap", "oldest", "created"])
async def test_rows_that_do_not_fit_are_refused(path: str, what: str) -> None:
    revision = (await _made(path))[0]
    changes = {
        "row": "UPDATE log SET value = CAST(value || 'x' AS BLOB) WHERE id = (SELECT min(id) FROM log)",
        "key": "UPDATE log SET key = key || 'x' WHERE id = (SELECT max(id) FROM log)",
        "gap": f"DELETE FROM log WHERE id / 1024 = {revision - 1}",
        "oldest": "UPDATE meta SET value = '3' WHERE name = 'oldest'",
        "created": "UPDATE log SET created = created + 1 WHERE id = (SELECT max(id) FROM log)",
    }
    database = apsw.Connection(path)
    database.execute(changes[what])
    database.close()
    before = _files(path)
    with pytest.raises(StorageBroken, match=r"test\.db is damaged") as caught:
        await SqliteStorage.open(path)
    assert "Restore it from a backup" in str(caught.value)
    assert _files(path) == before


def test_flipped_bits_are_found_or_harmless(path: str) -> None:
    expected = asyncio.run(_made(path))
    whole = Path(path).read_bytes()
    chooser = random.Random(7)
    refused = 0
    for offset in [*range(0, 100, 3), *(chooser.randrange(len(whole)) for _ in range(150))]:
        damaged = bytearray(whole)
        damaged[offset] ^= 1 << chooser.randrange(8)
        _replace(path, bytes(damaged))
        contents = _contents_or_refusal(path)
        if isinstance(contents, str):
            assert path in contents
            assert Path(path).read_bytes() == bytes(damaged)
            refused += 1
        else:
            assert contents == expected, offset
    assert refused > 100


def test_truncated_files_are_found(path: str) -> None:
    asyncio.run(_made(path))
    whole = Path(path).read_bytes()
    for length in range(1, len(whole), 4096 + 512):
        _replace(path, whole[:length])
        with pytest.raises(StorageBroken):
            asyncio.run(_contents(path))
        assert Path(path).read_bytes() == whole[:length]


def test_damaged_wal_loses_nothing_silently(path: str) -> None:
    """The process was killed, and its WAL has rotted since: what was acknowledged is there, or the file is refused."""
    folder = Path(path).parent
    expected = asyncio.run(_made_and_copied(path, folder / "killed"))
    wal = (folder / "killed" / "test.db-wal").read_bytes()
    chooser = random.Random(5)
    for offset in [0, 4, 30, *(chooser.randrange(len(wal)) for _ in range(60))]:
        copy = folder / "copy"
        shutil.copytree(folder / "killed", copy)
        damaged = bytearray(wal)
        damaged[offset] ^= 1 << chooser.randrange(8)
        (copy / "test.db-wal").write_bytes(bytes(damaged))
        contents = _contents_or_refusal(str(copy / "test.db"))
        assert contents == expected or "test.db is damaged: it ends at revision" in contents
        shutil.rmtree(copy)


async def _made(path: str) -> Contents:
    """A file with everything in it: current and superseded rows, deletions, small and large values, a compaction."""
    storage = await SqliteStorage.open(path)
    await _fill(storage)
    await storage.close()
    return await _contents(path)


async def _made_and_copied(path: str, copy: Path) -> Contents:
    storage = await SqliteStorage.open(path)
    await _fill(storage)
    shutil.copytree(os.path.dirname(path), copy, ignore=lambda *_: ["killed", "test.db-shm"])
    await storage.close()
    return await _contents(path)


async def _fill(storage: SqliteStorage) -> None:
    for number in range(40):
        await storage.commit(Put(f"k{number}", str(number).encode() * 700), Put("count", str(number).encode()))
    await storage.commit(Put("large", bytes(range(256)) * 100))
    await storage.commit(Delete("k3"))
    await storage.compact(storage.revision - 10)
    await storage.commit(Put("é", b""))


async def _contents(path: str) -> Contents:
    storage = await SqliteStorage.open(path)
    try:
        entries = (await storage.list("")).entries
        watch = storage.watch("", since=storage.oldest)
        async with asyncio.timeout(60):
            batch = await anext(watch)
        return (
            storage.revision,
            storage.oldest,
            [(entry.key, entry.value, entry.revision, entry.created) for entry in entries],
            [(event.key, event.revision, event.entry is None) for event in batch],
        )
    finally:
        await storage.close()


def _contents_or_refusal(path: str) -> Contents | str:
    try:
        return asyncio.run(_contents(path))
    except StorageBroken as error:
        return str(error)


def _files(path: str) -> dict[str, bytes]:
    """What the files hold; SQLite may leave its index of the WAL, and an empty WAL."""
    files = {file.name: file.read_bytes() for file in Path(path).parent.iterdir() if not file.name.endswith("-shm")}
    return {name: contents for name, contents in files.items() if contents}


def _replace(path: str, contents: bytes) -> None:
    for suffix in ("-wal", "-shm"):
        Path(path + suffix).unlink(missing_ok=True)
    Path(path).write_bytes(contents)


def _text(path: Path) -> None:
    path.write_text("root:x:0:0:root:/root:/bin/bash\n")


def _another_database(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "wal")
        connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")


def _fifo(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (_text, "is not a storage of Pilotage: it begins with b'root:x:0:0:root:'"),
        (_another_database, "is a SQLite database of another program"),
        (Path.mkdir, "is not a file"),
        (_fifo, "is not a file"),
    ],
)
async def test_what_is_not_a_storage_is_left_untouched_and_so_is_its_folder(
    tmp_path: Path, make: Callable[[Path], None], complaint: str
) -> None:
    path = tmp_path / "foreign"
    make(path)
    before = _state(tmp_path)
    with pytest.raises(StorageError, match=complaint):
        await SqliteStorage.open(str(path))
    assert _state(tmp_path) == before


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    return {each.name: (each.stat().st_mtime_ns, each.stat().st_size) for each in folder.iterdir()}


async def test_a_device_is_not_a_storage() -> None:
    with pytest.raises(StorageError, match="/dev/null is not a file"):
        await SqliteStorage.open("/dev/null")


async def test_a_file_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    path = f"/proc/{tmp_path.name}.db"
    with pytest.raises(StorageError, match=rf"^{path} cannot be opened: {path}-lock: No such file or directory$"):
        await SqliteStorage.open(path)
