from __future__ import annotations

from typing import Any

import pytest

from pilotage.kubernetes.core.pods.update import validate_pod_update
from pilotage.meta.documents import Document, copied

from ...writes import created, fields, set_defaults, updated
from .specs import STRATEGY, container, spec

GATED = spec(schedulingGates=[{"name": "g"}], nodeSelector={"a": "b"})


def changed(old_spec: Document, **changes: Any) -> list[str]:
    old, causes = created(STRATEGY, spec=old_spec)
    assert not causes
    _, causes = updated(STRATEGY, old, spec={**old["spec"], **changes})
    return fields(causes)


def test_the_image_the_deadline_and_more_tolerations_may_change() -> None:
    assert changed(spec(), containers=[container(image="nginx:2")], activeDeadlineSeconds=9) == []
    assert changed(spec(tolerations=[{"key": "a"}]), tolerations=[{"key": "b"}, {"key": "a"}]) == []


@pytest.mark.parametrize(
    ("before", "change", "where"),
    [
        ({}, {"hostNetwork": True}, ["spec"]),
        ({}, {"containers": [container(), container(name="b")]}, ["spec.containers"]),
        ({}, {"containers": [container(image="")]}, ["spec.containers[0].image"] * 2),
        ({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 6}, ["spec.activeDeadlineSeconds"]),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": []}, ["spec.tolerations"]),
        ({}, {"schedulingGates": [{"name": "g"}]}, ["spec.schedulingGates[0].name"]),
        ({"terminationGracePeriodSeconds": 5}, {"terminationGracePeriodSeconds": 1}, ["spec"]),
    ],
)
def test_other_changes_are_refused(before: Document, change: Document, where: list[str]) -> None:
    assert changed(spec(**before), **change) == where


def test_a_gated_pod_may_choose_fewer_nodes() -> None:
    assert changed(GATED, nodeSelector={"a": "b", "c": "d"}) == []
    assert changed(GATED, nodeSelector={"c": "d"}) == ["spec.nodeSelector"]
    assert changed(spec(nodeSelector={"a": "b"}), nodeSelector={"a": "b", "c": "d"}) == ["spec"]
    assert changed(GATED, affinity={"nodeAffinity": affinity("x")}) == []
    term = spec(schedulingGates=[{"name": "g"}], affinity={"nodeAffinity": affinity("x")})
    assert changed(term, affinity={"nodeAffinity": affinity("x", "y")}) == []
    place = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
    assert changed(term, affinity={"nodeAffinity": affinity("y")}) == [place]


def affinity(*keys: str) -> Document:
    expressions = [{"key": key, "operator": "Exists"} for key in keys]
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    }


def test_gates_can_only_be_removed_and_then_the_pod_counts_as_changed() -> None:
    old, _ = created(STRATEGY, spec=GATED)
    assert old["status"]["conditions"][0]["reason"] == "SchedulingGated"
    document, causes = updated(STRATEGY, old, spec={**old["spec"], "schedulingGates": []})
    assert not causes
    assert document["metadata"]["generation"] == 2
    assert document["status"] == old["status"]


def test_annotations_of_mirror_pods_cannot_change() -> None:
    old, _ = created(STRATEGY, spec=spec(nodeName="n"))
    document = copied(old)
    document["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    causes = list(validate_pod_update(document, old))
    assert fields(causes) == ["metadata.annotations[kubernetes.io/config.mirror]"]


def test_ephemeral_containers_can_only_be_added() -> None:
    old, _ = created(STRATEGY, spec=spec())
    debugger = {"name": "debug", "image": "busybox", "targetContainerName": "main"}
    document, causes = subresource("ephemeralcontainers", old, ephemeralContainers=[debugger], hostNetwork=True)
    assert causes == []
    assert document["metadata"]["generation"] == 2
    assert "hostNetwork" not in document["spec"]
    _, causes = subresource("ephemeralcontainers", document, ephemeralContainers=[])
    assert causes == ["spec.ephemeralContainers"]
    _, causes = subresource("ephemeralcontainers", document, ephemeralContainers=[debugger | {"image": "other"}])
    assert causes == ["spec.ephemeralContainers"]
    _, causes = subresource(
        "ephemeralcontainers", old, ephemeralContainers=[debugger | {"ports": [{"containerPort": 1}]}]
    )
    assert causes == ["spec.ephemeralContainers[0].ports"]


def test_a_resize_changes_cpu_and_memory_and_nothing_else() -> None:
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    old, _ = created(STRATEGY, spec=spec(container(resources=resources)))
    less = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}}
    document, causes = subresource("resize", old, containers=[container(resources=less, image="other")])
    assert causes == []
    assert document["spec"]["containers"][0]["resources"] == less
    assert document["spec"]["containers"][0]["image"] == "nginx:1"
    assert document["metadata"]["generation"] == 2
    none = {"requests": {"cpu": "1", "memory": "1Gi"}}
    _, causes = subresource("resize", old, containers=[container(resources=none)])
    assert causes == ["spec.containers[0].resources.limits"]
    first = container(name="first", resources={"requests": {"cpu": "1"}, "limits": {"cpu": "1"}})
    with_init, _ = created(STRATEGY, spec=spec(container(resources=resources), initContainers=[first]))
    more = first | {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1", "example.com/gpu": "1"}}}
    _, causes = subresource("resize", with_init, initContainers=[more])
    assert causes == ["spec.initContainers[0]"]
    equal = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "2", "memory": "1Gi"}}
    _, causes = subresource("resize", old, containers=[container(resources=equal)])
    assert causes == ["spec"]  # the quality of service would change


def subresource(name: str, old: Document, **changes: Any) -> tuple[Document, list[str]]:
    document = copied(old) | {"spec": copied(old["spec"]) | copied(changes)}
    set_defaults(STRATEGY, document)
    document = STRATEGY.prepare_for_subresource_update(name, document, old)
    return document, fields(STRATEGY.validate_subresource_update(name, document, old))
