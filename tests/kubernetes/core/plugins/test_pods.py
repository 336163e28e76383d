from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import Forbidden
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb

from ...environments import PODS, PRIORITY_CLASSES, pod, with_plugins

NODES = GroupVersionResource("", "v1", "nodes")
RUNTIME_CLASSES = GroupVersionResource("node.k8s.io", "v1", "runtimeclasses")


def priority_class(name: str, value: int, **more: Any) -> Document:
    return {"metadata": {"name": name}, "value": value} | more


async def test_a_pod_has_the_priority_of_its_class() -> None:
    async with with_plugins() as api:
        await api.create(PRIORITY_CLASSES, priority_class("high", 1000, preemptionPolicy="Never"))
        spec = (await api.create(PODS, pod(priorityClassName="high"), "default"))["spec"]
        assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")


async def test_a_pod_without_a_class_has_the_default_one_or_priority_zero() -> None:
    async with with_plugins() as api:
        spec = (await api.create(PODS, pod("a"), "default"))["spec"]
        assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
        await api.create(PRIORITY_CLASSES, priority_class("usual", 7, globalDefault=True))
        spec = (await api.create(PODS, pod("b"), "default"))["spec"]
        assert (spec["priority"], spec["priorityClassName"]) == (7, "usual")


async def test_there_is_one_default_class() -> None:
    async with with_plugins() as api:
        await api.create(PRIORITY_CLASSES, priority_class("usual", 7, globalDefault=True))
        await api.patch(PRIORITY_CLASSES, "usual", {"description": "as before"})
        with pytest.raises(Forbidden, match="PriorityClass usual is already marked as default"):
            await api.create(PRIORITY_CLASSES, priority_class("other", 8, globalDefault=True))


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"priorityClassName": "none"}, 'pods "a" is forbidden: no PriorityClass with name none was found'),
        ({"priority": 5}, r"the integer value of priority \(5\) must not be provided in pod spec; priority admission"),
        ({"preemptionPolicy": "Never"}, r"the string value of PreemptionPolicy \(Never\) must not be provided"),
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        ({"overhead": {"cpu": "1"}}, "Pod Overhead set without corresponding RuntimeClass defined Overhead"),
    ],
)
async def test_a_pod_that_does_not_fit_its_classes_is_refused(spec: Document, reason: str) -> None:
    async with with_plugins() as api:
        with pytest.raises(Forbidden, match=reason):
            await api.create(PODS, pod(**spec), "default")


async def test_a_pod_tolerates_nodes_that_are_not_ready_for_five_minutes() -> None:
    async with with_plugins() as api:
        tolerations = (await api.create(PODS, pod(), "default"))["spec"]["tolerations"]
        assert [(one["key"], one["tolerationSeconds"]) for one in tolerations] == [
            ("node.kubernetes.io/not-ready", 300),
            ("node.kubernetes.io/unreachable", 300),
        ]
        everything = [{"operator": "Exists"}]
        assert (await api.create(PODS, pod("b", tolerations=everything), "default"))["spec"][
            "tolerations"
        ] == everything


async def test_a_pod_has_the_overhead_and_scheduling_of_its_runtime_class() -> None:
    async with with_plugins(disable=["ServiceAccount", "DefaultTolerationSeconds"]) as api:
        toleration = {"key": "gpu", "operator": "Exists"}
        scheduling = {"nodeSelector": {"kind": "gpu"}, "tolerations": [toleration]}
        overhead = {"podFixed": {"cpu": "100m"}}
        one = {"metadata": {"name": "gpu"}, "handler": "gpu", "overhead": overhead, "scheduling": scheduling}
        await api.create(RUNTIME_CLASSES, one)
        spec = (await api.create(PODS, pod(runtimeClassName="gpu"), "default"))["spec"]
        assert spec["overhead"] == {"cpu": "100m"}
        assert spec["nodeSelector"] == {"kind": "gpu"}
        assert spec["tolerations"] == [toleration]
        with pytest.raises(Forbidden, match="conflict: runtimeClass"):
            await api.create(PODS, pod("b", runtimeClassName="gpu", nodeSelector={"kind": "cpu"}), "default")


async def test_always_pull_images_has_to_be_enabled() -> None:
    async with with_plugins(enable=["AlwaysPullImages"]) as api:
        made = await api.create(
            PODS, pod(containers=[{"name": "c", "image": "i", "imagePullPolicy": "Never"}]), "default"
        )
        assert made["spec"]["containers"][0]["imagePullPolicy"] == "Always"


async def test_a_pod_has_the_zone_and_the_region_of_its_node() -> None:
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}
    async with with_plugins() as api:
        others = {"topology.kubernetes.io/other": "o", "sub.topology.kubernetes.io/zone": "s"}
        await api.create(NODES, {"metadata": {"name": "n", "labels": labels | others}})
        document = pod("a", nodeName="n")
        document["metadata"]["labels"] = {"a": "b", "topology.kubernetes.io/zone": "old"}
        assert (await api.create(PODS, document, "default"))["metadata"]["labels"] == labels | {"a": "b"}
        assert "labels" not in (await api.create(PODS, pod("b"), "default"))["metadata"]
        binding = b'{"metadata":{"name":"b"},"target":{"kind":"Node","name":"n"}}'
        request = APIRequest(Verb.CREATE, PODS, namespace="default", name="b", subresource="binding", body=binding)
        await api.registry.call(request)
        assert (await api.get(PODS, "b", "default"))["metadata"]["labels"] == labels
