"""The programs with webhooks and with conversion, unchanged, in each environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster

from .. import forked

EXAMPLES = Path(__file__).parents[2] / "examples"
OUTPUT = {
    "webhooks.py": """\
defaulted: A4
refused: spec.title: Invalid value: "winter": must begin with a capital letter
refused: spec.pages: Invalid value: 5: may not shrink
refused: admission webhook "validate-v1.guestbooks.webhooks.pilotage.dev" denied the request: it is labelled to be kept
deleted
""",
    "conversion.py": """\
v2: 30 2
v1: 30 3
""",
}
by_name = pytest.mark.parametrize("name", OUTPUT)


def run(name: str, where: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return forked.run(str(EXAMPLES / name), where, folder=folder, environment=os.environ | variables)


@by_name
@pytest.mark.covers("T181", "T183")
def test_they_run_in_memory(name: str, tmp_path: Path) -> None:
    ran = run(name, "memory:", tmp_path)
    assert (ran.stdout, ran.returncode) == (OUTPUT[name], 0), ran.stderr


@by_name
def test_they_run_twice_on_one_file(name: str, tmp_path: Path) -> None:
    for _ in range(2):
        ran = run(name, "sqlite:objects.db", tmp_path)
        assert (ran.stdout, ran.returncode) == (OUTPUT[name], 0), ran.stderr


@by_name
@pytest.mark.cluster
@pytest.mark.covers("T181", "T183")
def test_they_run_twice_on_a_real_cluster(name: str, tmp_path: Path, real_control_plane: RealCluster) -> None:
    for _ in range(2):
        ran = run(name, "cluster", tmp_path, KUBECONFIG=str(real_control_plane.kubeconfig))
        assert (ran.stdout, ran.returncode) == (OUTPUT[name], 0), ran.stderr
