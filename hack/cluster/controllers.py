"""A real kube-controller-manager and kube-scheduler beside a real kube-apiserver, for comparisons with simulated ones.

There is no kubelet: the tests bring one.
"""

from __future__ import annotations

import http.client
import ssl
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from hack.cluster.running import READY_WITHIN, RealCluster, Server, free_ports, process


@contextmanager
def real_controllers(binaries: Path, cluster: RealCluster, *flags: str) -> Iterator[None]:
    """Run the controllers and the scheduler inside the block. `flags` are more flags of kube-controller-manager."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pilotage-controllers-")))
        ports = free_ports(2)
        commands = [controllers_command(binaries, cluster, ports[0]), scheduler_command(binaries, cluster, ports[1])]
        commands[0] += flags
        servers = [stack.enter_context(process(command, folder)) for command in commands]
        for server, port in zip(servers, ports, strict=True):
            wait_until_healthy(server, port)
        yield


def controllers_command(binaries: Path, cluster: RealCluster, port: int) -> list[str]:
    key = cluster.ca_file.with_suffix(".key")
    return [
        f"{binaries}/kube-controller-manager",
        f"--kubeconfig={cluster.kubeconfig}",
        f"--authentication-kubeconfig={cluster.kubeconfig}",
        f"--authorization-kubeconfig={cluster.kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--leader-elect=true",  # its Lease says that it runs
        f"--service-account-private-key-file={key}",
        f"--root-ca-file={cluster.ca_file}",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        "--profiling=false",
    ]


def scheduler_command(binaries: Path, cluster: RealCluster, port: int) -> list[str]:
    return [
        f"{binaries}/kube-scheduler",
        f"--kubeconfig={cluster.kubeconfig}",
        f"--authentication-kubeconfig={cluster.kubeconfig}",
        f"--authorization-kubeconfig={cluster.kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--leader-elect=true",  # its Lease says that it runs
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
    ]


def connected(port: int, context: ssl.SSLContext) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=5)


def wait_until_healthy(server: Server, port: int) -> None:
    """Wait until a server answers /healthz, which needs no credentials."""
    deadline = time.monotonic() + READY_WITHIN
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # a certificate of its own, on loopback
    while True:
        with suppress(OSError, http.client.HTTPException), closing(connected(port, context)) as connection:
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        if time.monotonic() > deadline or server.process.poll() is not None:
            raise RuntimeError(f"it is not healthy\n\n{server}")
        time.sleep(0.1)
