"""A command without memory or threads ends with one line and an exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pilotage.kit.console.process import OUT_OF_MEMORY

PROGRAM = """
import asyncio, threading
from pilotage.kit.console import exhaustion
from pilotage.kit.console.process import piped

def fail(*_):
    raise MemoryError

async def forever():
    await asyncio.Event().wait()

async def with_callback():
    asyncio.get_running_loop().call_soon(fail)
    await forever()

async def with_thread():
    threading.Thread(target=fail).start()
    await forever()

async def with_thread_that_cannot_begin():
    threading.Thread._bootstrap_inner = fail
    threading.Thread(target=print, daemon=True).start()

async def with_thread_that_never_begins():
    exhaustion.START_SECONDS = 1
    threading.Thread._bootstrap_inner = lambda self: threading.Event().wait()
    threading.Thread(target=print, daemon=True).start()

async def with_error():
    fail()

async def with_refused_thread():
    raise RuntimeError("can't start new thread")

def no_thread(*_, **__):
    raise RuntimeError("can't start new thread")

async def with_deadline_without_thread():
    from pilotage.kit.console.signals.deadline import ExitDeadline
    threading._start_new_thread = threading._start_joinable_thread = no_thread
    with ExitDeadline(1) as deadline:
        deadline.start(print, print)

async def with_other_error():
    raise RuntimeError("something else")

raise SystemExit(piped(lambda: asyncio.run(exhaustion.guarded({name}()))))
"""


def run(name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("{name}", name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "name", ["with_callback", "with_thread", "with_thread_that_cannot_begin", "with_thread_that_never_begins"]
)
def test_a_process_that_would_be_half_alive_without_memory_ends(name: str) -> None:
    ended = run(name)
    assert (ended.returncode, ended.stderr) == (1, f"error: {OUT_OF_MEMORY}\n")


@pytest.mark.parametrize("name", ["with_error", "with_refused_thread", "with_deadline_without_thread"])
def test_a_command_without_memory_or_threads_prints_one_line(name: str) -> None:
    ended = run(name)
    assert (ended.returncode, ended.stderr) == (1, f"error: {OUT_OF_MEMORY}\n")


def test_an_import_without_memory_is_a_line_too() -> None:
    code = """
import sys
from pilotage.kit.console.process import piped

class NoMemory:
    def find_spec(self, *_):
        raise MemoryError

def load():
    sys.meta_path.insert(0, NoMemory())
    import colorsys

raise SystemExit(piped(load))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (1, f"error: {OUT_OF_MEMORY}\n")


def test_other_errors_have_their_traceback() -> None:
    assert run("with_other_error").stderr.endswith("RuntimeError: something else\n")
