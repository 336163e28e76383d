from __future__ import annotations

import pytest

from pilotage.meta.documents import Document
from pilotage.server.strategies.metadata import update_causes
from pilotage.server.strategies.rules import Checks
from pilotage.server.strategies.strategy import NO_RULES

OLD: Document = {"name": "one", "namespace": "n", "uid": "u", "resourceVersion": "1"}


@pytest.mark.parametrize(
    ("checks", "times"),
    [(Checks(0, 0), 0), (Checks(1, 0), 1), (Checks(0, 1), 1), (Checks(1, 1), 2)],
)
def test_a_finalizer_without_a_domain_is_reported_as_often_as_metadata_is_checked(checks: Checks, times: int) -> None:
    causes = update_causes(OLD | {"finalizers": ["bare"]}, OLD, NO_RULES, checks, namespaced=True)
    assert [cause.field for cause in causes] == ["metadata.finalizers[0]"] * times


@pytest.mark.parametrize("finalizer", ["example.com/done", "foregroundDeletion"])
def test_finalizers_with_a_domain_and_standard_ones_can_be_added(finalizer: str) -> None:
    assert not update_causes(OLD | {"finalizers": [finalizer]}, OLD, NO_RULES, Checks(1, 1), namespaced=True)
