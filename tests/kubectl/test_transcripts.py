"""kubectl, the real one, on `pilotage serve` and on a real kube-apiserver: it must print the same."""

from __future__ import annotations

import difflib
import json
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hack.cluster.running import RealCluster

from .transcripts import FOLDER, Command, Result, Server, in_order, mask, parse

pytestmark = pytest.mark.cluster
TRANSCRIPTS = sorted(path.stem for path in FOLDER.glob("*.txt"))
DIFFERENCES = json.loads((FOLDER / "differences.json").read_bytes())
"""Command lines whose output is different on purpose: transcript, then command line, then the reason."""
OF_CONTROLLERS = ("create configmap kube-root-ca.crt --from-literal=ca.crt=x", "create serviceaccount default")
"""What controllers create in each namespace; the real server has none, and `pilotage serve` does their work."""


@pytest.fixture(scope="module")
def real(own_control_plane: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> Server:
    cache = tmp_path_factory.mktemp("real")
    return Server(own_control_plane.kubectl, own_control_plane.kubeconfig, cache)


@pytest.fixture(scope="module")
def ours(own_control_plane: RealCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("ours")
    command = [sys.executable, "-m", "pilotage.cli", "serve", "--bind", "127.0.0.1:0"]
    command += ["--kubeconfig", str(folder / "kubeconfig"), "--disable-admission-plugins", "ServiceAccount"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert "serving" in server.stdout.readline()
    try:
        yield Server(own_control_plane.kubectl, folder / "kubeconfig", folder / "cache")
    finally:
        server.send_signal(signal.SIGTERM)
        server.stdout.close()
        assert server.wait(100) == 0


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_kubectl_prints_the_same_on_both_servers(name: str, real: Server, ours: Server) -> None:
    namespace = f"kubectl-{secrets.token_hex(4)}"
    create = Command(0, f"create namespace {namespace}")
    for server in (real, ours):
        assert server.run(create, namespace).code == 0
    for line in OF_CONTROLLERS:
        assert real.run(Command(0, line), namespace).code == 0
    different = []
    for command in parse((FOLDER / f"{name}.txt").read_text()):
        with ThreadPoolExecutor() as both:
            expected, found = both.map(lambda server: server.run(command, namespace), (real, ours))  # noqa: B023
        same = expected == found or command.until is not None
        if same is (command.text in DIFFERENCES.get(name, {})):
            different.append(_report(command, expected, found) if not same else f"no longer different: {command.text}")
    assert not different, f"{len(different)} command lines differ\n" + "\n".join(different)


def _report(command: Command, expected: Result, found: Result) -> str:
    lines = [f"line {command.line}: kubectl {command.text} (exit code {found.code}, real {expected.code})"]
    for one, other in ((expected.output, found.output), (expected.errors, found.errors)):
        lines += list(difflib.unified_diff(one.splitlines(), other.splitlines(), "real", "ours", n=1, lineterm=""))[:40]
    return "\n    ".join(lines)


def test_a_transcript_has_command_lines_and_their_input() -> None:
    text = "# a comment\n$ get pods\nignored\n$ apply -f - <<END\na: 1\nEND\n$ version\n? get a\n! get b\n"
    assert list(parse(text)) == [
        Command(2, "get pods"),
        Command(4, "apply -f -", "a: 1\n"),
        Command(7, "version"),
        Command(8, "get a", until=True),
        Command(9, "get b", until=False),
    ]


def test_what_differs_from_run_to_run_is_masked() -> None:
    text = "a  3m5s  10.0.0.7:30123/TCP  2026-11-16T02:00:00Z in ns-1\n"
    assert mask(text, "ns-1") == "a <age> <address>:<node port>/TCP <time> in <ns>"


def test_the_order_of_managed_fields_does_not_depend_on_the_second_of_a_write() -> None:
    one = "metadata:\n  managedFields:\n  - {manager: a, time: 2}\n  - {manager: b, time: 1}\n"
    other = "metadata:\n  managedFields:\n  - {manager: b, time: 1}\n  - {manager: a, time: 2}\n"
    assert in_order(one) == in_order(other)


def test_there_are_enough_command_lines() -> None:
    assert sum(len(list(parse((FOLDER / f"{name}.txt").read_text()))) for name in TRANSCRIPTS) >= 450
