"""A command runs with few collections of cyclic garbage, and leaves the collector of a program as it was."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.process import rarely_collected

PROGRAM = """
import atexit, gc
from pilotage.kit.console.process import rarely_collected, skip_last_collection

generations = []
gc.callbacks.append(lambda phase, info: generations.append(info["generation"]))
atexit.register(lambda: print(gc.get_freeze_count() >= 100_000))
skip_last_collection()
with rarely_collected(ends_process=True):
    generations.clear()
    cycles = [[] for _ in range(100_000)]
    for cycle in cycles:
        cycle.append(cycle)
others = [[] for _ in range(10_000)]
print(generations)
"""


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_a_command_makes_many_objects_and_ends_without_a_collection() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "[]\nTrue\n"


@pytest.fixture(autouse=True)
def usual_threshold() -> Iterator[None]:
    """Commands that other tests have run in this process leave a high one."""
    before = gc.get_threshold()
    gc.set_threshold(700, *before[1:])
    yield
    gc.set_threshold(*before)


def test_the_collector_is_as_before_after_a_command_that_fails() -> None:
    before = gc.get_threshold()
    with pytest.raises(CommandError), rarely_collected():
        raise CommandError("refused")
    assert gc.get_threshold() == before


def test_a_program_that_runs_many_commands_collects_their_garbage() -> None:
    collected: list[int] = []
    kept: list[list[int]] = []
    for number in range(100):
        with rarely_collected():
            weakref.finalize(Cycle(), collected.append, number)
            kept += [[] for _ in range(1_000)]
    assert collected


def test_a_command_turns_no_collections_on() -> None:
    gc.set_threshold(0)
    with rarely_collected():
        assert gc.get_threshold()[0] == 0
