from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from pilotage.cli import main
from pilotage.cli.assets import kubectl, launchers
from pilotage.cli.assets.serving import simulated_nodes
from pilotage.kit.console.errors import CommandError


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assets")
    launchers.write_launchers(folder)
    return folder


@contextmanager
def running(program: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([program, *flags], stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def connected(port: int, process: subprocess.Popen[str]) -> socket.socket:
    """A connection to a process that is about to listen; the kernel answers, so that no time passes here."""
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            continue
    raise AssertionError(process.stderr.read() if process.stderr else "")


def status(connection: socket.socket, path: str) -> int:
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return answer.status


def test_etcd_answers_until_sigterm(assets: Path) -> None:
    port = free_port()
    with running(assets / "etcd", f"--listen-client-urls=http://127.0.0.1:{port}", "--data-dir=/nowhere") as etcd:
        with connected(port, etcd) as connection:
            assert status(connection, "/health") == 200
        etcd.send_signal(signal.SIGTERM)
        assert etcd.wait(60) == 0


def test_kube_apiserver_is_healthy_with_the_certificate_of_its_folder(assets: Path, tmp_path: Path) -> None:
    port = free_port()
    flags = (f"--secure-port={port}", "--bind-address=127.0.0.1", f"--cert-dir={tmp_path}", "--feature-gates=A=true")
    with running(assets / "kube-apiserver", *flags) as server:
        with connected(port, server) as connection:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with context.wrap_socket(connection) as secured:
                assert status(secured, "/healthz") == 200
                shown = ssl.DER_cert_to_PEM_cert(secured.getpeercert(binary_form=True) or b"")
        assert shown.strip() in (tmp_path / "apiserver.crt").read_text()
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert server.stderr is not None
        assert server.stderr.read() == "kube-apiserver (pilotage): no effect: --feature-gates\n"


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--tls-cert-file=/nowhere"], "cannot use the certificate /nowhere: No such file or directory"),
        (["--enable-admission-plugins=Nope"], "Nope"),
        (["--secure-port=x"], "invalid literal"),
    ],
)
def test_kube_apiserver_ends_with_a_line_where_a_flag_cannot_be_used(
    assets: Path, tmp_path: Path, flags: Sequence[str], reason: str
) -> None:
    base = ["--secure-port=0", f"--cert-dir={tmp_path}"]
    ran = subprocess.run([assets / "kube-apiserver", *base, *flags], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith("kube-apiserver (pilotage): ")
    assert reason in line


@pytest.mark.parametrize("name", ["kube-apiserver", "etcd"])
def test_help_and_version_need_no_python(assets: Path, name: str) -> None:
    environment = {"PATH": "/usr/bin:/bin"}
    for flag, text in (("--help", "--listen-client-urls" if name == "etcd" else "--secure-port"), ("--version", ".")):
        ran = subprocess.run([assets / name, flag], capture_output=True, text=True, env=environment, check=True)
        assert text in ran.stdout
    assert "python" not in (assets / name).read_text().split("exec ")[0]


def test_kubectl_of_the_machine_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    found = tmp_path / "bin" / "kubectl"
    found.write_text("#!/bin/sh\necho kubectl\n")
    found.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/assets:{tmp_path}/bin")
    for _ in range(2):  # the second time, ours is the first on PATH
        launchers.write_launchers(tmp_path / "assets")
        assert (tmp_path / "assets" / "kubectl").readlink() == found


def test_without_a_kubectl_the_launcher_has_the_verbs_of_pilotage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    launchers.write_launchers(tmp_path)
    for words, code, text in (
        (["--kubeconfig=/nowhere", "get", "pods"], 1, "/nowhere"),
        (["exec", "a", "--", "ls"], 2, "exec"),
    ):
        ran = subprocess.run(
            [tmp_path / "kubectl", *words], capture_output=True, text=True, env={"PATH": "/bin"}, check=False
        )
        assert ran.returncode == code
        assert text in ran.stderr


def test_kubectls_flags_for_credentials_are_a_kubeconfig() -> None:
    words = [
        "--client-certificate=a.crt",
        "--client-key",
        "a.key",
        "--server=https://127.0.0.1:1",
        "--request-timeout=5s",
    ]
    others, flags = kubectl.divided([*words, "get", "ns", "default", "--", "--token=x"])
    assert others == ["get", "ns", "default", "--", "--token=x"]
    with kubectl.kubeconfig(flags) as path:
        assert path.stat().st_mode & 0o077 == 0
        document = json.loads(path.read_text())
    assert document["users"][0]["user"] == {"client-certificate": "a.crt", "client-key": "a.key"}
    assert document["clusters"][0]["cluster"] == {"server": "https://127.0.0.1:1"}
    assert not path.exists()


def test_a_file_of_another_program_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "etcd").write_text("#!/bin/sh\n")
    with pytest.raises(CommandError, match="exists and was not written by `pilotage assets`"):
        launchers.write_launchers(tmp_path)


def test_the_command_names_the_files_and_how_to_use_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assets", str(tmp_path / "new")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [f"write {tmp_path}/new/{name}" for name in ("kube-apiserver", "etcd", "kubectl")]
    assert lines[-1] == f"  KUBEBUILDER_ASSETS={tmp_path}/new go test ./..."


@pytest.mark.parametrize(
    ("environment", "nodes"),
    [
        ({}, 0),
        ({"PILOTAGE_NODES": "5"}, 0),
        ({"PILOTAGE_WORKLOADS": "1"}, 3),
        ({"PILOTAGE_WORKLOADS": "true", "PILOTAGE_NODES": "5"}, 5),
    ],
)
def test_workloads_are_simulated_where_the_environment_asks_for_it(environment: dict[str, str], nodes: int) -> None:
    assert simulated_nodes(environment) == nodes


def test_a_number_of_nodes_that_is_none_is_refused() -> None:
    with pytest.raises(CommandError, match="PILOTAGE_NODES=many: must be a number"):
        simulated_nodes({"PILOTAGE_WORKLOADS": "1", "PILOTAGE_NODES": "many"})
