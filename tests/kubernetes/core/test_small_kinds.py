"""Endpoints, Namespaces and ServiceAccounts."""

from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, status_written, strategy_of, updated

ENDPOINTS = strategy_of("endpoints")
NAMESPACE = strategy_of("namespaces")
ACCOUNT = strategy_of("serviceaccounts")


@pytest.mark.parametrize(
    ("subset", "wrong"),
    [
        ({"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}, []),
        ({}, ["subsets[0]"]),
        ({"addresses": [{"ip": "127.0.0.1"}]}, ["subsets[0].addresses[0].ip"]),
        ({"notReadyAddresses": [{"ip": "x"}]}, ["subsets[0].notReadyAddresses[0].ip"] * 2),
        (
            {"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}, {"port": 0, "name": "a"}]},
            ["subsets[0].ports[0].name", "subsets[0].ports[1].port"],
        ),
    ],
)
def test_what_is_wrong_with_endpoints(subset: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(ENDPOINTS, subsets=[subset])[1]) == wrong


def test_old_endpoints_that_do_not_change_are_not_checked_again() -> None:
    old = {"metadata": {"name": "one"}, "subsets": [{}]}
    assert not updated(ENDPOINTS, old)[1]
    assert updated(ENDPOINTS, old, subsets=[{}, {}])[1]


def test_a_namespace_has_the_standard_finalizer_and_a_label_with_its_name() -> None:
    document, causes = created(NAMESPACE, spec={"finalizers": ["a.example/f"]})
    assert not causes
    assert document["spec"]["finalizers"] == ["a.example/f", "kubernetes"]
    assert document["metadata"]["labels"] == {"kubernetes.io/metadata.name": "one"}
    assert fields(created(NAMESPACE, spec={"finalizers": ["bare"]})[1]) == ["spec.finalizers"]


def test_the_phase_of_a_namespace_follows_from_its_deletion() -> None:
    old, _ = created(NAMESPACE, spec={})
    assert fields(status_written(NAMESPACE, old, status={"phase": "Terminating"})[1]) == ["status.Phase"]
    assert status_written(NAMESPACE, old, status={})[0]["status"] == {"phase": "Active"}


def test_of_the_secrets_of_a_service_account_only_the_names_are_kept() -> None:
    document, _ = created(ACCOUNT, secrets=[{"name": "a", "namespace": "n", "kind": "Secret"}, {}])
    assert document["secrets"] == [{"name": "a"}, {}]
