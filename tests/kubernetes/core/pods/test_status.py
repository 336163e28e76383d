from __future__ import annotations

import pytest

from pilotage.meta.documents import Document

from ...writes import created, fields, status_written
from .specs import STRATEGY, container, spec


def test_a_new_pod_is_pending_whatever_status_was_sent() -> None:
    document, _ = created(STRATEGY, spec=spec(), status={"phase": "Running"})
    assert document["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "1Gi"}}, "Burstable"),
    ],
)
def test_the_quality_of_service_follows_from_the_resources(resources: Document, quality: str) -> None:
    document, causes = created(STRATEGY, spec=spec(container(resources=resources)))
    assert not causes
    assert document["status"]["qosClass"] == quality


def test_the_status_is_written_without_the_spec_and_keeps_what_only_the_server_knows() -> None:
    old, _ = created(STRATEGY, spec=spec())
    status = {"phase": "Walking", "conditions": [{"type": "Ready", "status": "True"}], "observedGeneration": 1}
    metadata = old["metadata"] | {"labels": {"a": "b"}, "ownerReferences": [{}], "deletionTimestamp": "now"}
    document, causes = status_written(STRATEGY, old, status=status, spec=spec(hostNetwork=True), metadata=metadata)
    assert not causes
    assert document["spec"] == old["spec"]
    assert document["metadata"] == old["metadata"] | {"labels": {"a": "b"}}
    assert document["status"] == status | {"qosClass": "BestEffort"}
    again, _ = status_written(STRATEGY, document, status={"phase": "Running"})
    assert again["status"] == {"phase": "Running", "qosClass": "BestEffort", "observedGeneration": 1}


@pytest.mark.parametrize(
    ("status", "where"),
    [
        ({"qosClass": "Guaranteed"}, "status.qosClass"),
        ({"observedGeneration": -1}, "status.observedGeneration"),
        ({"conditions": [{"type": "not a name"}]}, "status.conditions[0].Type"),
        ({"nominatedNodeName": "Node One"}, "status.nominatedNodeName"),
        ({"podIPs": [{"ip": "10.0.0.300"}]}, "status.podIPs[0]"),
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}, "status.podIPs"),
        ({"hostIPs": [{"ip": "10.0.0.1"}]}, "status.hostIPs[0].ip"),
        ({"resourceClaimStatuses": [{"name": "c"}]}, "status.resourceClaimStatuses[0].name"),
    ],
)
def test_a_status_is_checked(status: Document, where: str) -> None:
    old, _ = created(STRATEGY, spec=spec())
    _, causes = status_written(STRATEGY, old, status=status)
    assert fields(causes) == [where]


@pytest.mark.parametrize(
    ("policy", "code", "allowed"),
    [("Always", 0, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_a_container_that_has_ended_runs_again_only_if_it_restarts(policy: str, code: int, allowed: bool) -> None:
    old, _ = created(STRATEGY, spec=spec(restartPolicy=policy))
    ended = {"containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": code}}}]}
    old, _ = status_written(STRATEGY, old, status=ended)
    running = {"containerStatuses": [{"name": "main", "state": {"running": {}}}]}
    _, causes = status_written(STRATEGY, old, status=running)
    assert fields(causes) == ([] if allowed else ["status.containerStatuses[0].state"])


def test_the_single_address_and_the_first_of_the_list_agree() -> None:
    old, _ = created(STRATEGY, spec=spec())
    document, _ = status_written(STRATEGY, old, status={"podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]})
    assert document["status"]["podIP"] == "10.0.0.1"
    document, _ = status_written(STRATEGY, old, status={"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.1"}]})
    assert document["status"]["podIPs"] == [{"ip": "10.0.0.2"}]


def test_addresses_in_the_status_should_have_their_one_spelling() -> None:
    old, _ = created(STRATEGY, spec=spec())
    document, causes = status_written(STRATEGY, old, status={"podIPs": [{"ip": "FE80::1"}]})
    assert not causes
    (warning,) = STRATEGY.status_warnings(document)
    assert warning.startswith("status.podIPs[0].ip: ")
