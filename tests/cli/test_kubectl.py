"""kubectl, the real one, on `pilotage serve`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hack.cluster import running

pytestmark = pytest.mark.cluster

Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]

MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {team: colours}}
data: {colour: red}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.demo.pilotage.dev}
spec:
  group: demo.pilotage.dev
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer, minimum: 1}}}}
"""
WIDGET = """
apiVersion: demo.pilotage.dev/v1
kind: Widget
metadata: {name: one}
spec: {size: %s}
"""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    binaries = running.binaries()
    if isinstance(binaries, str):
        pytest.skip(binaries)
    folder = tmp_path_factory.mktemp("serve")
    kubeconfig = folder / "kubeconfig"
    command = [sys.executable, "-m", "pilotage.cli", "serve", "--bind", "127.0.0.1:0"]
    command += ["--storage", f"sqlite:{folder}/state.db", "--kubeconfig", str(kubeconfig)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert "serving" in server.stdout.readline()

    def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                str(binaries / "kubectl"),
                "--kubeconfig",
                str(kubeconfig),
                "--cache-dir",
                str(folder / "cache"),
                *arguments,
            ],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    try:
        yield run
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(100) == 0
        server.stdout.close()


def test_get_lists_the_namespaces_that_are_always_there(kubectl: Kubectl) -> None:
    ran = kubectl("get", "namespaces", "-o", "name")
    assert ran.stdout.split() == [
        f"namespace/{name}" for name in ("default", "kube-node-lease", "kube-public", "kube-system")
    ]


def test_get_prints_a_table(kubectl: Kubectl) -> None:
    ran = kubectl("get", "namespaces")
    assert ran.stdout.splitlines()[0].split() == ["NAME", "STATUS", "AGE"]


def test_api_resources_shows_built_in_kinds_and_those_of_new_definitions(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", stdin=MANIFEST).returncode == 0
    lines = kubectl("api-resources").stdout.splitlines()
    assert any(line.split() == ["deployments", "deploy", "apps/v1", "true", "Deployment"] for line in lines)
    assert any(line.split() == ["widgets", "wd", "demo.pilotage.dev/v1", "true", "Widget"] for line in lines)
    assert kubectl("delete", "-f", "-", stdin=MANIFEST).returncode == 0


def test_objects_are_created_selected_and_deleted(kubectl: Kubectl) -> None:
    made = kubectl("create", "-f", "-", stdin=MANIFEST)
    assert made.stdout.splitlines() == [
        "configmap/settings created",
        "customresourcedefinition.apiextensions.k8s.io/widgets.demo.pilotage.dev created",
    ]
    assert kubectl("create", "-f", "-", stdin=WIDGET % 3).stdout == "widget.demo.pilotage.dev/one created\n"
    found = json.loads(kubectl("get", "wd", "one", "-o", "json").stdout)
    assert (found["spec"], found["metadata"]["generation"]) == ({"size": 3}, 1)
    assert kubectl("get", "configmaps", "-l", "team=colours", "-o", "name").stdout == "configmap/settings\n"
    assert kubectl("get", "configmaps", "-l", "team=shapes", "-o", "name").stdout == ""
    assert "deleted" in kubectl("delete", "widget", "one").stdout
    assert "NotFound" in kubectl("get", "widget", "one").stderr
    assert kubectl("delete", "-f", "-", stdin=MANIFEST).returncode == 0


def test_what_is_invalid_is_refused_with_the_reason(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=MANIFEST)
    refused = kubectl("create", "-f", "-", stdin=WIDGET % 0)
    assert refused.returncode == 1
    assert "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1" in refused.stderr
    unknown = kubectl("create", "-f", "-", stdin=(WIDGET % 1).replace("size", "sise"))
    assert 'unknown field "spec.sise"' in unknown.stderr
    kubectl("delete", "-f", "-", stdin=MANIFEST)


def test_a_namespace_is_deleted_with_what_is_in_it(kubectl: Kubectl) -> None:
    namespace = '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}'
    assert kubectl("create", "-f", "-", stdin=namespace).returncode == 0
    config_map = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "team"}}'
    assert kubectl("create", "-f", "-", stdin=config_map).returncode == 0
    assert kubectl("delete", "namespace", "team", "--timeout=90s").returncode == 0
    assert kubectl("get", "configmaps", "-n", "team", "-o", "name").stdout == ""


def test_a_wrong_token_is_refused(kubectl: Kubectl) -> None:
    # In brackets is a reason, which depends on whether kubectl has discovery in its cache.
    assert "error: You must be logged in to the server (" in kubectl("get", "namespaces", "--token", "wrong").stderr


def test_the_kubeconfig_is_for_its_owner_alone(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> None:
    kubeconfig = next(Path(tmp_path_factory.getbasetemp()).glob("serve*/kubeconfig"))
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
