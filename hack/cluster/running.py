"""A real kube-apiserver and etcd, for tests and benchmarks that compare with them.

There is no controller manager and no scheduler: Pods stay pending, nothing is garbage-collected, and a deleted
namespace stays terminating.
"""

import http.client
import json
import os
import random
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

READY_WITHIN = 60.0  # seconds; on two idle cores it takes three

BINARIES_SCRIPT = Path(__file__).resolve().with_name("binaries.py")

# Runs a program for as long as our end of standard input is open. The kernel closes that end however this process
# ends, so that even `kill -9` of the tests leaves no server behind.
LEASH = """
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{ read -r _ <&3; kill -KILL $server; } &
wait $server
code=$?
kill $!
wait
exit $code
"""


@dataclass(frozen=True)
class RealCluster:
    """The address and the administrator's credentials of a running control plane."""

    url: str
    token: str
    ca_file: Path
    kubeconfig: Path
    kubectl: Path
    group: int
    """The process group of kube-apiserver."""


def binaries() -> Path | str:
    """The folder of the control plane's binaries, or the reason why tests against it are skipped."""
    where = subprocess.run([sys.executable, BINARIES_SCRIPT, "--where"], capture_output=True, text=True, check=False)
    return Path(where.stdout.strip()) if where.returncode == 0 else f"no kube-apiserver: {where.stderr.strip()}"


@contextmanager
def real_cluster(binaries: Path, *flags: str, etcd_port: int = 0) -> Iterator[RealCluster]:
    """Start an empty control plane, and stop it at the end of the block.

    Its namespaces are there when the block begins. The one user is in `system:masters`. `flags` are more flags of
    kube-apiserver. With `etcd_port`, it uses the etcd there instead of one of its own.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pilotage-cluster-")))
        port, own_port, peer_port = free_ports(3)
        token = secrets.token_hex(16)
        (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
        commands = [[*apiserver_command(binaries, folder, port, etcd_port or own_port), *flags]]
        if not etcd_port:
            commands.insert(0, etcd_command(binaries, folder, own_port, peer_port))
        servers = [stack.enter_context(process(command, folder)) for command in commands]
        cluster = RealCluster(
            url=f"https://127.0.0.1:{port}",
            token=token,
            ca_file=folder / "certificates" / "apiserver.crt",
            kubeconfig=folder / "kubeconfig",
            kubectl=binaries / "kubectl",
            group=servers[-1].process.pid,
        )
        cluster.kubeconfig.write_text(json.dumps(kubeconfig(cluster)))
        wait_until_ready(cluster, port, servers)
        yield cluster


def etcd_command(binaries: Path, folder: Path, port: int, peer_port: int) -> list[str]:
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    return [
        f"{binaries}/etcd",
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # the data does not outlive the process
        "--log-level=warn",
    ]


def apiserver_command(binaries: Path, folder: Path, port: int, etcd_port: int) -> list[str]:
    key = f"{folder}/certificates/apiserver.key"
    return [
        f"{binaries}/kube-apiserver",
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        # The server creates its serving certificate there before it reads the signing key: one key is used for both.
        f"--cert-dir={folder}/certificates",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={folder}/tokens.csv",
        "--authorization-mode=RBAC",
        # Without a controller manager no namespace gets its service account, and this plugin would reject every Pod.
        "--disable-admission-plugins=ServiceAccount",
        "--allow-privileged",
        "--service-cluster-ip-range=10.0.0.0/16",
        # Explicit, because the default needs a route, and there may be none.
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",  # a loopback address is not a valid endpoint
        "--profiling=false",
    ]


def kubeconfig(cluster: RealCluster) -> object:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "real", "cluster": {"server": cluster.url, "certificate-authority": str(cluster.ca_file)}}
        ],
        "users": [{"name": "admin", "user": {"token": cluster.token}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
        "current-context": "real",
    }


@dataclass(frozen=True)
class Server:
    """A running process and its log file."""

    process: subprocess.Popen[bytes]
    log: Path

    def __str__(self) -> str:
        code = self.process.poll()
        state = "running" if code is None else f"ended with exit code {code}"
        lines = self.log.read_text(errors="replace").splitlines()[-20:]
        return "\n".join([f"{self.log.stem} ({state}), the end of its log:", *lines])


@contextmanager
def process(command: list[str], folder: Path) -> Iterator[Server]:
    """Run a server in its own process group, and kill the group at the end."""
    log = folder / f"{Path(command[0]).name}.log"
    with log.open("wb") as output:
        leash = subprocess.Popen(
            ["/bin/sh", "-c", LEASH, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    with leash:
        try:
            yield Server(leash, log)
        finally:
            try:
                leash.communicate(timeout=10)  # closes standard input, which stops the server
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(leash.pid, signal.SIGKILL)


def wait_until_ready(cluster: RealCluster, port: int, servers: list[Server]) -> None:
    """Wait until the API is served and the namespaces exist, which /readyz does not check."""
    deadline = time.monotonic() + READY_WITHIN
    paths = ["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"]
    while paths:
        if answers(cluster, port, paths[0]):
            del paths[0]
            continue
        if time.monotonic() > deadline or any(server.process.poll() is not None for server in servers):
            logs = "\n\n".join(map(str, servers))
            raise RuntimeError(f"the real cluster does not answer {paths[0]} as it should\n\n{logs}")
        time.sleep(0.05)


def answers(cluster: RealCluster, port: int, path: str) -> bool:
    try:
        context = ssl.create_default_context(
            cafile=str(cluster.ca_file)
        )  # does not exist until the server has created it
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=5)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {cluster.token}"})
            return connection.getresponse().status == 200
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return False


def processes_of(group: int) -> Iterator[int]:
    """The processes of a process group."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ProcessLookupError):
                if os.getpgid(int(entry.name)) == group:
                    yield int(entry.name)


def free_ports(count: int) -> list[int]:
    """Free ports of the loopback address, below those that the system itself gives to sockets: no socket that is opened
    before a port is used takes it."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(10_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found += [port] if port not in found else []
    return found
