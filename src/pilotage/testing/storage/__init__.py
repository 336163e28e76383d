"""What every storage must do, as checks that any test suite can run.

A check is a coroutine function that takes a factory of fresh, empty storages, and raises AssertionError where the
storage does something else. With pytest:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_conformance(check: ConformanceCheck) -> None:
        await check(lambda: contextlib.aclosing(MyStorage()))

where the factory returns an async context manager of a storage. No check waits longer than `TIMEOUT`.
"""

from pilotage.testing.storage import commits, lifecycle, lists, watches
from pilotage.testing.storage.checks import CHECKS, TIMEOUT, ConformanceCheck, Factory

__all__ = ["CHECKS", "TIMEOUT", "ConformanceCheck", "Factory", "commits", "lifecycle", "lists", "watches"]
