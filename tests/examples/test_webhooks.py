"""The webhooks of the examples, as they stand, in each environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster

from .. import forked

PROGRAM = Path(__file__).parents[2] / "examples" / "webhooks.py"
OUTPUT = """\
defaulted: A4
refused: spec.title: Invalid value: "winter": must begin with a capital letter
refused: spec.pages: Invalid value: 5: may not shrink
refused: admission webhook "validate-v1.guestbooks.webhooks.pilotage.dev" denied the request: it is labelled to be kept
deleted
"""


def run(world: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return forked.run(str(PROGRAM), world, folder=folder, environment=os.environ | variables)


@pytest.mark.covers("T181")
def test_they_run_in_memory(tmp_path: Path) -> None:
    ran = run("memory:", tmp_path)
    assert (ran.stdout, ran.returncode) == (OUTPUT, 0), ran.stderr


def test_they_run_twice_on_one_file(tmp_path: Path) -> None:
    for _ in range(2):
        ran = run("sqlite:books.db", tmp_path)
        assert (ran.stdout, ran.returncode) == (OUTPUT, 0), ran.stderr


@pytest.mark.cluster
@pytest.mark.covers("T181")
def test_they_run_twice_on_a_real_cluster(tmp_path: Path, real_control_plane: RealCluster) -> None:
    for _ in range(2):
        ran = run("cluster", tmp_path, KUBECONFIG=str(real_control_plane.kubeconfig))
        assert (ran.stdout, ran.returncode) == (OUTPUT, 0), ran.stderr
