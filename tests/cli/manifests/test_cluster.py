"""The manifests on a real kube-apiserver: applied, built by kustomize, rendered by helm."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.running import RealCluster
from hack.helm.binaries import PROGRAMS
from pilotage.meta.text import yamltext

from ..programs import OPERATOR, WEBHOOKS, program

pytestmark = pytest.mark.cluster

Kubectl = Callable[..., str]
Key = tuple[str, str, str]
NAMESPACE = "greetings-system"
KINDS_OF_OTHERS = {
    "servicemonitors.monitoring.coreos.com": "ServiceMonitor",
    "issuers.cert-manager.io": "Issuer",
    "certificates.cert-manager.io": "Certificate",
}


@pytest.fixture(scope="module")
def kubectl(real_control_plane: RealCluster) -> Iterator[Kubectl]:
    """kubectl, on a cluster that has the kinds of the Prometheus operator and of cert-manager, and the namespaces."""
    config = ("--kubeconfig", str(real_control_plane.kubeconfig))

    def run(*arguments: str, text: str = "") -> str:
        command = [str(real_control_plane.kubectl), *config, *arguments]
        ran = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    definitions = [_definition(name, kind) for name, kind in KINDS_OF_OTHERS.items()]
    names = [json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}) for name in ("a", "b")]
    run("apply", "--server-side", "-f", "-", text="\n---\n".join([*map(json.dumps, definitions), *names]))
    for name in KINDS_OF_OTHERS:
        run("wait", "--for=condition=Established", f"crd/{name}", "--timeout=100s")
    yield run
    run("delete", "crd", *KINDS_OF_OTHERS, "--wait=false")


def _definition(name: str, kind: str) -> dict[str, Any]:
    plural, _, group = name.partition(".")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.fixture(scope="module")
def deploy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifests of a program with webhooks."""
    folder = tmp_path_factory.mktemp("program")
    target = program(folder, OPERATOR + WEBHOOKS)
    command = ["manifests", f"{Path(target).name}:with_webhooks", "--name", "greetings", "--output", "deploy"]
    ran = subprocess.run(
        [sys.executable, "-m", "pilotage.cli", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return folder / "deploy"


@pytest.fixture(scope="module")
def installed(kubectl: Kubectl, deploy: Path) -> Iterator[None]:
    """All objects of the plain manifests."""
    kubectl("apply", "--server-side", "-f", str(deploy))
    yield
    kubectl("delete", "-f", str(deploy), "--wait=false")


def documents(text: str) -> dict[Key, Any]:
    found = yamltext.read_all(text)
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in found}


@pytest.mark.usefixtures("installed")
def test_all_forms_are_accepted(kubectl: Kubectl, deploy: Path, tmp_path: Path) -> None:
    plain = (deploy / "install.yaml").read_text()
    dry_run = ("apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-")
    assert len(kubectl(*dry_run, text=plain).splitlines()) == len(documents(plain))
    whole = tmp_path / "deploy" / "overlays" / "production"
    subprocess.run(["cp", "-r", str(deploy), str(tmp_path / "deploy")], check=True)
    lines = (whole / "kustomization.yaml").read_text().splitlines()
    begin = lines.index("# components:")
    uncommented = [*lines[:begin], *(line.removeprefix("# ") for line in lines[begin:])]
    (whole / "kustomization.yaml").write_text("\n".join(uncommented))
    for folder in (deploy / "base", deploy / "overlays" / "dev", deploy / "overlays" / "production", whole):
        built = kubectl("kustomize", str(folder))
        assert len(kubectl(*dry_run, text=built).splitlines()) == len(documents(built)), folder
    found = documents(kubectl("kustomize", str(whole)))
    assert {"ServiceMonitor", "Certificate", "Issuer", "PodDisruptionBudget"} <= {kind for kind, _, _ in found}
    assert ("Role", NAMESPACE, "greetings-webhook") not in found, "cert-manager has the certificate"
    pod = found["Deployment", NAMESPACE, "greetings"]["spec"]["template"]["spec"]
    assert "--webhook-certificates=/certificates" in pod["containers"][0]["args"]
    assert (
        pod["volumes"][-1]["secret"]["secretName"]
        == found["Certificate", NAMESPACE, "greetings-serving-cert"]["spec"]["secretName"]
    )


@pytest.mark.usefixtures("installed")
def test_its_pods_are_admitted_in_the_restricted_namespace(kubectl: Kubectl, deploy: Path) -> None:
    template = documents((deploy / "install.yaml").read_text())["Deployment", NAMESPACE, "greetings"]["spec"][
        "template"
    ]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": NAMESPACE}, **template}
    pod["metadata"] = {**template["metadata"], "name": "one", "namespace": NAMESPACE}
    created = kubectl("create", "--dry-run=server", "-o", "name", "-f", "-", text=json.dumps(pod))
    assert created == "pod/one\n", "enforced by the plugin PodSecurity, which refuses all others"


def test_the_base_is_the_plain_manifests(kubectl: Kubectl, deploy: Path) -> None:
    built = documents(kubectl("kustomize", str(deploy / "base")))
    assert built == documents((deploy / "install.yaml").read_text())


@pytest.fixture(scope="module")
def helm(deploy: Path) -> Callable[..., dict[Key, Any]]:
    """Renders the chart with values."""
    program = PROGRAMS.cache() / PROGRAMS.digest() / "helm"
    if not program.exists():
        pytest.skip("no helm: `make helm` builds it")

    def template(*values: str, namespace: str = NAMESPACE) -> dict[Key, Any]:
        sets = [word for value in values for word in ("--set", value)]
        command = [str(program), "template", "greetings", str(deploy / "chart"), "--namespace", namespace, *sets]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return documents(ran.stdout)

    return template


def test_the_chart_renders_the_plain_manifests(helm: Callable[..., dict[Key, Any]], deploy: Path) -> None:
    plain = documents((deploy / "install.yaml").read_text())
    del plain["Namespace", "", NAMESPACE]  # `helm install --create-namespace` creates it before the release
    assert helm("crds.keep=false") == plain
    kept = helm()
    name = ("CustomResourceDefinition", "", "greetings.greetings.example.com")
    assert kept[name]["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert kept == plain


def test_the_values_of_the_chart_do_what_they_say(helm: Callable[..., dict[Key, Any]], kubectl: Kubectl) -> None:
    found = helm(
        "image.repository=registry.example/a",
        "image.tag=2",
        "replicas=3",
        "resources.limits.memory=1Gi",
        "namespaces={a,b}",
        "leaderElection.id=other",
        "metrics.port=9090",
        "metrics.serviceMonitor.enabled=true",
        "metrics.serviceMonitor.labels.release=prometheus",
        "webhooks.certManager.enabled=true",
        "podDisruptionBudget.enabled=true",
        "extraArgs={--max-concurrent-reconciles=4}",
        "nodeSelector.disk=ssd",
        namespace="a",
    )
    deployment = found["Deployment", "a", "greetings"]["spec"]
    [container] = deployment["template"]["spec"]["containers"]
    assert (deployment["replicas"], container["image"]) == (3, "registry.example/a:2")
    assert container["resources"]["limits"]["memory"] == "1Gi"
    assert container["args"][1:] == [
        "--leader-elect",
        "--leader-election-id=other",
        "--namespace=a,b",
        "--webhook-service=greetings-webhook-service",
        "--metrics-bind-address=:9090",
        "--health-probe-bind-address=:8081",
        "--log-format=json",
        "--webhook-certificates=/certificates",
        "--max-concurrent-reconciles=4",
    ]
    assert {name for kind, _, name in found if kind == "ClusterRole"} == set()
    roles = {(namespace, name) for kind, namespace, name in found if kind == "Role"}
    assert roles == {("a", "greetings-manager"), ("b", "greetings-manager"), ("a", "greetings-leader-election")}
    assert found["ServiceMonitor", "a", "greetings"]["metadata"]["labels"]["release"] == "prometheus"
    annotations = found["MutatingWebhookConfiguration", "", "mutate-v1.greetings.greetings.example.com"]["metadata"][
        "annotations"
    ]
    assert annotations == {"cert-manager.io/inject-ca-from": "a/greetings-serving-cert"}
    applied = kubectl(
        *("apply", "--server-side", "--dry-run=server", "-f", "-"), text=yamltext.write_all(list(found.values()))
    )
    assert len(applied.splitlines()) == len(found)


def test_parts_of_the_chart_can_be_turned_off(helm: Callable[..., dict[Key, Any]]) -> None:
    off = ("metrics", "webhooks", "leaderElection", "networkPolicy")
    found = helm(*(f"{name}.enabled=false" for name in off), "crds.install=false")
    assert {kind for kind, _, _ in found} == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment"}
    [container] = found["Deployment", NAMESPACE, "greetings"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][1:] == [
        "--health-probe-bind-address=:8081",
        "--log-format=json",
        "--webhook-bind-address=0",
    ]
    assert [port["name"] for port in container["ports"]] == ["health"]
