"""Clients that others wrote do a job on `pilotage serve` and on a real kube-apiserver: they must print the same."""

from __future__ import annotations

import difflib
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster

pytestmark = pytest.mark.foreign
PROGRAMS = Path(__file__).parents[2] / "hack" / "foreign"
WITHIN = 50.0  # seconds for one program; on two idle cores it takes three


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python that the clients are installed for."""
    command = [sys.executable, str(PROGRAMS / "environment.py"), "--where"]
    where = subprocess.run(command, capture_output=True, text=True, check=False)
    if where.returncode != 0:
        pytest.skip(where.stderr.strip())
    return Path(where.stdout.strip()) / "bin" / "python"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of `pilotage serve`."""
    kubeconfig = tmp_path_factory.mktemp("ours") / "kubeconfig"
    command = [sys.executable, "-m", "pilotage.cli", "serve", "--bind", "127.0.0.1:0"]
    command += ["--kubeconfig", str(kubeconfig), "--disable-admission-plugins", "ServiceAccount"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert "serving" in server.stdout.readline()
    try:
        yield kubeconfig
    finally:
        server.send_signal(signal.SIGTERM)
        server.stdout.close()
        assert server.wait(20) == 0


@pytest.mark.parametrize("program", sorted(path.stem for path in PROGRAMS.glob("*_job.py")))
def test_a_foreign_client_does_its_job_on_both_servers(
    program: str, python: Path, ours: Path, real_control_plane: RealCluster
) -> None:
    namespace = f"foreign-{secrets.token_hex(4)}"
    expected = printed(python, program, real_control_plane.kubeconfig, namespace)
    found = printed(python, program, ours, namespace)
    assert len(expected) > 5
    assert found == expected, "\n".join(difflib.unified_diff(expected, found, "real", "ours", n=0, lineterm=""))


def printed(python: Path, program: str, kubeconfig: Path, namespace: str) -> list[str]:
    command = [str(python), str(PROGRAMS / f"{program}.py"), str(kubeconfig), namespace]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN)
    assert result.returncode == 0, f"{program} failed with {kubeconfig}:\n{result.stdout}\n{result.stderr}"
    return result.stdout.splitlines()
