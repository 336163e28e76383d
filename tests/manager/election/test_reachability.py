from __future__ import annotations

import logging

import pytest

from pilotage.errors import ConnectionLost, Forbidden, StatusDetails, Unauthorized
from pilotage.manager.election.reachability import Reachability
from pilotage.telemetry.logs import logger

REFUSED = Forbidden(
    'leases.coordination.k8s.io "a" is forbidden: User "operator" cannot get resource "leases" in API group '
    '"coordination.k8s.io" in the namespace "default"',
    details=StatusDetails(name="a", group="coordination.k8s.io", kind="leases"),
)


def test_each_kind_of_trouble_is_logged_once_and_another_one_as_well(caplog: pytest.LogCaptureFixture) -> None:
    reachability = Reachability(logger("x"), "the lease", ("get", "update"))
    lost = [ConnectionLost("refused", sent=False), ConnectionLost("reset", sent=True)]
    with caplog.at_level(logging.INFO, "x"):
        for error in [REFUSED, REFUSED, *lost, Unauthorized("expired"), Unauthorized("expired")]:
            reachability.note_failure(error)
        reachability.note_success()
    first, *rest = (record.getMessage() for record in caplog.records)
    assert first.startswith("Cannot read or write the lease, retrying: missing permission: ")
    assert rest == [
        "Cannot read or write the lease, retrying error=refused",
        "Cannot read or write the lease, retrying error=expired",
        "The lease can be reached again",
    ]
    assert reachability.missing is None
