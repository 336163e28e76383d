"""A test of code that uses Kubernetes, on an embedded API server that exists only for the test.

pytest test_quota.py         # or: python test_quota.py
"""

import asyncio

import pilotage as pt
from pilotage.types.core.v1 import Container, Pod, PodSpec, ResourceRequirements


async def requested_memory(client: pt.Client, namespace: str) -> pt.Quantity:
    """The code under test: the sum of the memory requests of the Pods in a namespace."""
    total = pt.Quantity(0)
    for pod in await client.list(Pod, namespace=namespace):
        for container in pod.spec.containers:
            if container.resources is not None:
                total += container.resources.requests.get("memory", pt.Quantity(0))
    return total


def pod(name: str, memory: str) -> Pod:
    resources = ResourceRequirements(requests={"memory": pt.Quantity(memory)})
    container = Container(name="main", image="example", resources=resources)
    return Pod(metadata=pt.ObjectMeta(name=name, namespace="default"), spec=PodSpec(containers=[container]))


async def scenario() -> None:
    async with pt.Cluster.embedded("memory:") as cluster:
        client = cluster.client
        assert await requested_memory(client, "default") == pt.Quantity(0)
        await client.create(pod("small", "512Mi"))
        await client.create(pod("large", "1.5Gi"))
        assert await requested_memory(client, "default") == pt.Quantity("2Gi")
        assert await requested_memory(client, "kube-system") == pt.Quantity(0)


def test_the_memory_of_all_pods_of_a_namespace_is_summed() -> None:
    asyncio.run(scenario())


if __name__ == "__main__":
    test_the_memory_of_all_pods_of_a_namespace_is_summed()
    print("ok")
