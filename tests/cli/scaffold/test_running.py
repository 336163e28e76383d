"""What `init` and `create` write runs on memory and on a cluster, and can be deployed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from hack.cluster import running
from hack.cluster.running import RealCluster
from pilotage.meta.kinds import GroupVersionKind

from ...environments import WITHIN, over_there
from .conftest import Pilotage

RUN = [sys.executable, "-m", "pilotage.cli", "run", "--until-idle", "--filename", "deploy/samples"]


@pytest.fixture
def guestbook(pilotage: Pilotage, project: Path) -> Path:
    pilotage("create api Guestbook")
    return project


def test_a_project_with_versions_and_webhooks_runs_on_memory(pilotage: Pilotage, guestbook: Path) -> None:
    pilotage("create webhook Guestbook --defaulting --validating")
    pilotage("create api Guestbook --version v2")
    pilotage("create webhook Guestbook --conversion")
    pilotage("create controller apps/v1 Deployment")
    ran = subprocess.run([*RUN, "--storage", "memory:"], cwd=guestbook, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "Everything is reconciled" in ran.stderr


def test_its_manifests_are_written_beside_its_samples(pilotage: Pilotage, guestbook: Path) -> None:
    pilotage("manifests")
    assert (guestbook / "deploy/install.yaml").is_file()
    assert (guestbook / "deploy/samples/guestbook-v1.yaml").is_file()
    pilotage("manifests --check")


@pytest.mark.cluster
def test_the_tests_of_a_project_pass_on_a_cluster(guestbook: Path, real_control_plane: RealCluster) -> None:
    config = guestbook / "kubeconfig"
    config.write_text(json.dumps(running.kubeconfig(real_control_plane)))
    command = [sys.executable, "-m", "pytest", "-p", "pilotage.testing.plugin", "-q", "-p", "no:cacheprovider"]
    command += ["--pilotage-cluster", f"--pilotage-kubeconfig={config}"]
    ran = subprocess.run(command, cwd=guestbook, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.cluster
async def test_a_project_runs_on_a_cluster(guestbook: Path, real_control_plane: RealCluster) -> None:
    config = guestbook / "kubeconfig"
    config.write_text(json.dumps(running.kubeconfig(real_control_plane)))
    async with over_there(real_control_plane) as environment, asyncio.timeout(WITHIN):
        ran = await asyncio.create_subprocess_exec(
            *RUN, "--install", "--kubeconfig", str(config), cwd=guestbook, stderr=subprocess.PIPE
        )
        _, errors = await ran.communicate()
        assert ran.returncode == 0, errors.decode()
        kind = GroupVersionKind("guestbook.example.com", "v1", "Guestbook")
        found = await environment.client.get(kind, "example", namespace="default")
        await environment.client.delete(found)  # the tests of the project create one of this name
    assert found["status"]["conditions"][0]["status"] == "True"
