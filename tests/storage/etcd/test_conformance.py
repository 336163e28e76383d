"""Storage on a real etcd passes the conformance suite, and agrees with the model in any order of calls."""

from __future__ import annotations

import pytest

from pilotage.testing.storage import CHECKS, ConformanceCheck, Factory

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_storage_on_etcd_conforms(check: ConformanceCheck, factory: Factory) -> None:
    await check(factory)
