"""Every storage passes the conformance suite of `pilotage.testing`."""

from __future__ import annotations

import pytest

from pilotage.testing.storage import CHECKS, ConformanceCheck, Factory


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_storage_conforms(check: ConformanceCheck, factory: Factory) -> None:
    await check(factory)
