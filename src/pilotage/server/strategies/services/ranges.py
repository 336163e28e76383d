"""Where the addresses and ports of Services come from, as with kube-apiserver's `--service-cluster-ip-range`."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

CLUSTER_NETWORK = IPv4Network("10.0.0.0/24")
NODE_PORTS = range(30000, 32768)
FAMILIES = ("IPv4",)
"""The cluster has one stack."""
NO_ADDRESS = "None"
"""The cluster IP of a headless Service."""


def in_cluster_network(address: object) -> bool:
    """Whether a Service can have an address: one of the network, but neither its first nor its last."""
    first, last = CLUSTER_NETWORK.network_address, CLUSTER_NETWORK.broadcast_address
    return isinstance(address, IPv4Address) and first < address < last
