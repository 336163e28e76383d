"""Conformance checks for storages, which any test suite can run.

A check is a coroutine function that takes a factory of fresh, empty storages, and raises AssertionError if the storage
violates the interface. With pytest:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_conformance(check: ConformanceCheck) -> None:
        await check(lambda: contextlib.aclosing(MyStorage()))

where the factory returns an async context manager of a storage. No check waits longer than `TIMEOUT`.
"""

from pilotage.testing.storage import commits, lifecycle, lists, watches
from pilotage.testing.storage.checks import CHECKS, TIMEOUT, ConformanceCheck, Factory

__all__ = ["CHECKS", "TIMEOUT", "ConformanceCheck", "Factory", "commits", "lifecycle", "lists", "watches"]
