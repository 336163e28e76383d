"""The operator of the examples, unchanged, in each of its environments."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster

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
