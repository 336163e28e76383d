"""`pilotage serve` in a separate process."""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pilotage as pt
from pilotage.meta.text import yamltext


@dataclass(frozen=True, slots=True)
class Served:
    """A running server, and what a client needs to reach it."""

    url: str
    token: str
    ca_file: Path
    kubeconfig: Path
    pid: int
    ready: float
    """The seconds from its start until it listened."""

    def connect(self) -> pt.Cluster:
        return pt.Cluster.connect(self.url, token=self.token, ca_file=str(self.ca_file))


@contextmanager
def served(storage: str) -> Iterator[Served]:
    """Serve this storage until the end of the block."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kubeconfig = folder / "kubeconfig"
        started = time.perf_counter()
        command = [sys.executable, "-m", "pilotage.cli", "serve", "--storage", storage, "--bind", "127.0.0.1:0"]
        process = subprocess.Popen([*command, "--kubeconfig", str(kubeconfig)], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            process.stdout.readline()
            ready = time.perf_counter() - started
            document = yamltext.read(kubeconfig.read_text())
            cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
            yield Served(cluster["server"], user["token"], _authority(cluster, folder), kubeconfig, process.pid, ready)
        finally:
            process.terminate()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _authority(cluster: dict[str, str], folder: Path) -> Path:
    if "certificate-authority" in cluster:
        return Path(cluster["certificate-authority"])
    file = folder / "ca.crt"
    file.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    return file
