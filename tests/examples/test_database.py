"""The operator of the examples, unchanged, in each of its environments."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import pilotage as pt
from examples.database import Database, DatabaseReconciler, DatabaseSpec
from hack.cluster.running import RealCluster
from pilotage.testing import Environment
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import Event, Pod, Secret

from .. import forked

PROGRAM = Path(__file__).parents[2] / "examples" / "database.py"
OUTPUT = "main: Running\nStatefulSet main: 3 replicas\nowned by Database\n"


def run(where: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return forked.run(str(PROGRAM), where, folder=folder, environment=os.environ | variables)


def test_it_runs_in_memory(tmp_path: Path) -> None:
    ran = run("memory:", tmp_path)
    assert (ran.stdout, ran.returncode) == (OUTPUT, 0), ran.stderr


def test_it_runs_twice_on_one_file(tmp_path: Path) -> None:
    for _ in range(2):
        ran = run("sqlite:demo.db", tmp_path)
        assert (ran.stdout, ran.returncode) == (OUTPUT, 0), ran.stderr


@pytest.mark.cluster
def test_it_runs_twice_on_a_real_cluster(tmp_path: Path, real_control_plane: RealCluster) -> None:
    for _ in range(2):
        ran = run("cluster", tmp_path, KUBECONFIG=str(real_control_plane.kubeconfig))
        assert (ran.stdout, ran.returncode) == (OUTPUT, 0), ran.stderr


def test_without_a_cluster_the_error_lists_where_it_looked(tmp_path: Path) -> None:
    ran = run("cluster", tmp_path, HOME=str(tmp_path), KUBECONFIG="")
    assert ran.returncode == 1
    assert "kubeconfig" in ran.stderr.splitlines()[-1].lower()


def database(replicas: int) -> Database:
    meta = pt.ObjectMeta(name="main", namespace="default")
    return Database(metadata=meta, spec=DatabaseSpec(engine="postgres", replicas=replicas))


def password() -> Secret:
    meta = pt.ObjectMeta(name="main-password", namespace="default", labels={"database": "main"})
    return Secret(metadata=meta, string_data={"password": "correct horse"})


@pytest.fixture
async def env(pilotage_env: Environment) -> Environment:
    await pilotage_env.cluster.install(Database)
    DatabaseReconciler(pilotage_env.manager).setup_with_manager(pilotage_env.manager)
    return pilotage_env


async def test_with_workloads_the_servers_of_a_database_run(env: Environment) -> None:
    async with env.workloads(nodes=2) as workloads:
        await env.given(database(replicas=3), password())
        await env.run_until_idle()
        assert [pod.name for pod in workloads.pods("default") if pod.is_ready] == ["main-0", "main-1", "main-2"]
        servers = await env.client.get(StatefulSet, "main", namespace="default")
        assert servers.status is not None
        assert servers.status.ready_replicas == 3


async def test_with_workloads_a_database_that_loses_a_server_gets_it_back(env: Environment) -> None:
    async with env.workloads() as workloads:
        await env.given(database(replicas=2), password())
        await env.run_until_idle()
        before = await env.client.get(Pod, "main-0", namespace="default")
        await env.client.delete(before)
        await env.run_until_idle()
        after = await env.client.get(Pod, "main-0", namespace="default")
        assert after.metadata.uid != before.metadata.uid
        assert [pod.is_ready for pod in workloads.pods("default")] == [True, True]


async def test_with_workloads_the_next_server_waits_for_the_first(env: Environment) -> None:
    async with env.workloads() as workloads:
        workloads.fail_image("postgres")
        await env.given(database(replicas=2), password())
        await env.run_until_idle()
        assert [pod.name for pod in workloads.pods("default")] == ["main-0"]
        events = await env.client.list(Event, namespace="default")
        assert "ErrImagePull" in " ".join(event.message or "" for event in events)
