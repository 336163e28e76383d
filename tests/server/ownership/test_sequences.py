"""Random sequences of writes, on ours and on a real kube-apiserver: the same answers, managed fields included.

The answers to some of them are recorded, so that ours is compared where there is no real server; the `cluster` test
records them again if PILOTAGE_RECORD=1, and compares more of them.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hack.cluster.running import RealCluster
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from ..differential import DEFINITIONS, NAMESPACES
from ..registries import registry_context
from .sequences import DEFINITION, KINDS, Call, Kind, Masked, Sequence, body_of, sequence

TOKEN = "secret"
NAMESPACE = "sequences"
RECORDED = 15
"""How many of each kind are recorded."""
ANSWERS = Path(__file__).parent / "sequences.json.gz"
SEQUENCES = int(os.environ.get("PILOTAGE_SEQUENCES", "40"))
"""How many of each kind."""

Answer = tuple[int, Any]
Send = Callable[[str, str, bytes, str], Answer]


@contextmanager
def real_sender(cluster: RealCluster) -> Iterator[Send]:
    """What sends requests to a real server."""
    address = urlsplit(cluster.url)
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    connection = http.client.HTTPSConnection(str(address.hostname), address.port, context=context, timeout=40)

    def send(method: str, target: str, body: bytes, content_type: str) -> Answer:
        headers = {"authorization": f"Bearer {cluster.token}", "content-type": content_type}
        connection.request(method, target, body or None, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    with closing(connection):
        yield send


def install(send: Send) -> None:
    send("POST", NAMESPACES, json.dumps({"metadata": {"name": NAMESPACE}}).encode(), "application/json")
    send("POST", DEFINITIONS, json.dumps(DEFINITION).encode(), "application/json")
    collection = f"/apis/{DEFINITION['spec']['group']}/v1/namespaces/{NAMESPACE}/parts"
    while True:
        try:
            if send("GET", collection, b"", "application/json")[0] == 200:
                return
        except json.JSONDecodeError:  # a path that is not known yet is answered with plain text
            time.sleep(0.1)


def answers_of_real(send: Send, made: Sequence) -> list[Any]:
    masked, last, found = Masked(), None, []
    for call in made.calls:
        code, document = send(call.method, made.target(NAMESPACE, call), body_of(call, last), call.content_type)
        if document.get("kind") != "Status":
            last = document
        found.append(masked.answer(code, document))
    return found


async def answers_of_ours(made: Sequence) -> list[Any]:
    async with Registry(registry_context(MemoryStorage())) as registry:
        handler = HTTPHandler(registry, TOKEN)

        async def send(method: str, target: str, body: bytes, content_type: str) -> Answer:
            headers = Headers([("authorization", f"Bearer {TOKEN}"), ("content-type", content_type)])
            answer = await handler(HTTPRequest(method, target, headers, body))
            assert isinstance(answer, HTTPResponse)
            return answer.status, json.loads(answer.body)

        await send("POST", NAMESPACES, json.dumps({"metadata": {"name": NAMESPACE}}).encode(), "application/json")
        await send("POST", DEFINITIONS, json.dumps(DEFINITION).encode(), "application/json")
        masked, last, found = Masked(), None, []
        for call in made.calls:
            target = made.target(NAMESPACE, call)
            code, document = await send(call.method, target, body_of(call, last), call.content_type)
            if document.get("kind") != "Status":
                last = document
            found.append(masked.answer(code, document))
        return found


def difference(made: Sequence, real: list[Any], ours: list[Any]) -> str:
    """The first answer that differs, with the request; empty if none does."""
    for number, (call, one, other) in enumerate(zip(made.calls, real, ours, strict=True)):
        if one != other:
            return f"\n{made.name}, request {number}: {shown(call)}\nreal: {_text(one)}\nours: {_text(other)}"
    return ""


def shown(call: Call) -> str:
    content = call.body if call.change is None else call.change
    return f"{call.method} {call.subresource} {call.query} {call.content_type}: {_text(content)}"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.cluster
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.label)
async def test_random_sequences_are_answered_as_by_the_real_server(kind: Kind, real_control_plane: RealCluster) -> None:
    wrong, recorded = [], {}
    with real_sender(real_control_plane) as send:
        install(send)
        for seed in range(SEQUENCES):
            made = sequence(kind, seed)
            real = answers_of_real(send, made)
            if seed < RECORDED:
                recorded[made.name] = real
            if found := difference(made, real, await answers_of_ours(made)):
                wrong.append(found)
    if os.environ.get("PILOTAGE_RECORD"):
        _record(recorded)
    assert not wrong, f"{len(wrong)} of {SEQUENCES} sequences differ" + "".join(wrong[:5])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.label)
async def test_sequences_are_answered_as_recorded(kind: Kind) -> None:
    answers = json.loads(gzip.decompress(ANSWERS.read_bytes()))
    wrong = []
    for seed in range(RECORDED):
        made = sequence(kind, seed)
        wrong.append(difference(made, answers[made.name], json.loads(json.dumps(await answers_of_ours(made)))))
    assert not any(wrong), "".join(wrong)


def _record(answers: dict[str, Any]) -> None:
    known = json.loads(gzip.decompress(ANSWERS.read_bytes())) if ANSWERS.exists() else {}
    text = json.dumps(known | answers, sort_keys=True, separators=(",", ":"))
    ANSWERS.write_bytes(gzip.compress(text.encode(), mtime=0))
