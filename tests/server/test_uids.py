from __future__ import annotations

import os
import random
import uuid

import pytest

from pilotage.server.uids import SystemChance, random_uid


def test_uids_are_random_uuids() -> None:
    chance = SystemChance()
    found = [random_uid(chance) for _ in range(1000)]
    assert len(set(found)) == 1000
    assert {uuid.UUID(uid).version for uid in found} == {4}
    assert {uuid.UUID(uid).variant for uid in found} == {uuid.RFC_4122}


def test_a_seed_gives_the_same_uids() -> None:
    assert random_uid(random.Random(1)) == random_uid(random.Random(1))


def test_other_numbers_of_bytes_are_given_too() -> None:
    assert [len(SystemChance().randbytes(size)) for size in (0, 1, 16, 100)] == [0, 1, 16, 100]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_its_own_uids() -> None:
    chance = SystemChance()
    random_uid(chance)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, random_uid(chance).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        theirs = stream.read()
    os.waitpid(child, 0)
    assert len(theirs) == 36
    assert theirs != random_uid(chance)
