"""The storages that the tests of this folder run on."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilotage.storage import Storage, open_storage
from pilotage.testing.storage import Factory


@pytest.fixture(params=["memory:", "sqlite:"])
def factory(request: pytest.FixtureRequest, tmp_path: Path) -> Factory:
    """Gives a fresh storage of each kind."""
    url: str = request.param

    @contextlib.asynccontextmanager
    async def fresh() -> AsyncIterator[Storage]:
        storage = await open_storage(url if url == "memory:" else f"sqlite:{tmp_path / 'fresh.db'}")
        try:
            yield storage
        finally:
            await storage.close()

    return fresh


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a SQLite storage can be made."""
    return str(tmp_path / "test.db")
