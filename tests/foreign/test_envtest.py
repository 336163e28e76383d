"""A Go operator and its suite, as a project of kubebuilder has it, on the launchers of `pilotage assets` and on real
programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hack.cluster.running import binaries
from pilotage.cli.assets.launchers import write_launchers

pytestmark = pytest.mark.foreign
SCRIPT = Path(__file__).parents[2] / "hack" / "envtest" / "binaries.py"


@pytest.fixture(scope="module")
def suite() -> Path:
    """The tests of the operator, as a program."""
    where = subprocess.run([sys.executable, str(SCRIPT), "--where"], capture_output=True, text=True, check=False)
    if where.returncode != 0:
        pytest.skip(where.stderr.strip())
    return Path(where.stdout.strip()) / "suite"


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assets")
    write_launchers(folder)
    return folder


def passed(suite: Path, assets: Path, **variables: str) -> list[str]:
    """The tests that have passed; all that run must."""
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(assets), **variables}
    ran = subprocess.run([suite, "-test.v"], env=environment, capture_output=True, text=True, timeout=250, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return [line.split()[2] for line in ran.stdout.splitlines() if line.startswith("--- PASS: ")]


def test_the_suite_passes_on_the_launchers(suite: Path, assets: Path) -> None:
    assert passed(suite, assets) == ["TestOperator"]


def test_it_passes_on_the_real_programs(suite: Path) -> None:
    real = binaries()
    if isinstance(real, str):
        pytest.skip(real)
    assert passed(suite, real) == ["TestOperator"]


def test_workloads_behave_where_the_environment_asks_for_them(suite: Path, assets: Path) -> None:
    assert passed(suite, assets, PILOTAGE_WORKLOADS="1") == ["TestOperator", "TestWorkloads"]
