"""Sends the cases to a real kube-apiserver that writes an audit log, and reads its events.

`python -m tests.server.audit.recording` writes `answers.json` again.
"""

from __future__ import annotations

import http.client
import json
import ssl
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hack.cluster.running import RealCluster, binaries, real_cluster

from .cases import CASES, POLICY, PROBE, Case
from .events import comparable

ANSWERS = Path(__file__).with_name("answers.json")


def record(programs: Path) -> dict[str, list[Any]]:
    """The events of each case, of the kube-apiserver in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        policy, log = Path(folder, "policy.yaml"), Path(folder, "audit.log")
        policy.write_text(json.dumps(POLICY))
        with real_cluster(programs, f"--audit-policy-file={policy}", f"--audit-log-path={log}") as cluster:
            for case in CASES:
                while _send(cluster, case) != 422 and case is PROBE:
                    time.sleep(0.05)
            _wait_for(log, CASES[-1])
        events = [json.loads(line) for line in log.read_text().splitlines()]
    return comparable(events)


def _send(cluster: RealCluster, case: Case) -> int:
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    connection = http.client.HTTPSConnection(urlsplit(cluster.url).netloc, context=context, timeout=100)
    headers = {"Authorization": f"Bearer {cluster.token}"} | case.all_headers
    connection.request(case.method, case.target, case.data or None, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def _wait_for(log: Path, case: Case) -> None:
    """Wait until the last event of a case is written."""
    deadline = time.monotonic() + 100
    while case.all_headers["Audit-ID"] not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)


if __name__ == "__main__":
    ANSWERS.write_text(json.dumps(record(Path(binaries())), indent=1) + "\n")
