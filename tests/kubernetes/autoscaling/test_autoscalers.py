from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("horizontalpodautoscalers.autoscaling", "v2")
OLDER = strategy_of("horizontalpodautoscalers.autoscaling", "v1")
TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}


def spec(**more: Any) -> dict[str, Any]:
    return {"scaleTargetRef": TARGET, "maxReplicas": 3} | more


def test_an_autoscaler_scales_by_the_utilization_of_cpus() -> None:
    document, causes = created(STRATEGY, spec=spec())
    assert not causes
    assert document["spec"]["metrics"] == [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
        }
    ]


def test_the_rules_of_a_behavior_are_completed() -> None:
    document, causes = created(STRATEGY, spec=spec(behavior={"scaleDown": {"selectPolicy": "Min"}}))
    assert not causes
    assert document["spec"]["behavior"] == {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        },
        "scaleDown": {
            "selectPolicy": "Min",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        },
    }


def metric(kind: str, field: str, **source: Any) -> dict[str, Any]:
    return {"metrics": [{"type": kind, field: source}]}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"maxReplicas": 0, "minReplicas": 0}, ["minReplicas", "maxReplicas", "metrics"]),
        ({"minReplicas": 5}, ["maxReplicas"]),
        ({"scaleTargetRef": {"kind": "Pod", "apiVersion": "v1"}}, ["scaleTargetRef.name", "scaleTargetRef.apiVersion"]),
        ({"scaleTargetRef": TARGET | {"kind": "ReplicationController", "apiVersion": "v1"}}, []),
        ({"scaleTargetRef": TARGET | {"apiVersion": "a/b/c"}}, ["scaleTargetRef.apiVersion"]),
        ({"metrics": [{"type": "Some"}]}, ["metrics[0].type", "metrics[0].type"]),
        ({"metrics": [{"type": "Pods"}]}, ["metrics[0].pods"]),
        (
            metric("Resource", "resource", name="cpu", target={"type": "Utilization"}),
            ["metrics[0].resource.target.averageUtilization"],
        ),
        (
            metric("Pods", "pods", metric={"name": "a/b"}, target={"type": "AverageValue", "averageValue": "0"}),
            ["metrics[0].pods.metric.name", "metrics[0].pods.target.averageValue"],
        ),
        (
            metric("ContainerResource", "containerResource", name="some", container="C", target={"type": "Value"}),
            [
                "metrics[0].containerResource.name",
                "metrics[0].containerResource.name",
                "metrics[0].containerResource.container",
                "metrics[0].containerResource.target.averageUtilization",
            ],
        ),
        ({"behavior": {"scaleUp": {"policies": [], "stabilizationWindowSeconds": 3601}}}, 2),
    ],
)
def test_rules_over_the_spec(change: dict[str, Any], expected: Any) -> None:
    _, causes = created(STRATEGY, spec=spec(**change))
    if isinstance(expected, int):
        assert len(causes) == expected
    else:
        assert fields(causes) == [f"spec.{name}" for name in expected]


def test_a_target_with_an_old_version_can_stay() -> None:
    old, _ = created(STRATEGY, spec=spec())
    old["spec"]["scaleTargetRef"] = TARGET | {"apiVersion": "v1"}
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"maxReplicas": 9})
    assert not causes


def test_counts_in_the_status_are_not_negative() -> None:
    old, _ = created(STRATEGY, spec=spec())
    _, causes = status_written(STRATEGY, old, status={"currentReplicas": -1, "desiredReplicas": -1})
    assert fields(causes) == ["status.currentReplicas", "status.desiredReplicas"]


def test_v1_is_validated_in_the_words_of_v2() -> None:
    document, causes = created(OLDER, spec=spec())
    assert not causes
    assert document["spec"]["targetCPUUtilizationPercentage"] == 80
    _, causes = created(OLDER, spec=spec(targetCPUUtilizationPercentage=0))
    assert fields(causes) == ["spec.metrics[0].resource.target.averageUtilization"]


def test_a_status_in_the_annotations_of_a_new_object_is_dropped() -> None:
    annotations = {"autoscaling.alpha.kubernetes.io/conditions": '[{"type":"A","status":"True"}]'}
    document, _ = created(OLDER, metadata={"name": "one", "namespace": "n", "annotations": annotations}, spec=spec())
    assert "annotations" not in document["metadata"]
