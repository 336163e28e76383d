"""How long envtest waits for the launchers of `pilotage assets`: `python -m bench.assets [RUNS]`.

It does what envtest does: asks each program for its help, starts etcd, asks for its health ten times a second, and the
same of kube-apiserver. Beside the seconds is the CPU time, which does not depend on the load of the machine. A median
of more than half a second of CPU is an error.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from pilotage.cli.assets.launchers import write_launchers

MOST_SECONDS = 0.5
POLL_SECONDS = 0.1


class Start(NamedTuple):
    wall: float
    cpu: float


def main(runs: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        write_launchers(Path(name))
        starts = [started(Path(name)) for _ in range(runs)]
    wall, cpu = (statistics.median(each) for each in zip(*starts, strict=True))
    print(f"etcd and kube-apiserver are ready after {wall:.2f} s, with {cpu:.2f} s of CPU (median of {runs})")
    return int(cpu > MOST_SECONDS)


def started(assets: Path) -> Start:
    """One start of both programs, until both are healthy. The CPU time is that of all processes, to their end."""
    began, before = time.perf_counter(), _children()
    with ExitStack() as exits:
        folder = exits.enter_context(tempfile.TemporaryDirectory())
        ports = [_free_port(), _free_port()]
        url = f"http://127.0.0.1:{ports[0]}"
        etcd = [f"--listen-client-urls={url}", f"--advertise-client-urls={url}", f"--data-dir={folder}"]
        server = [f"--secure-port={ports[1]}", "--bind-address=127.0.0.1", f"--cert-dir={folder}"]
        server += [f"--etcd-servers={url}", "--disable-admission-plugins=ServiceAccount"]
        processes = []
        for program, flags, path, port in (
            ("etcd", etcd, "/health", ports[0]),
            ("kube-apiserver", server, "/healthz", ports[1]),
        ):
            subprocess.run([assets / program, "--help"], stdout=subprocess.DEVNULL, check=True)
            processes.append(subprocess.Popen([assets / program, *flags], stderr=subprocess.DEVNULL))
            while not _is_healthy(port, path, secure=program != "etcd"):
                time.sleep(POLL_SECONDS)
        wall = time.perf_counter() - began
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(60)
    return Start(wall, _children() - before)


def _is_healthy(port: int, path: str, *, secure: bool) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection: http.client.HTTPConnection
    if secure:
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port)
    with suppress(OSError):
        connection.request("GET", path)
        return connection.getresponse().status == 200
    return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 9))
