"""Kinds with a few rules: APIServices, PriorityClasses, RuntimeClasses, IngressClasses, ControllerRevisions."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.documents import Document

from .writes import created, fields, status_written, strategy_of, updated

SERVICE = strategy_of("apiservices.apiregistration.k8s.io")
PRIORITY = strategy_of("priorityclasses.scheduling.k8s.io")
RUNTIME = strategy_of("runtimeclasses.node.k8s.io")
INGRESS = strategy_of("ingressclasses.networking.k8s.io")
REVISION = strategy_of("controllerrevisions.apps")


def api_service(**spec: Any) -> Document:
    content = {"group": "x.example", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1} | spec
    return {"metadata": {"name": "v1.x.example", "creationTimestamp": "2020-01-01T00:00:00Z"}, "spec": content}


def test_an_api_service_without_a_service_is_available() -> None:
    document, causes = created(SERVICE, **api_service())
    assert not causes
    assert document["status"]["conditions"][0] | {"lastTransitionTime": ""} == {
        "type": "Available",
        "status": "True",
        "reason": "Local",
        "message": "Local APIServices are always available",
        "lastTransitionTime": "",
    }


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"service": {"namespace": "n", "name": "s"}}, []),
        ({"service": {}}, ["spec.service.namespace", "spec.service.name"]),
        ({"service": {"namespace": "n", "name": "s", "port": 70000}}, ["spec.service.port"]),
        ({"caBundle": "eA=="}, ["spec.caBundle"]),
        ({"versionPriority": 0}, ["spec.versionPriority"]),
        ({"version": "V1"}, ["metadata.name", "spec.version"]),
        ({"group": ""}, ["metadata.name"]),
    ],
)
def test_what_is_wrong_with_an_api_service(spec: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(SERVICE, **api_service(**spec))[1]) == wrong


def test_the_status_of_an_api_service_leaves_its_labels() -> None:
    old, _ = created(SERVICE, **api_service())
    document, causes = status_written(
        SERVICE, old, metadata=old["metadata"] | {"labels": {"a": "b"}}, status={"conditions": [{"status": "Maybe"}]}
    )
    assert "labels" not in document["metadata"]
    assert fields(causes) == ["status.conditions[0].status"]


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"value": 1_000_000_000}, []),
        ({"value": 1_000_000_001}, ["value"]),
        ({"preemptionPolicy": "Sometimes"}, ["preemptionPolicy"]),
        ({"metadata": {"name": "system-x"}}, ["metadata.name"]),
        ({"metadata": {"name": "system-node-critical"}, "value": 2_000_001_000}, []),
        ({"metadata": {"name": "system-node-critical"}, "value": 1}, ["metadata.name"]),
    ],
)
def test_what_is_wrong_with_a_priority_class(content: dict[str, Any], wrong: list[str]) -> None:
    document, causes = created(PRIORITY, **content)
    assert fields(causes) == wrong
    assert document["preemptionPolicy"]


def test_a_priority_class_keeps_its_value_and_does_not_count_changes() -> None:
    old, _ = created(PRIORITY, value=5)
    assert fields(updated(PRIORITY, old, value=6, preemptionPolicy="Never")[1]) == ["value", "preemptionPolicy"]
    assert updated(PRIORITY, old, description="x")[0]["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"handler": "runc"}, []),
        ({}, ["handler"]),
        ({"handler": "A_b"}, ["handler"]),
        ({"handler": "r", "scheduling": {"nodeSelector": {"a b": "c"}}}, ["scheduling.nodeSelector"]),
        ({"handler": "r", "scheduling": {"tolerations": [{"operator": "Exists"}] * 2}}, ["scheduling.tolerations[1]"]),
        ({"handler": "r", "overhead": {"podFixed": {"cpu": "-1"}}}, ["overhead.limits[cpu]"]),
    ],
)
def test_what_is_wrong_with_a_runtime_class(content: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(RUNTIME, **content)[1]) == wrong


def test_a_runtime_class_keeps_its_handler() -> None:
    old, _ = created(RUNTIME, handler="runc")
    assert fields(updated(RUNTIME, old, handler="kata")[1]) == ["handler"]


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"controller": "example.com/c"}, []),
        ({}, ["spec.controller"]),
        ({"controller": "plain"}, ["spec.controller"]),
        ({"controller": "example.com/" + "c" * 250}, ["spec.controller"]),
        (
            {"controller": "example.com/c", "parameters": {"kind": "K", "name": "n", "scope": "Namespace"}},
            ["spec.parameters.namespace"],
        ),
        (
            {"controller": "example.com/c", "parameters": {"kind": "K", "namespace": "n"}},
            ["spec.parameters.name", "spec.parameters.namespace"],
        ),
    ],
)
def test_what_is_wrong_with_an_ingress_class(spec: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(INGRESS, spec=spec)[1]) == wrong


def test_an_ingress_class_keeps_its_controller() -> None:
    old, _ = created(INGRESS, spec={"controller": "example.com/c"})
    assert fields(updated(INGRESS, old, spec={"controller": "example.com/d"})[1]) == ["spec.controller"]


@pytest.mark.parametrize(
    ("content", "wrong"),
    [({"data": {}}, []), ({}, ["data"]), ({"data": [1]}, ["data"]), ({"data": {}, "revision": -1}, ["revision"])],
)
def test_a_revision_has_an_object_as_data(content: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(REVISION, **content)[1]) == wrong


def test_a_revision_keeps_its_data() -> None:
    old, _ = created(REVISION, data={"a": 1})
    assert fields(updated(REVISION, old, data={"a": 2}, revision=3)[1]) == ["data"]
    empty, _ = created(REVISION, data={})
    assert fields(updated(REVISION, empty, data=[])[1]) == ["data"]
