"""Tests on a cluster: the same as on the embedded API server, and nothing is left of them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pilotage as pt
from hack.cluster.running import RealCluster
from pilotage.client.config import load
from pilotage.testing.remote import remote_environment
from pilotage.testing.remoteloop import RemoteLoop
from pilotage.types.core.v1 import ConfigMap, Namespace

GREETINGS = Path(__file__).parents[2] / "examples" / "test_greetings.py"

pytestmark = pytest.mark.cluster


def test_the_example_passes_on_a_cluster_as_it_stands(real_control_plane: RealCluster) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pilotage-cluster", str(GREETINGS)]
    environment = os.environ | {"KUBECONFIG": str(real_control_plane.kubeconfig)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "5 passed" in ran.stdout, ran.stdout
    assert f"pilotage: tests run on {real_control_plane.url}" in ran.stdout


def test_what_a_test_has_created_is_deleted_with_its_finalizers_and_namespaces(real_control_plane: RealCluster) -> None:
    config = load(str(real_control_plane.kubeconfig))

    async def create() -> None:
        async with remote_environment(config) as env:
            held = ConfigMap(metadata=pt.ObjectMeta(name="held", namespace="of-a-test", finalizers=["testing.dev/x"]))
            await env.given(held)
            await env.manager.client.create(ConfigMap(metadata=pt.ObjectMeta(name="free", namespace="of-a-test")))
            await env.client.delete(held)

    async def left() -> list[str]:
        async with pt.Cluster.connect(kubeconfig=str(real_control_plane.kubeconfig)) as cluster:
            maps = await cluster.client.list(ConfigMap, namespace="of-a-test")
            namespace = await cluster.client.find(Namespace, "of-a-test")
            return [*(one.metadata.name for one in maps), *([] if namespace is None else ["of-a-test"])]

    with asyncio.Runner(loop_factory=RemoteLoop) as runner:
        runner.run(create())
    assert asyncio.run(left()) == []
