"""The audit log beside that of a real kube-apiserver, for the same requests and the same policy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hack.cluster.running import binaries
from pilotage.http import messages as http
from pilotage.kubernetes.assembly import cluster_context
from pilotage.rest.request import User
from pilotage.server.access.authentication import Authenticator
from pilotage.server.audit.policy import AuditPolicy
from pilotage.server.http.auditing import Auditor
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from .cases import CASES, POLICY, Case
from .events import comparable
from .recording import ANSWERS, record

TOKEN = "token"
PEER = http.Peer("127.0.0.1", 40000, secure=True)


async def logged(*cases: Case) -> list[dict[str, Any]]:
    """The events of these requests."""
    lines: list[bytes] = []
    users = Authenticator({TOKEN: User("admin", ("system:masters",), uid="admin")})
    async with Registry(cluster_context(MemoryStorage(), disable=["ServiceAccount"])) as registry:
        handler = HTTPHandler(registry, users, Auditor(AuditPolicy.of(POLICY), lines.append))
        for case in cases:
            headers = http.Headers(({"Authorization": f"Bearer {TOKEN}"} | case.all_headers).items())
            answer = await handler(http.HTTPRequest(case.method, case.target, headers, case.data, PEER))
            if isinstance(answer, http.StreamingResponse):
                async for _ in answer.chunks:
                    pass
    return [json.loads(line) for line in lines]


@pytest.mark.virtual_time
async def test_the_log_has_the_events_of_a_kube_apiserver() -> None:
    found = comparable(await logged(*CASES))
    for title, wanted in json.loads(ANSWERS.read_text()).items():
        assert found[title] == wanted, title


@pytest.mark.cluster
def test_the_recorded_events_are_those_of_a_kube_apiserver() -> None:
    programs = binaries()
    if isinstance(programs, str):
        pytest.skip(programs)
    assert record(programs) == json.loads(ANSWERS.read_text())
