"""An operator that is installed by its manifests, on a real kube-apiserver: run as its Deployment would run it."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from hack.cluster.running import RealCluster, free_ports, kubeconfig
from hack.helm.binaries import PROGRAMS
from pilotage.meta.text import yamltext

from ...authorization import wait_granted
from ..programs import OPERATOR, program

pytestmark = pytest.mark.cluster

Kubectl = Callable[..., str]
WITHIN = 100


def written(folder: Path, name: str) -> Path:
    """The manifests of a program with a name and an API group of its own."""
    target = program(folder, OPERATOR.replace("greetings.example.com", f"{name}.example.com"))
    command = ["manifests", Path(target).name, "--name", name, "--output", "deploy"]
    ran = subprocess.run(
        [sys.executable, "-m", "pilotage.cli", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return folder / "deploy"


@pytest.fixture
def kubectl(real_control_plane: RealCluster) -> Kubectl:
    def run(*arguments: str, text: str = "") -> str:
        command = [str(real_control_plane.kubectl), "--kubeconfig", str(real_control_plane.kubeconfig), *arguments]
        ran = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run


def greeting(name: str) -> str:
    document = {
        "apiVersion": f"{name}.example.com/v1",
        "kind": "Greeting",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"text": "good morning"},
    }
    return json.dumps(document)


def test_the_program_runs_with_the_arguments_of_its_deployment_as_its_service_account(
    kubectl: Kubectl, real_control_plane: RealCluster, tmp_path: Path
) -> None:
    deploy = written(tmp_path, "plain")
    kubectl("apply", "--server-side", "-f", str(deploy))
    kubectl("wait", "--for=condition=Established", "crd/greetings.plain.example.com", f"--timeout={WITHIN}s")
    roles = yamltext.read_all((deploy / "install.yaml").read_text())
    asyncio.run(granted(real_control_plane, "system:serviceaccount:plain-system:plain", roles))
    token = kubectl("create", "token", "plain", "--namespace", "plain-system").strip()
    config: Any = kubeconfig(real_control_plane)
    config["users"][0]["user"] = {"token": token}
    config["contexts"][0]["context"]["namespace"] = "plain-system"  # in a Pod it is that of the service account
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    deployment = json.loads(kubectl("get", "deployment", "plain", "--namespace", "plain-system", "-o", "json"))
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    with running(container, tmp_path) as health:
        kubectl("apply", "-f", "-", text=greeting("plain"))
        kubectl("wait", "--for=create", "configmap/plain", "--namespace", "default", f"--timeout={WITHIN}s")
        read = ("get", "configmap", "plain", "--namespace", "default", "-o", "jsonpath={.data.text}")
        assert kubectl(*read) == "good morning"
        assert probe(health, "/readyz") == 200, "no permission is missing"
        assert probe(health, "/healthz") == 200
    kubectl("delete", "-f", str(deploy), "--wait=false")


async def granted(cluster: RealCluster, user: str, roles: list[Any]) -> None:
    async with pt.Cluster.connect(kubeconfig=str(cluster.kubeconfig)) as admin:
        await wait_granted(admin.client, user, roles)


@contextmanager
def running(container: dict[str, Any], folder: Path) -> Iterator[int]:
    """The command of a container, with free ports; yields that of the probes."""
    metrics, health = free_ports(2)
    arguments = " ".join(container["args"]).replace(":8080", f":{metrics}").replace(":8081", f":{health}").split()
    assert container["command"] == ["pilotage", "run"]
    command = [sys.executable, "-m", "pilotage.cli", "run", *arguments, "--kubeconfig", "kubeconfig"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield health
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=WITHIN)
        assert process.returncode == 0, output
    finally:
        process.kill()
        process.wait()


def probe(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_helm_installs_the_chart_and_keeps_the_crds_when_it_is_uninstalled(
    kubectl: Kubectl, real_control_plane: RealCluster, tmp_path: Path
) -> None:
    helm = PROGRAMS.cache() / PROGRAMS.digest() / "helm"
    if not helm.exists():
        pytest.skip("no helm: `make helm` builds it")
    deploy = written(tmp_path, "charted")

    def run(*arguments: str) -> None:
        command = [str(helm), "--kubeconfig", str(real_control_plane.kubeconfig), "--namespace", "charted", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr

    run("install", "charted", str(deploy / "chart"), "--create-namespace", "--set", "replicas=2")
    replicas = kubectl("get", "deployment", "charted", "--namespace", "charted", "-o", "jsonpath={.spec.replicas}")
    assert replicas == "2"
    kubectl("apply", "-f", "-", text=greeting("charted"))
    run("upgrade", "charted", str(deploy / "chart"), "--set", "metrics.enabled=false")
    assert kubectl("get", "services", "--namespace", "charted", "-o", "name") == ""
    run("uninstall", "charted")
    assert kubectl("get", "greetings.charted.example.com", "--namespace", "default", "-o", "name") != ""
    kubectl("delete", "crd", "greetings.charted.example.com", "--wait=false")
