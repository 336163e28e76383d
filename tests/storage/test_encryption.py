from __future__ import annotations

import contextlib
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilotage.errors import StorageBroken, StorageError
from pilotage.storage import Put, Storage
from pilotage.storage.encryption import Cipher, EncryptedStorage, load_keys
from pilotage.storage.memory import MemoryStorage
from pilotage.storage.transaction import MAX_VALUE_BYTES
from pilotage.testing.storage import CHECKS, ConformanceCheck

ONE, TWO = {"one": b"1" * 32}, {"two": b"2" * 32}


def _all(key: str) -> bool:
    return True


def _storage(inner: Storage, keys: dict[str, bytes]) -> EncryptedStorage:
    return EncryptedStorage(inner, Cipher(keys), _all)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_an_encrypted_storage_conforms(check: ConformanceCheck) -> None:
    @contextlib.asynccontextmanager
    async def fresh() -> AsyncIterator[Storage]:
        # An encrypted value is some bytes longer than the clear one.
        storage = _storage(MemoryStorage(max_value_bytes=MAX_VALUE_BYTES + 50), ONE)
        yield storage
        await storage.close()

    await check(fresh)


async def test_the_stored_bytes_do_not_show_the_value() -> None:
    inner = MemoryStorage()
    await _storage(inner, ONE).commit(Put("/a", b"hunter2"))
    stored = await inner.get("/a")
    assert stored is not None
    assert b"hunter2" not in stored.value
    assert stored.value.startswith(b"pilotage:aesgcm:v1:one:")


async def test_a_value_belongs_to_its_key() -> None:
    inner = MemoryStorage()
    await _storage(inner, ONE).commit(Put("/a", b"hunter2"))
    stored = await inner.get("/a")
    assert stored is not None
    await inner.commit(Put("/b", stored.value))
    with pytest.raises(StorageBroken, match=r"/b cannot be decrypted .* the value was changed"):
        await _storage(inner, ONE).get("/b")


async def test_without_the_key_the_error_names_it() -> None:
    inner = MemoryStorage()
    await _storage(inner, ONE).commit(Put("/a", b"hunter2"))
    with pytest.raises(StorageBroken, match="encrypted with the key 'one', which is not given"):
        await _storage(inner, TWO).get("/a")


async def test_after_a_rotation_the_old_key_is_not_needed() -> None:
    inner = MemoryStorage()
    await inner.commit(Put("/clear", b"0"))
    await _storage(inner, ONE).commit(Put("/a", b"1"), Put("/b", b"2"))
    assert await _storage(inner, TWO | ONE).rotate() == 3
    assert await _storage(inner, TWO | ONE).rotate() == 0
    entries = (await _storage(inner, TWO).list("")).entries
    assert [entry.value for entry in entries] == [b"1", b"2", b"0"]


async def test_a_rotation_leaves_no_history_that_needs_the_old_key() -> None:
    inner = MemoryStorage()
    await _storage(inner, ONE).commit(Put("/a", b"1"))
    await _storage(inner, TWO | ONE).rotate()
    assert inner.oldest == inner.revision


async def test_a_rotation_that_was_interrupted_before_it_removed_the_history_is_completed_by_the_next() -> None:
    inner = MemoryStorage()
    for number in range(5):
        await _storage(inner, ONE).commit(Put("/a", b"%d" % number))
    new = _storage(inner, TWO | ONE)
    await new._rotate((await inner.list("")).entries[0])
    assert await new.rotate() == 0
    assert inner.oldest == inner.revision


async def test_a_value_that_is_written_with_the_old_key_during_a_rotation_is_rotated_too() -> None:
    inner = MemoryStorage()
    old, new = _storage(inner, ONE), _storage(inner, TWO | ONE)
    await old.commit(Put("/a", b"1"))
    stale = await inner.get("/a")
    assert stale is not None
    await old.commit(Put("/a", b"2"))
    assert await new._rotate(stale)
    (entry,) = (await _storage(inner, TWO).list("")).entries
    assert entry.value == b"2"


async def test_a_storage_without_the_key_does_not_get_what_another_one_has_decrypted() -> None:
    inner = MemoryStorage()
    await _storage(inner, ONE).commit(Put("/a", b"1"))
    await _storage(inner, ONE).get("/a")
    with pytest.raises(StorageBroken, match="which is not given"):
        await _storage(inner, TWO).get("/a")


async def test_readers_share_what_was_decoded() -> None:
    storage = _storage(MemoryStorage(), ONE)
    await storage.commit(Put("/a", b"1"))
    first = await storage.get("/a")
    assert first is not None
    first.memo = "decoded"
    again = await storage.get("/a")
    assert again is first


def _line(name: str) -> str:
    return f"{name}:{b64encode(name[:1].encode() * 32).decode()}\n"


def test_keys_come_from_a_file_or_a_command(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# the newest first\n\n" + _line("two") + _line("one"))
    assert list(load_keys(str(file))) == ["two", "one"]
    assert load_keys(f"exec:cat {file}") == load_keys(str(file))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "has no key; create one with: echo key1:"),
        ("one", "line 1: write NAME:KEY"),
        ("one:abc", "line 1: write NAME:KEY"),
        (f"one:{b64encode(b'short').decode()}", "line 1: write NAME:KEY"),
        ("one:ä", "line 1: write NAME:KEY"),
        (_line("a") + _line("a"), "line 2: .* each name once"),
    ],
)
def test_wrong_keys_are_explained(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(text)
    with pytest.raises(StorageError, match=complaint):
        load_keys(str(tmp_path / "keys"))


def test_a_source_of_keys_that_fails_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot be read from /missing: .*No such file"):
        load_keys("/missing")
    with pytest.raises(StorageError, match="cannot be read from exec:: the command is missing"):
        load_keys("exec:")
    with pytest.raises(StorageError, match=r"failed with exit code 2: .*No such file"):
        load_keys("exec:ls /missing")
