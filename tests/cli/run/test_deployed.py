"""A run on the machine of a developer, on a cluster to which the manifests of the program were applied."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.running import RealCluster
from tests import forked
from tests.cli.run.greetings import OPERATOR, write_object, write_operator
from tests.forked import ForkedProcess

pytestmark = pytest.mark.cluster

HOOK = """
class Hook:
    def default(self, greeting: Greeting) -> None:
        greeting.metadata.labels["seen"] = "yes"

def setup(manager: pt.Manager) -> None:
    GreetingReconciler(manager).setup_with_manager(manager)
    pt.WebhookBuilder(manager).for_(Greeting).with_defaulter(Hook()).complete()
"""
GROUP = "deployed.pilotage.dev"
CONFIGURATION = f"mutatingwebhookconfigurations/mutate-v1.greetings.{GROUP}"
DEFINITION = f"crd/greetings.{GROUP}"
SECRET = ("secret", "pilotage-webhook-certificate", "--ignore-not-found", "-o", "name")
Kubectl = Callable[..., str]


@pytest.fixture
def kubectl(real_control_plane: RealCluster, tmp_path: Path) -> Kubectl:
    def run(*words: str) -> str:
        command = [str(real_control_plane.kubectl), "--kubeconfig", str(real_control_plane.kubeconfig), *words]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run


@pytest.fixture
def words(real_control_plane: RealCluster, tmp_path: Path) -> tuple[str, ...]:
    """The program, its manifests, an object of it, and the command line that runs it."""
    write_operator(tmp_path, OPERATOR.replace("greetings.pilotage.dev", GROUP) + HOOK)
    world = write_object(tmp_path)
    world.write_text(world.read_text().replace("greetings.pilotage.dev", GROUP))
    written = forked.run(
        "-m", "pilotage.cli", "manifests", "hello.py", "--name", "hello", "--output", "deploy", folder=tmp_path
    )
    assert written.returncode == 0, written.stderr
    config = ("--kubeconfig", str(real_control_plane.kubeconfig))
    return ("hello.py", *config, "--webhook-bind-address", "127.0.0.1:0", "--log-level", "error")


def pilotage(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.run("-m", "pilotage.cli", "run", *words, folder=folder)


def state(kubectl: Kubectl, *names: str) -> list[dict[str, Any]]:
    return [json.loads(kubectl("get", name, "-o", "json", "--show-managed-fields")) for name in names]


def test_a_run_leaves_what_was_applied_as_it_is_and_serves_webhooks_only_where_it_was_deleted(
    tmp_path: Path, kubectl: Kubectl, words: tuple[str, ...]
) -> None:
    kubectl("apply", "--server-side", "-f", "deploy/install.yaml")
    applied = state(kubectl, CONFIGURATION, DEFINITION)
    for flags in (("--install",), ()):
        ran = pilotage(tmp_path, *words, *flags, "--until-idle")
        assert ran.returncode == 1
        assert (
            f"mutate-v1.greetings.{GROUP} calls the Service hello-system/hello-webhook-service, set by kubectl"
            in ran.stderr
        )
        assert "--webhook-bind-address 0" in ran.stderr
    ran = pilotage(tmp_path, *words, "--install", "--webhook-bind-address", "0", "--until-idle")
    assert ran.returncode == 0, ran.stderr
    assert state(kubectl, CONFIGURATION, DEFINITION) == applied
    assert kubectl("get", *SECRET) == "", "the certificate of the deployed program is not written"

    kubectl("delete", "mutatingwebhookconfigurations", "-l", "app.kubernetes.io/name=hello")
    serving = ForkedProcess("-m", "pilotage.cli", "run", *words, "--install", "-f", "world.yaml", folder=tmp_path)
    assert serving.stdout.readline() == "greeted world\n"
    # Not the object of -f: the part of kube-apiserver that serves CRDs may notice webhooks later than the rest.
    (tmp_path / "moon.yaml").write_text((tmp_path / "world.yaml").read_text().replace("world", "moon"))
    kubectl("create", "-f", "moon.yaml")
    assert kubectl("get", "greetings", "moon", "-o", "jsonpath={.metadata.labels.seen}") == "yes"
    serving.send_signal(signal.SIGTERM)
    _, errors = serving.communicate(100)
    assert serving.returncode == 0, errors
    kubectl("apply", "--server-side", "-f", "deploy/install.yaml")
    assert state(kubectl, CONFIGURATION)[0]["webhooks"] == applied[0]["webhooks"]
    kubectl("delete", "-f", "deploy/install.yaml", "--wait=false")


def test_a_run_that_was_killed_is_followed_by_one_that_removes_what_it_has_left(
    tmp_path: Path, kubectl: Kubectl, words: tuple[str, ...]
) -> None:
    killed = ForkedProcess("-m", "pilotage.cli", "run", *words, "--install", "-f", "world.yaml", folder=tmp_path)
    assert killed.stdout.readline() == "greeted world\n"
    killed.kill()
    killed.communicate(100)
    assert "url" in state(kubectl, CONFIGURATION)[0]["webhooks"][0]["clientConfig"]
    following = ForkedProcess("-m", "pilotage.cli", "run", *words, "--install", "-f", "world.yaml", folder=tmp_path)
    assert following.stdout.readline() == "greeted world\n"
    following.send_signal(signal.SIGTERM)
    _, errors = following.communicate(100)
    assert following.returncode == 0, errors
    assert kubectl("get", CONFIGURATION, "--ignore-not-found") == ""
    kubectl("delete", DEFINITION, "--wait=false")
    kubectl("delete", *SECRET[:2])
