"""The permissions of the manifests are enough: the example's agent works on a real API server with only these."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster
from pilotage.cli.manifests.daemonsets import DeviceManifests
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.models import ObjectMeta
from pilotage.meta.text import yamltext
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import APIRequest, Verb
from pilotage.types.core.v1 import Node

from ...authorization import wait_granted
from ...environments import WITHIN, Environment, over_there
from ..device.processes import serving

AGENT = Path(__file__).parents[3] / "examples" / "gpu_agent.py"
TAINT = "gpu.nvidia.com/reset-required"


@pytest.mark.cluster
async def test_the_agent_taints_its_node_with_the_rights_it_is_given(
    real_control_plane: RealCluster, tmp_path: Path
) -> None:
    manifests = DeviceManifests(namespace=f"device-{secrets.token_hex(4)}")
    node = f"node-{secrets.token_hex(4)}"
    async with over_there(real_control_plane) as environment:
        for objects in manifests.files().values():
            for obj in objects:
                await environment.client.create(Unstructured(obj))
        await environment.client.create(Node(metadata=ObjectMeta(name=node)))
        user = f"system:serviceaccount:{manifests.namespace}:{manifests.name}-agent"
        roles = [obj for objects in manifests.files().values() for obj in objects]
        await wait_granted(environment.client, user, roles)
        token = await token_of(environment, manifests)
        kubeconfig = kubeconfig_with(real_control_plane, token, tmp_path)
        socket = tmp_path / "device-api.sock"
        variables = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "NODE_NAME": node,
            "NVIDIA_DEVICE_API_TARGET": f"unix://{socket}",
        }
        with serving(socket, "--provider", "fake", "--failures", "1", "--period", "0.5"):
            agent = await asyncio.create_subprocess_exec(
                sys.executable, str(AGENT), "cluster", env=variables, stderr=subprocess.PIPE
            )
            try:
                async with asyncio.timeout(WITHIN):
                    await until_tainted(environment, node)
            finally:
                agent.terminate()
                _, errors = await agent.communicate()
        assert b"forbidden" not in errors.lower(), errors.decode()


async def token_of(environment: Environment, manifests: DeviceManifests) -> str:
    """A token of the agent's service account, as the kubelet would ask for one."""
    accounts = GroupVersionResource("", "v1", "serviceaccounts")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    request = APIRequest(
        Verb.CREATE,
        accounts,
        namespace=manifests.namespace,
        name=f"{manifests.name}-agent",
        subresource="token",
        body=json.dumps(review).encode(),
    )
    return str(json.loads((await environment.transport.call(request)).body)["status"]["token"])


def kubeconfig_with(cluster: RealCluster, token: str, folder: Path) -> Path:
    """The cluster's kubeconfig with another token in it."""
    document = yamltext.read(cluster.kubeconfig.read_text())
    document["users"] = [{"name": user["name"], "user": {"token": token}} for user in document["users"]]
    path = folder / "kubeconfig"
    path.write_text(yamltext.write(document))
    return path


async def until_tainted(environment: Environment, name: str) -> None:
    async with environment.client.watch(Node, fields={"metadata.name": name}) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                spec = event.object.spec
                if spec is not None and any(taint.key == TAINT for taint in spec.taints):
                    return
