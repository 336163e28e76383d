"""No room on the disk: creates are refused, deletes and everything else goes on, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import pilotage.storage

SOURCES = Path(next(iter(pilotage.storage.__path__))).parents[1]
FULLER = Path(__file__).with_name("fuller.py")

PROGRAM = textwrap.dedent("""
    import asyncio, resource, sys
    from pilotage.errors import StorageFull
    from pilotage.storage import Delete, Put, open_storage

    path, kind = sys.argv[1:]
    filler = path + ".filler"
    value = bytes(50_000)

    def fill():
        if kind == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
            return
        with open(filler, "ab", buffering=0) as file:
            try:
                while file.write(bytes(4096)) == 4096:
                    pass
            except OSError:
                pass

    def make_room():
        if kind == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        else:
            import os
            os.unlink(filler)

    async def main():
        storage = await open_storage("sqlite:" + path)
        watch = storage.watch("", since=storage.revision)
        await storage.commit(Put("before", b"1"))
        fill()
        done = {}
        for number in range(200):
            commits = [storage.commit(Put(f"k{number}/{part}", value)) for part in range(3)]
            outcomes = await asyncio.gather(*commits, return_exceptions=True)
            for part, outcome in enumerate(outcomes):
                if isinstance(outcome, int):
                    done[f"k{number}/{part}"] = outcome
            refused = [outcome for outcome in outcomes if not isinstance(outcome, int)]
            assert all(isinstance(outcome, StorageFull) for outcome in refused), refused
            if refused:
                break
        assert refused, "the disk did not fill"
        assert len(refused) == 3, outcomes
        assert "no space is left to write to" in str(refused[0]), refused
        assert (await storage.get("before")).value == b"1"
        assert {entry.key for entry in (await storage.list("k")).entries} == set(done)
        events = []
        while len(events) < 1 + len(done):
            events += await anext(watch)
        deleted = list(done)[::2]
        for key in deleted:
            await storage.commit(Delete(key, expected=done.pop(key)))
            if kind == "disk":
                fill()
            assert [event.key for event in await anext(watch)] == [key]
        make_room()
        revision = await storage.commit(Put("after", b"2"), Delete("before"))
        assert revision == 2 + len(done) + 2 * len(deleted) + 1, (revision, len(done))
        assert [event.key for event in await anext(watch)] == ["after", "before"]
        await storage.close()
        storage = await open_storage("sqlite:" + path)
        assert {entry.key: entry.revision for entry in (await storage.list("k")).entries} == done
        assert storage.revision == revision
        await storage.close()

    asyncio.run(main())
""")


def test_file_size_limit_refuses_commits_until_it_is_lifted(path: str) -> None:
    _run(path, "limit")


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A real disk of so many megabytes."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs the superuser")
    options = ["-t", "tmpfs", "-o", f"size={request.param}m", "tmpfs"]
    mount = subprocess.run(["mount", *options, str(tmp_path)], capture_output=True)
    if mount.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mount.stderr.decode().strip()}")
    yield tmp_path
    # Lazily: the lock file is mapped until a storage that was closed is collected.
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


@pytest.mark.parametrize("small_disk", [2], indirect=True)
def test_full_disk_refuses_creates_until_there_is_room(small_disk: Path) -> None:
    _run(str(small_disk / "test.db"), "disk")


@pytest.mark.parametrize("rounds", [150, pytest.param(3000, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
@pytest.mark.parametrize("small_disk", [3], indirect=True)
def test_processes_on_a_full_disk_delete_and_lose_nothing(small_disk: Path, rounds: int) -> None:
    path = str(small_disk / "test.db")
    processes = [
        subprocess.Popen(
            [sys.executable, str(FULLER), path, str(seed), str(rounds)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
        )
        for seed in range(3)
    ]
    ends = [json.loads(process.communicate(timeout=600)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * 3
    assert sum(end["creates"] for end in ends) > 0, "the disk did not fill"
    assert sum(end["deletes"] for end in ends) == 0
    assert asyncio.run(_revisions(path)) == {key: revision for end in ends for key, revision in end["kept"].items()}


def _run(path: str, kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path, kind],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    assert done.returncode == 0, done.stderr.decode()


def test_opening_on_a_full_disk_is_refused_with_the_reason(path: str) -> None:
    program = textwrap.dedent("""
        import asyncio, resource, sys
        from pilotage.storage import open_storage
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        asyncio.run(open_storage("sqlite:" + sys.argv[1]))
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    assert b"StorageFull: no space is left to write to" in done.stderr
    assert asyncio.run(_opens(path))


async def _revisions(path: str) -> dict[str, int]:
    storage = await pilotage.storage.open_storage(f"sqlite:{path}")
    found = {entry.key: entry.revision for entry in (await storage.list("")).entries}
    await storage.close()
    return found


async def _opens(path: str) -> bool:
    storage = await pilotage.storage.open_storage(f"sqlite:{path}")
    await storage.close()
    return True
