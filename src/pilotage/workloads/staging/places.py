"""Which objects are simulated, and the addresses of simulated nodes and of the Pods on them."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.meta.unstructured import Unstructured
from pilotage.workloads.context import Context
from pilotage.workloads.pods.network import PodNetwork, host_ip
from pilotage.workloads.stages.moment import Addresses
from pilotage.workloads.stages.stage import NODE, POD, ResourceRef


def is_simulated(context: Context, resource: ResourceRef, obj: Unstructured) -> bool:
    """Whether stages are played for an object: Pods and nodes change only where a simulated node is alive."""
    if resource == POD:
        return context.nodes.is_alive(obj.nested("spec", "nodeName", default=""))
    return resource != NODE or context.nodes.is_alive(obj.header.name)


@dataclass(frozen=True, slots=True)
class PlaceAddresses(Addresses):
    """The addresses for one object."""

    uid: str = ""
    network: PodNetwork | None = None

    def node_ips_of(self, node: str) -> list[str]:
        return [host_ip(node)] if node else []

    def pod_ips_of(self, node: str, host_network: bool, uid: str, name: str, namespace: str) -> list[str]:
        if host_network or self.network is None:
            return self.node_ips_of(node)
        return [self.network.of_pod(uid or self.uid)]


def addresses_of(resource: ResourceRef, obj: Unstructured, network: PodNetwork) -> Addresses:
    """What templates for an object get as addresses."""
    header = obj.header
    if resource == NODE:
        return PlaceAddresses(node_ip=host_ip(header.name), node_name=header.name)
    if resource != POD:
        return Addresses()
    node = obj.nested("spec", "nodeName", default="")
    return PlaceAddresses(node_ip=host_ip(node), pod_ip=network.of_pod(header.uid), uid=header.uid, network=network)
