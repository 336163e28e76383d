"""ServiceCIDRs and IPAddresses, on every API server.

Finalizers and conditions of a ServiceCIDR come from a controller, which does not run beside the real server here.
"""

from __future__ import annotations

import asyncio
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from pilotage.errors import Invalid, NotFound
from pilotage.meta.models import Condition
from pilotage.meta.objects import document_of
from pilotage.meta.unstructured import Unstructured
from pilotage.types.core.v1 import Service, ServicePort, ServiceSpec
from pilotage.types.meta.v1 import ObjectMeta
from pilotage.types.networking.v1 import IPAddress, ServiceCIDR

from ...environments import WITHIN, Environment

RANGES = {"memory": "10.201.0.0/28", "sqlite": "10.202.0.0/28", "https": "10.203.0.0/28", "real": "10.204.0.0/28"}
READY = {"type": "Ready", "status": "True", "reason": "", "message": "ready"}


async def create_range(environment: Environment) -> ServiceCIDR:
    """A ServiceCIDR that is ready."""
    metadata = {"name": f"more-{environment.namespace}"}
    document = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": metadata}
    made = await environment.client.create(Unstructured({**document, "spec": {"cidrs": [RANGES[environment.name]]}}))
    if environment.real:
        status = {"status": {"conditions": [READY | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
        await environment.client.patch_status(made, status)
    return await environment.client.get(ServiceCIDR, metadata["name"])


async def create_service(environment: Environment, name: str, **spec: Any) -> str:
    """Returns its cluster IP."""
    metadata = ObjectMeta(name=name, namespace=environment.namespace)
    service = Service(metadata=metadata, spec=ServiceSpec(ports=[ServicePort(port=80)], **spec))
    return _address(await environment.client.create(service))


def _address(service: Service) -> str:
    assert service.spec is not None
    assert service.spec.cluster_ip is not None
    return service.spec.cluster_ip


def _ready(found: ServiceCIDR) -> Condition:
    assert found.status is not None
    return found.status.conditions[0]


async def test_a_service_can_have_an_address_of_a_further_range(environment: Environment) -> None:
    found = await create_range(environment)
    network = ip_network(RANGES[environment.name])
    text = str(network[3])
    async with asyncio.timeout(WITHIN):
        while True:
            try:
                await create_service(environment, "one", cluster_ip=text)
                break
            except Invalid:  # the real server has not read the range yet
                await asyncio.sleep(0.05)
    address = document_of(await environment.client.get(IPAddress, text))
    assert address["spec"] == {"parentRef": {"resource": "services", "namespace": environment.namespace, "name": "one"}}
    assert address["metadata"]["labels"] == {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    with pytest.raises(Invalid, match=r"failed to allocate IP .*: provided IP is already allocated"):
        await create_service(environment, "two", cluster_ip=text)
    for reserved in (network[0], network[-1]):
        with pytest.raises(Invalid, match="the provided network does not match the current range"):
            await create_service(environment, "two", cluster_ip=str(reserved))
    await environment.client.delete(Service, "one", namespace=environment.namespace)
    with pytest.raises(NotFound):
        await environment.client.get(IPAddress, text)
    await environment.client.delete(found)  # other tests use the real server, too


async def test_every_cluster_ip_has_an_ip_address_of_its_service(environment: Environment) -> None:
    text = await create_service(environment, "one")
    assert ip_address(text) in ip_network("10.0.0.0/16")
    assert (await parent(environment, text))["name"] == "one"
    kubernetes = await environment.client.get(Service, "kubernetes", namespace="default")
    assert _address(kubernetes) == "10.0.0.1"
    assert (await parent(environment, "10.0.0.1"))["name"] == "kubernetes"


async def parent(environment: Environment, address: str) -> Any:
    return document_of(await environment.client.get(IPAddress, address))["spec"]["parentRef"]


async def test_two_families_need_a_cluster_of_two_families(environment: Environment) -> None:
    with pytest.raises(Invalid, match="this cluster is not configured for dual-stack services"):
        await create_service(environment, "one", ip_family_policy="RequireDualStack")
    with pytest.raises(Invalid, match="not configured on this cluster"):
        await create_service(environment, "one", ip_families=["IPv6"])


async def test_a_range_is_kept_while_services_have_addresses_of_it(environment: Environment) -> None:
    if environment.real:
        pytest.skip("kube-controller-manager adds and removes the finalizer")
    found = await create_range(environment)
    async with asyncio.timeout(WITHIN), environment.client.watch(ServiceCIDR) as events:
        async for event in events:
            if event.object.metadata.name == found.metadata.name and event.object.metadata.finalizers:
                status = event.object.status
                if status is not None and status.conditions:
                    break
    assert event.object.metadata.finalizers == ["networking.k8s.io/service-cidr-finalizer"]
    assert _ready(event.object).message == "Kubernetes Service CIDR is ready"
    await create_service(environment, "one", cluster_ip=str(ip_network(RANGES[environment.name])[3]))
    await environment.client.delete(found)
    async with asyncio.timeout(WITHIN), environment.client.watch(ServiceCIDR) as events:
        async for event in events:
            if event.object.metadata.name == found.metadata.name and _ready(event.object).status == "False":
                break
    kept = await environment.client.get(ServiceCIDR, found.metadata.name)
    assert _ready(kept).reason == "Terminating"
    assert _ready(kept).message == (
        "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
    )
    with pytest.raises(Invalid, match="does not match the current range"):
        await create_service(environment, "two", cluster_ip=str(ip_network(RANGES[environment.name])[4]))
    async with asyncio.timeout(WITHIN), environment.client.watch(ServiceCIDR) as events:
        await environment.client.delete(Service, "one", namespace=environment.namespace)
        async for event in events:
            if event.type == "DELETED" and event.object.metadata.name == found.metadata.name:
                break
