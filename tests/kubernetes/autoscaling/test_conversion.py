from __future__ import annotations

import json
from typing import Any

import pytest

from pilotage.kubernetes.autoscaling.conversion import to_v1, to_v2
from pilotage.meta.kinds import GroupVersionResource

from ...server.registries import opened

V1 = GroupVersionResource("autoscaling", "v1", "horizontalpodautoscalers")
V2 = GroupVersionResource("autoscaling", "v2", "horizontalpodautoscalers")
PREFIX = "autoscaling.alpha.kubernetes.io/"
TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
OTHERS = [
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "memory",
            "container": "c",
            "target": {"type": "AverageValue", "averageValue": "100Mi"},
        },
    },
    {
        "type": "Pods",
        "pods": {
            "metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}},
            "target": {"type": "AverageValue", "averageValue": "10"},
        },
    },
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
            "metric": {"name": "hits"},
            "target": {"type": "Value", "value": "2k"},
        },
    },
    {
        "type": "External",
        "external": {
            "metric": {"name": "queue", "selector": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}},
            "target": {"type": "Value", "value": "30"},
        },
    },
]
BEHAVIOR = {
    "scaleUp": {"selectPolicy": "Min", "policies": [{"type": "Pods", "value": 2, "periodSeconds": 30}]},
    "scaleDown": {"stabilizationWindowSeconds": 100, "tolerance": "100m"},
}
STATUS = {
    "currentReplicas": 2,
    "desiredReplicas": 3,
    "currentMetrics": [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "20m"}}}
    ],
    "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2020-01-02T03:04:05Z"}],
}
NOT_VALID = ["", "{", "null", "[1]", '[{"type":1}]', "[" * 100_000]


def autoscaler(version: str = "v2", **spec: Any) -> dict[str, Any]:
    metadata = {"name": "one", "namespace": "default", "annotations": {"a": "b"}}
    return {"apiVersion": f"autoscaling/{version}", "metadata": metadata, "spec": {"scaleTargetRef": TARGET} | spec}


def test_v1_has_in_annotations_what_it_does_not_know() -> None:
    newer = autoscaler(maxReplicas=5, metrics=[CPU, *OTHERS], behavior=BEHAVIOR) | {"status": STATUS}
    older = to_v1(newer)
    assert older["spec"] == {"scaleTargetRef": TARGET, "maxReplicas": 5, "targetCPUUtilizationPercentage": 50}
    assert older["status"] == {"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 40}
    annotations = older["metadata"]["annotations"]
    assert annotations["a"] == "b"
    # These texts are those that a kube-apiserver 1.36 has written for this object.
    assert annotations[f"{PREFIX}metrics"] == (
        '[{"type":"ContainerResource","containerResource":{"name":"memory","targetAverageValue":"100Mi",'
        '"container":"c"}},{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"10",'
        '"selector":{"matchLabels":{"a":"b"}}}},{"type":"Object","object":{"target":{"kind":"Service","name":"s",'
        '"apiVersion":"v1"},"metricName":"hits","targetValue":"2k"}},{"type":"External","external":'
        '{"metricName":"queue","metricSelector":{"matchExpressions":[{"key":"k","operator":"Exists"}]},'
        '"targetValue":"30"}}]'
    )
    assert annotations[f"{PREFIX}behavior"] == (
        '{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":2,'
        '"PeriodSeconds":30}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":100,"SelectPolicy":null,'
        '"Policies":null,"Tolerance":"100m"}}'
    )
    assert annotations[f"{PREFIX}current-metrics"] == (
        '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"20m"}}]'
    )
    assert annotations[f"{PREFIX}conditions"] == (
        '[{"type":"AbleToScale","status":"True","lastTransitionTime":"2020-01-02T03:04:05Z"}]'
    )


def test_nothing_is_lost_on_the_way_through_v1() -> None:
    newer = autoscaler(maxReplicas=5, metrics=[*OTHERS, CPU], behavior=BEHAVIOR) | {"status": STATUS}
    assert to_v2(to_v1(newer)) == newer


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, text) for name in ("metrics", "behavior", "current-metrics", "conditions") for text in NOT_VALID),
        ("metrics", '[{"pods":{"targetAverageValue":"x"}}]'),
        ("metrics", '[{"object":{"targetValue":' + "9" * 5000 + "}}]"),
        ("behavior", '{"ScaleUp":{"Tolerance":"x"}}'),
        ("conditions", '[{"type":"a","lastTransitionTime":"yesterday"}]'),
    ],
)
def test_an_annotation_that_is_not_valid_counts_as_none(name: str, text: str) -> None:
    document = autoscaler("v1", maxReplicas=1, targetCPUUtilizationPercentage=50)
    document["metadata"]["annotations"] = {f"{PREFIX}{name}": text}
    newer = to_v2(document)
    assert newer["spec"] == {"scaleTargetRef": TARGET, "maxReplicas": 1, "metrics": [CPU]}
    assert "annotations" not in newer["metadata"]
    assert not (newer.get("status") or {}).get("conditions")


async def test_an_object_is_read_and_written_in_both_versions() -> None:
    async with opened() as api:
        made = await api.create(V2, autoscaler(maxReplicas=5, metrics=[CPU, *OTHERS]), "default")
        assert made["spec"]["minReplicas"] == 1
        older = await api.get(V1, "one", "default")
        assert older["apiVersion"] == "autoscaling/v1"
        assert older["spec"]["targetCPUUtilizationPercentage"] == 50
        assert len(json.loads(older["metadata"]["annotations"][f"{PREFIX}metrics"])) == 4
        older["spec"]["targetCPUUtilizationPercentage"] = 70
        await api.update(V1, older, "default")
        newer = await api.get(V2, "one", "default")
    assert [metric["type"] for metric in newer["spec"]["metrics"]] == [
        "ContainerResource",
        "Pods",
        "Object",
        "External",
        "Resource",
    ]
    assert newer["spec"]["metrics"][-1]["resource"]["target"]["averageUtilization"] == 70
    assert newer["metadata"]["annotations"] == {"a": "b"}
