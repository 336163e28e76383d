"""Third-party clients run the same program on `pilotage serve` and on a real kube-apiserver: they must print the
same."""

from __future__ import annotations

import difflib
import json
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.running import RealCluster

pytestmark = pytest.mark.foreign
PROGRAMS = Path(__file__).parents[2] / "hack" / "foreign"
SAMPLES = Path(__file__).parents[1] / "server" / "recordings" / "bases.json"
"""Objects of the built-in kinds: "minimal" ones, "rich" ones and others."""
WITHIN = 100.0  # seconds for one program; on two idle cores it takes three


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python that the clients are installed for."""
    return folder_of("environment.py") / "bin" / "python"


@pytest.fixture(scope="module")
def go_program() -> Path:
    """The program that uses client-go and controller-runtime."""
    return folder_of("binaries.py") / "foreign"


def folder_of(script: str) -> Path:
    """What a script has installed or built; skips the test with the script's reason where it has not."""
    command = [sys.executable, str(PROGRAMS / script), "--where"]
    where = subprocess.run(command, capture_output=True, text=True, check=False)
    if where.returncode != 0:
        pytest.skip(where.stderr.strip())
    return Path(where.stdout.strip())


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of `pilotage serve`."""
    # The excluded controller is kube-controller-manager's, which does not run beside the other server.
    with served(tmp_path_factory.mktemp("ours") / "kubeconfig", "--controllers=*,-service-cidr-controller") as found:
        yield found


@contextmanager
def served(kubeconfig: Path, *flags: str) -> Iterator[Path]:
    """The kubeconfig of `pilotage serve` with these flags."""
    command = [sys.executable, "-m", "pilotage.cli", "serve", "--bind", "127.0.0.1:0"]
    command += ["--kubeconfig", str(kubeconfig), "--disable-admission-plugins", "ServiceAccount", *flags]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert "serving" in server.stdout.readline()
    try:
        yield kubeconfig
    finally:
        server.send_signal(signal.SIGTERM)
        server.stdout.close()
        assert server.wait(100) == 0


@pytest.mark.parametrize("program", sorted(path.stem for path in PROGRAMS.glob("*_job.py")))
def test_a_python_client_does_its_job_on_both_servers(
    program: str, python: Path, ours: Path, real_control_plane: RealCluster
) -> None:
    check_same([str(python), str(PROGRAMS / f"{program}.py")], ours, real_control_plane.kubeconfig)


@pytest.mark.parametrize(
    ("job", "arguments"), [("clientsets", [str(SAMPLES), "rich"]), ("fixtures", []), ("managers", [])]
)
def test_a_go_client_does_its_job_on_both_servers(
    job: str, arguments: list[str], go_program: Path, ours: Path, real_control_plane: RealCluster
) -> None:
    check_same([str(go_program), job], ours, real_control_plane.kubeconfig, arguments)


def test_a_kopf_operator_waits_for_the_pods_of_its_deployment(python: Path, tmp_path: Path) -> None:
    with served(tmp_path / "kubeconfig", "--workloads", "--nodes", "3") as kubeconfig:
        lines = printed([str(python), str(PROGRAMS / "kopf_workloads.py"), str(kubeconfig), "shops"])
    assert lines == ['phases ["Running", "Running"]', "on nodes true", "gone"]


def test_a_go_manager_works_beside_simulated_workloads(go_program: Path, tmp_path: Path) -> None:
    with served(tmp_path / "kubeconfig", "--workloads", "--nodes", "3") as kubeconfig:
        assert len(printed([str(go_program), "managers", str(kubeconfig), "managers"])) > 5


def check_same(command: list[str], ours: Path, real: Path, arguments: Sequence[str] = ()) -> None:
    """Run a command with both kubeconfigs at once, in a namespace of its own, and compare what it prints."""
    namespace = f"foreign-{secrets.token_hex(4)}"
    with ThreadPoolExecutor() as executor:
        commands = ([*command, str(kubeconfig), namespace, *arguments] for kubeconfig in (real, ours))
        expected, found = executor.map(printed, commands)
    assert len(expected) > 5
    assert found == expected, "\n".join(difflib.unified_diff(expected, found, "real", "ours", n=0, lineterm=""))


def printed(command: list[str]) -> list[str]:
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN)
    assert result.returncode == 0, f"{command} failed:\n{result.stdout}\n{result.stderr}"
    return [_without_type_checking(line) for line in result.stdout.splitlines()]


def _without_type_checking(line: str) -> str:
    """A line without the status that a controller manager writes: ours has the loop, and none runs beside the other."""
    if not line.startswith("validatingadmissionpolicy-"):
        return line
    shown, at = "", 0
    while (start := line.find("{", at)) >= 0:
        document, end = json.JSONDecoder().raw_decode(line, start)
        for policy in document.get("items", [document]):
            _remove_type_checking(policy)
        shown, at = shown + line[at:start] + json.dumps(document), end
    return shown + line[at:]


def _remove_type_checking(policy: dict[str, Any]) -> None:
    if "spec" in policy:
        policy.pop("status", None)
        owners = policy["metadata"].get("managedFields", [])
        policy["metadata"]["managedFields"] = [each for each in owners if each.get("subresource") != "status"]
