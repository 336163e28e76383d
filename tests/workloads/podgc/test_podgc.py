"""The Pod garbage collector on an API server."""

from __future__ import annotations

from pilotage.meta.models import ObjectMeta
from pilotage.testing.environment import Environment
from pilotage.types.core.v1 import Container, Node, Pod, PodSpec
from pilotage.workloads import WorkloadOptions, Workloads
from tests.workloads.kit import pass_time

ONLY = WorkloadOptions(controllers=("pod-garbage-collector-controller",))


def pod(name: str, node: str) -> Pod:
    spec = PodSpec(containers=[Container(name="main", image="nginx")], node_name=node)
    return Pod(metadata=ObjectMeta(name=name, namespace="default", finalizers=["example.com/keep"]), spec=spec)


async def test_a_pod_of_a_deleted_node_fails_and_is_deleted_when_the_node_has_been_gone_for_40_seconds(
    pilotage_env: Environment,
) -> None:
    env = pilotage_env
    await env.given(Node(metadata=ObjectMeta(name="lost")), Node(metadata=ObjectMeta(name="kept")))
    async with Workloads(env.cluster, ONLY):
        await env.client.create(pod("orphan", "lost"))
        await env.client.create(pod("other", "kept"))
        await env.client.delete(Node, "lost")
        await pass_time(env, 39)
        assert (await env.client.get(Pod, "orphan", namespace="default")).metadata.deletion_timestamp is None
        await pass_time(env, 25)
        orphan = await env.client.get(Pod, "orphan", namespace="default")
        other = await env.client.get(Pod, "other", namespace="default")
    assert orphan.metadata.deletion_timestamp is not None
    assert orphan.status is not None
    assert orphan.status.phase == "Failed"
    assert [(each.type, each.reason) for each in orphan.status.conditions if each.type == "DisruptionTarget"] == [
        ("DisruptionTarget", "DeletionByPodGC")
    ]
    assert other.metadata.deletion_timestamp is None
