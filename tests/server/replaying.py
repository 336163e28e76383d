"""Running scenarios: over HTTP on a real server, or directly on our HTTP handler."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from hack.cluster.running import RealCluster
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.server.http.handler import HTTPHandler

from .differential import ABSENT, Replay, Scenario, Step, at

TOKEN = "secret"
PATIENCE = 100.0
COLLECTION = re.compile(r"(/api/v1|/apis/[^/]+/[^/]+)(/namespaces/[^/]+(?=/))?/[^/?]+")
"""The collection in the path of an object, or of a collection."""
Answers = list[dict[str, Any]]


class Stuck(Exception):
    """The condition that a step waits for is not reached."""


def replay_on_real(scenario: Scenario, cluster: RealCluster) -> Answers:
    """The answers of a real server, without those of the steps that only wait."""
    address = urlsplit(cluster.url)
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    connection = http.client.HTTPSConnection(str(address.hostname), address.port, context=context, timeout=40)
    replay = Replay(scenario)
    authorization = {"authorization": f"Bearer {cluster.token}"}

    def once(step: Step) -> dict[str, Any]:
        connection.request(
            step.method, replay.target(step), replay.body(step) or None, authorization | replay.headers(step)
        )
        response = connection.getresponse()
        return replay.answer(step, response.status, headers_of(response), response.read())

    def read(target: str) -> tuple[int, bytes]:
        connection.request("GET", target, headers=authorization)
        response = connection.getresponse()
        return response.status, response.read()

    answers: Answers = []
    try:
        for step in scenario.all_steps():
            if reads_from_cache(step):
                wait_until_cached(read, replay.target(step))
            deadline = time.monotonic() + PATIENCE
            answer = once(step)
            while step.until is not None and not fulfilled(step.until, answer):
                if time.monotonic() > deadline:
                    raise Stuck(f"{scenario.name}: {step.what}: {answer}")
                time.sleep(0.05)
                answer = once(step)
            if step.until is None:
                answers.append(answer)
    finally:
        connection.close()
    return answers


def reads_from_cache(step: Step) -> bool:
    """Whether the real server answers a step from its watch cache, whatever that contains."""
    return step.method == "GET" and ("resourceVersion=" in step.target or "watch=" in step.target)


def wait_until_cached(read: Callable[[str], tuple[int, bytes]], target: str) -> None:
    """Wait until the watch cache of the real server has all writes of a collection: it receives them from etcd, a
    moment after they are answered. A list at a version waits for that version, but for three seconds only."""
    if (found := COLLECTION.match(target)) is None:
        return
    status, body = read(f"{found[0]}?limit=1")
    version = json.loads(body)["metadata"].get("resourceVersion") if status == 200 else ""
    if not version:
        return  # it is not stored
    deadline = time.monotonic() + PATIENCE
    while read(f"{found[0]}?resourceVersion={version}&resourceVersionMatch=NotOlderThan&limit=1")[0] != 200:
        if time.monotonic() > deadline:
            raise Stuck(f"{found[0]}: the watch cache does not reach version {version}")


def headers_of(response: http.client.HTTPResponse) -> list[tuple[str, str]]:
    """The headers of a real answer. They are UTF-8, which `http.client` reads as Latin-1."""
    return [(name, value.encode("latin-1").decode()) for name, value in response.getheaders()]


async def replay_on_ours(scenario: Scenario, handler: HTTPHandler) -> Answers:
    """The answers of our HTTP handler; its time may be virtual."""
    replay = Replay(scenario)
    loop = asyncio.get_running_loop()
    answers: Answers = []
    for step in scenario.all_steps():
        deadline = loop.time() + PATIENCE
        answer = await _once(replay, handler, step)
        while step.until is not None and not fulfilled(step.until, answer):
            if loop.time() > deadline:
                raise Stuck(f"{scenario.name}: {step.what}: {answer}")
            await asyncio.sleep(0.05)
            answer = await _once(replay, handler, step)
        if step.until is None:
            answers.append(answer)
    return answers


async def _once(replay: Replay, handler: HTTPHandler, step: Step) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {TOKEN}", "host": "127.0.0.1:6443"} | replay.headers(step)
    answer = await handler(HTTPRequest(step.method, replay.target(step), Headers(headers.items()), replay.body(step)))
    body = await whole_body(answer) if step.method != "HEAD" else b""  # which the server does not send
    return replay.answer(step, answer.status, answer.headers, body)


async def whole_body(answer: HTTPResponse | StreamingResponse) -> bytes:
    if isinstance(answer, StreamingResponse):
        return b"".join([chunk async for chunk in answer.chunks])
    return answer.body


def fulfilled(wanted: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    """Whether an answer has the values that a step waits for."""
    return all(
        at(answer, path) == value or (value is ABSENT and at(answer, path) is ABSENT) for path, value in wanted.items()
    )
