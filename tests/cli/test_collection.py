"""A command runs with few collections of cyclic garbage, and leaves the collector of a program as it was."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from pilotage.cli.collection import rarely_collected
from pilotage.cli.errors import CommandError

PROGRAM = """
import atexit, gc
from pilotage.cli.collection import rarely_collected, skip_last_collection

generations = []
gc.callbacks.append(lambda phase, info: generations.append(info["generation"]))
atexit.register(lambda: print(gc.get_freeze_count() >= 100_000))
skip_last_collection()
with rarely_collected():
    generations.clear()
    cycles = [[] for _ in range(100_000)]
    for cycle in cycles:
        cycle.append(cycle)
print(gc.get_count()[0] < 1_000, generations)
"""


def test_a_command_makes_many_objects_and_ends_without_a_collection() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "True []\nTrue\n"


def test_the_collector_is_as_before_after_a_command_that_fails() -> None:
    before = gc.get_threshold()
    with pytest.raises(CommandError), rarely_collected():
        raise CommandError("refused")
    assert gc.get_threshold() == before
