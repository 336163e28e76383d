"""What is left of a damaged file: everything that is not damaged, with the names of what is."""

from __future__ import annotations

import os
import random
from pathlib import Path

import apsw
import pytest

from pilotage.cluster.light import run_now
from pilotage.errors import StorageBroken
from pilotage.storage import Delete, Put
from pilotage.storage.sqlite.direct import DirectSqliteStorage
from pilotage.storage.sqlite.salvage import Salvaged, salvage

KEYS = [f"k{number:03}" for number in range(200)]


@pytest.fixture
def stored(path: str) -> str:
    storage = DirectSqliteStorage(path)
    for key in KEYS:
        run_now(storage.commit(Put(key, key.encode() * 500)))
    run_now(storage.commit(Put("k000", b"new"), Delete("k001")))
    storage.close_now()
    return path


def execute(path: str, statement: str) -> None:
    database = apsw.Connection(path)
    database.execute(statement)
    database.close()


def keys(found: Salvaged) -> set[str]:
    return {entry.key for entry in found.entries}


def test_a_file_without_damage_is_read_completely(stored: str) -> None:
    found = salvage(stored)
    assert keys(found) == set(KEYS) - {"k001"}
    assert found.entries[0].value == b"new"
    assert (found.revision, found.damage, found.lost) == (202, [], [])


def test_every_damaged_row_is_named_and_the_others_are_read(stored: str) -> None:
    execute(stored, "UPDATE log SET value = CAST(value || 'x' AS BLOB) WHERE key IN ('k007', 'k150')")
    before = Path(stored).read_bytes()
    found = salvage(stored)
    assert found.damage == [
        "k007: the row of revision 9 for 'k007' has the wrong checksum",
        "k150: the row of revision 152 for 'k150' has the wrong checksum",
    ]
    assert found.lost == ["k007", "k150"]
    assert keys(found) == set(KEYS) - {"k001", "k007", "k150"}
    assert Path(stored).read_bytes() == before
    assert {name for name in os.listdir(os.path.dirname(stored)) if not name.endswith("-lock")} == {"test.db"}


def test_an_older_value_does_not_replace_a_damaged_newer_one(stored: str) -> None:
    execute(stored, "UPDATE log SET created = 7 WHERE id >= 202 * 1024")
    found = salvage(stored)
    assert found.lost == ["k000", "k001"]
    assert keys(found) == set(KEYS[2:])


def test_a_damaged_older_row_does_not_hide_a_newer_one(stored: str) -> None:
    execute(stored, "UPDATE log SET value = x'00' WHERE key = 'k000' AND id < 10240")
    found = salvage(stored)
    assert (len(found.damage), found.lost, found.entries[0].value) == (1, [], b"new")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("DELETE FROM log WHERE key = 'k050'", "rows are missing between revision 51 and row 0 of revision 53"),
        ("DELETE FROM log WHERE key = 'k001' AND value IS NULL", ""),
        ("UPDATE meta SET value = 'x' WHERE name = 'oldest'", "the row with the start of the log is missing or wrong"),
        ("DELETE FROM log WHERE id >= 201 * 1024", "it ends at revision 200, but revision 202 was committed"),
    ],
)
def test_missing_rows_are_reported(stored: str, change: str, complaint: str) -> None:
    execute(stored, change)
    found = salvage(stored)
    assert len(found.entries) >= 197
    assert found.damage[:1] == [] if not complaint else found.damage[0].startswith(complaint)


def test_rows_on_damaged_pages_are_missing_and_all_others_are_read(stored: str) -> None:
    whole = bytearray(Path(stored).read_bytes())
    pages = len(whole) // 8192
    for page in random.Random(3).sample(range(4, pages), 5):
        whole[page * 8192 : (page + 1) * 8192] = os.urandom(8192)
    Path(stored).write_bytes(whole)
    found = salvage(stored)
    assert any("cannot be read" in line for line in found.damage)
    assert len(found.entries) >= 150
    assert Path(stored).read_bytes() == whole


def test_the_beginning_of_a_truncated_file_is_read(stored: str) -> None:
    os.truncate(stored, os.stat(stored).st_size // 2)
    found = salvage(stored)
    assert len(found.entries) > 50
    assert found.damage


def test_a_file_whose_beginning_is_lost_cannot_be_read(stored: str) -> None:
    whole = Path(stored).read_bytes()
    Path(stored).write_bytes(bytes(8192) + whole[8192:])
    with pytest.raises(StorageBroken, match="it begins with"):
        salvage(stored)
