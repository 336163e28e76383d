"""What is simulated on a remote cluster: what it lacks, and nothing that it has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import pilotage as pt
from hack.cluster.controllers import real_controllers
from hack.cluster.running import RealCluster, binaries
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.times import MicroTime
from pilotage.types.apps.v1 import Deployment, ReplicaSet
from pilotage.types.coordination.v1 import Lease, LeaseSpec
from pilotage.types.core.v1 import Node, Pod
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.controllers import MODULES
from pilotage.workloads.presence import Presence, is_renewed, is_run, missing_controllers

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROLLOUT = Path(__file__).parents[2] / "examples" / "test_rollout.py"
FIRST = "test_a_shop_is_ready_when_its_pods_are"


def lease(name: str, age: float, holder: str = "someone") -> Lease:
    renewed = MicroTime.of(NOW - timedelta(seconds=age))
    spec = LeaseSpec(holder_identity=holder, lease_duration_seconds=15, renew_time=renewed)
    return Lease(metadata=ObjectMeta(name=name), spec=spec)


def node(name: str, **annotations: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, annotations=annotations))


def test_an_api_server_alone_lacks_everything() -> None:
    assert set(missing_controllers(Presence())) == set(MODULES)


def test_a_whole_cluster_lacks_nothing() -> None:
    assert missing_controllers(Presence(True, True, True, True)) == ()


def test_a_cluster_without_nodes_lacks_the_nodes() -> None:
    presence = Presence(has_controller_manager=True, has_scheduler=True)
    assert missing_controllers(presence) == ("kubelet", "storage-provisioner")


def test_volumes_are_simulated_only_for_simulated_nodes() -> None:
    presence = Presence(has_controller_manager=True, has_kubelets=True)
    assert missing_controllers(presence) == ("scheduler",)
    assert "storage-provisioner" not in missing_controllers(Presence(has_storage_classes=True))


@pytest.mark.parametrize(
    ("found", "runs"),
    [(lease("a", 5), True), (lease("a", 3600), False), (lease("a", 5, ""), False), (None, False)],
)
def test_the_holder_of_a_lease_runs_if_it_was_renewed_lately(found: Lease | None, runs: bool) -> None:
    assert is_renewed(found, NOW) is runs


def test_a_node_runs_if_its_lease_is_renewed_and_it_is_not_simulated() -> None:
    leases = [lease("a", 5), lease("b", 3600)]
    assert is_run(node("a"), leases, NOW)
    assert not is_run(node("b"), leases, NOW)
    assert not is_run(node("c"), leases, NOW)
    assert not is_run(node("a", **{"workloads.pilotage.dev/node": "simulated"}), leases, NOW)


@pytest.fixture
def controllers(own_control_plane: RealCluster) -> Iterator[RealCluster]:
    """A real cluster with its controllers and scheduler."""
    found = binaries()
    assert not isinstance(found, str)
    with real_controllers(found, own_control_plane):
        yield own_control_plane


def rollout(cluster: RealCluster) -> str:
    """The output of a test with workloads on a cluster."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "log_cli=true", "--log-cli-level=INFO"]
    command += ["--pilotage-cluster", f"{ROLLOUT}::{FIRST}"]
    environment = os.environ | {"KUBECONFIG": str(cluster.kubeconfig)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


async def left(cluster: RealCluster) -> list[str]:
    """What a test has left on a cluster."""
    kinds = (Deployment, ReplicaSet, Pod, Node, StorageClass)
    async with pt.Cluster.connect(kubeconfig=str(cluster.kubeconfig)) as connected:
        leases = await connected.client.list(Lease, namespace="kube-node-lease")
        found = [one.metadata.name for kind in kinds for one in await connected.client.list(kind)]
        return [*found, *(one.metadata.name for one in leases)]


@pytest.mark.cluster
async def test_the_example_passes_on_an_api_server_alone(own_control_plane: RealCluster) -> None:
    output = rollout(own_control_plane)
    assert "1 passed" in output, output
    assert "Simulating what the cluster lacks" in output
    assert "deployment-controller" in output
    assert await left(own_control_plane) == []


@pytest.mark.cluster
async def test_the_example_passes_beside_kubernetes_own_controllers(controllers: RealCluster) -> None:
    output = rollout(controllers)
    assert "1 passed" in output, output
    assert "kubelet, storage-provisioner" in output
    assert "deployment-controller" not in output
    assert "node-1" not in await left(controllers)
